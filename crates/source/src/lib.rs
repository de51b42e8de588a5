//! Kernel state to records: `query/` reads, `notify/` is told, `follow/` finds the task's processes.

pub mod error;
pub mod follow;
pub mod notify;
pub mod query;
pub mod root;

pub use error::Error;
