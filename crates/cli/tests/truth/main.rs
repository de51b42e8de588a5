//! The truth suite: what `plimsoll run` says and does, against truths known by construction.
//!
//! Black box: a command line, its exit status, its output, its files. Every test runs as the user
//! who starts it and takes its expectations from that; what cannot be done prints `skipped: why`.

#![allow(
    clippy::disallowed_macros,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

mod again;
#[cfg(feature = "dataset")]
mod agent;
#[cfg(all(feature = "dataset", feature = "nvml"))]
mod agent_gpu;
#[cfg(feature = "dataset")]
mod agent_import;
#[cfg(feature = "dataset")]
mod agent_jobs;
#[cfg(feature = "dataset")]
mod agent_metrics;
#[cfg(feature = "dataset")]
mod agent_settings;
mod aio;
mod bad_places;
mod bounds;
mod cache;
mod clocks;
mod compat;
mod containers;
mod context;
mod cpu;
mod deaths;
mod delegated;
mod elsewhere;
mod executions;
mod files;
mod footprint;
mod formats;
mod gpu;
mod harness;
mod io;
mod left;
#[cfg(feature = "dataset")]
mod lent;
mod limits;
#[cfg(feature = "dataset")]
mod live;
mod machine;
mod memory;
mod named;
mod names;
mod namesake;
mod numbers;
mod output;
mod preload;
mod renamed;
mod signals;
mod sockets;
mod spaces;
mod status;
mod swap;
mod syscalls;
mod terminal;
#[cfg(feature = "dataset")]
mod top;
mod traced;
mod transparency;
mod tree;
mod unended;
mod unwaited;
mod unwritable;
mod why;
