//! Kernel interfaces: the only crate with unsafe code.

pub mod cgroup;
pub mod mountinfo;
