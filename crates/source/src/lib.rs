//! From the kernel to records: what is asked for, what is told, and which processes are the task.

pub mod error;
pub mod follow;
pub mod notify;

pub use error::Error;
