//! Live records from an agent of this machine: what is said between it and who reads
//! (docs/live.md), the reader's side, and what it prints.

pub(crate) mod client;
mod json;
pub(crate) mod people;
pub(crate) mod watch;
pub(crate) mod wire;
