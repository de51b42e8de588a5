//! Kernel interfaces: system calls, the launcher, in-kernel programs. The only unsafe code of
//! Plimsoll.
//!
//! One file a kernel interface; what leaves this crate is safe to call.

pub mod affinity;
pub mod bpf;
pub mod burst;
pub mod cgroup;
pub mod clock;
pub mod confine;
pub mod descriptor;
pub mod edge;
pub mod error;
pub mod folder;
pub mod heap;
pub mod kcmp;
pub mod kmsg;
pub mod launcher;
pub mod local;
pub mod memfd;
pub mod mountinfo;
pub mod netlink;
pub mod network;
pub mod probe;
pub mod process;
pub mod ptrace;
pub mod rlimit;
pub mod scheduling;
pub mod seccomp;
pub mod signal;
pub mod stack;
pub mod start;
pub mod statfs;
pub mod statx;
pub mod taskstats;
pub mod terminal;
pub mod wake;

pub use error::Error;
