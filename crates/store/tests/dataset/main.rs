//! The dataset against deaths between any two steps, torn writes, damage, a full disk.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking"
)]

mod compact;
mod damage;
mod disks;
mod duckdb;
#[path = "../readers/environment.rs"]
mod environment;
mod merge;
mod passes;
mod retain;
mod segment;
mod versions;
