//! Which processes are the task: kept up to date from events ([`tree`]), or found in `/proc`
//! ([`procfs`]); of a whole node, which are wanted ([`select`]).

pub mod procfs;
pub mod select;
pub mod tree;

mod peak;
