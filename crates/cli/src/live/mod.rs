//! Live records from an agent of this machine: what is said between it and who reads
//! (docs/live.md), the reader's side, and what it prints.

pub(crate) mod client;
pub(crate) mod device;
mod json;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod people;
mod person;
pub(crate) mod tasks;
pub(crate) mod watch;
pub(crate) mod wire;
