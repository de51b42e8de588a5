//! Kernel state to records: `query/` reads, `context/` names the job.

pub mod context;
pub mod query;
pub mod root;
