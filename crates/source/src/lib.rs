//! Kernel state to records: `query/` reads, `context/` names the job.

pub mod query;
pub mod root;
