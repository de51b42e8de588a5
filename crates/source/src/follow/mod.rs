//! Which processes are the task: kept up to date from events ([`tree`]), or found in `/proc`
//! ([`procfs`]).

pub mod procfs;
pub mod tree;

mod peak;
