//! Trials of kernel interfaces: each really opens, attaches or subscribes, and undoes it.
//!
//! Every trial is bounded, leaves nothing behind and answers with the error that the kernel gave.

mod bpf;
mod btf;
mod call;
mod child;
mod files;
mod interpose;
mod netlink;
mod perf;
mod process;

pub use bpf::{fentry, iterator, ring_buffer, syscall_program, task_storage, tp_btf};
pub use btf::{KernelTypes, TypeKind};
pub use child::IdleChild;
pub use files::{fanotify, filesystem_magic, fuse_mount, inotify};
pub use interpose::{memfd_exec, ptrace_seize, seccomp_notification, seccomp_trace};
pub use netlink::{proc_connector, taskstats_exit_listener, taskstats_query};
pub use perf::{PerfEvent, perf_event};
pub use process::{effective_uid, getrusage, pidfd, subreaper, wait4};
