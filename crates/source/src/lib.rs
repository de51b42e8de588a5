//! Kernel state to records: `query/` reads, `node/` reads the machine as a whole, `notify/` is
//! told, `interpose/` sees files, `follow/` finds the task's processes, `group/` and `footprint/`
//! read its control group and its folders, `stat` looks at files that were named, `context/` names
//! its job, `aside` reads what may never answer, `roll` keeps who is read again and again.

pub mod aside;
pub mod context;
pub mod error;
pub mod everyone;
pub mod follow;
pub mod footprint;
pub mod group;
pub mod interpose;
pub mod node;
pub mod notify;
pub mod query;
pub mod roll;
pub mod root;
pub mod stat;

pub use error::Error;
