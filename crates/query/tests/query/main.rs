//! Questions to a dataset whose every number is known by construction.
#![allow(
    missing_docs,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

mod dataset;
mod engines;
#[path = "../../../store/tests/readers/environment.rs"]
mod environment;
mod formats;
mod jobs;
mod plot;
mod programs;
mod questions;
mod reductions;
mod reports;
