//! The in-kernel programs: exact process tree and final values of a task (`bpf/task.bpf.c`).
//!
//! Loaded once a node and shared by all runs: pinned in bpffs, attached while there are users,
//! which locks count. Each run has a slot, a ring buffer for its events and a line of counters
//! that it shares with the kernel.
//!
//! The pids in events are those of the initial pid namespace; elsewhere the programs are
//! unavailable.

mod unavailable;

pub use unavailable::{Unavailable, probe};

#[cfg(feature = "bpf")]
mod batch;
#[cfg(feature = "bpf")]
mod calls;
#[cfg(feature = "bpf")]
mod files;
#[cfg(feature = "bpf")]
mod followed;
#[cfg(feature = "bpf")]
mod kept;
#[cfg(feature = "bpf")]
mod layout;
#[cfg(feature = "bpf")]
mod lend;
#[cfg(feature = "bpf")]
mod load;
#[cfg(feature = "bpf")]
mod lock;
#[cfg(feature = "bpf")]
mod mapping;
#[cfg(feature = "bpf")]
mod pinned;
#[cfg(feature = "bpf")]
mod pins;
#[cfg(feature = "bpf")]
mod programs;
#[cfg(feature = "bpf")]
mod queue;
#[cfg(feature = "bpf")]
mod ring;
#[cfg(feature = "bpf")]
mod run;
#[cfg(feature = "bpf")]
mod share;
#[cfg(feature = "bpf")]
mod stale;
#[cfg(feature = "bpf")]
mod state;
#[cfg(feature = "bpf")]
mod types;
#[cfg(feature = "bpf")]
mod walk;

#[cfg(feature = "bpf")]
pub use calls::{CallRow, Calls};
#[cfg(feature = "bpf")]
pub use files::{
    Datagrams, ExactSize, FileId, FileOptions, FileRest, FileRow, Files, Folder, Name, NameChange,
    NamePath, PageCounts, SizeClasses, SocketInfo, Told,
};
#[cfg(feature = "bpf")]
pub use followed::{Followed, FollowedCalls, FollowedFiles};
#[cfg(feature = "bpf")]
pub use layout::{
    ExitCounters, ExitIo, GROUPS_TOLD, GroupNumbers, RawEvent, RssPeak, Sender, Sent,
};
#[cfg(feature = "bpf")]
pub use lend::{Guest, borrow};
#[cfg(feature = "bpf")]
pub use programs::TaskPrograms;
#[cfg(feature = "bpf")]
pub use run::{Run, RunTotals};
#[cfg(feature = "bpf")]
pub use share::{clear_after_death, unload};
#[cfg(feature = "bpf")]
pub use walk::{Met, Walk, Walked, WalkedIo};

#[cfg(test)]
#[cfg(feature = "bpf")]
mod tests;
