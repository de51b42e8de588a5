//! System calls of a task, by kind.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// How many calls, and how they went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CallCounts {
    /// Calls.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// From entry to exit, asleep included.
    pub time_ns: Nanos,
}

impl CallCounts {
    /// Adds another sum.
    pub fn add(&mut self, other: &CallCounts) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.time_ns = self.time_ns.plus(other.time_ns);
    }
}

/// Calls of one kind, a part of one process's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallUse {
    /// Whose; nothing where only the task is known.
    pub pid: Option<u32>,
    /// The name of the call.
    pub name: String,
    /// How many, and how they went.
    pub counts: CallCounts,
}

/// Calls of one kind in the report of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLine {
    /// The name of the call; `ia32_NUMBER` for one by the 32-bit interface.
    pub name: String,
    /// How many, and how they went.
    #[serde(flatten)]
    pub counts: CallCounts,
}

/// Calls of one kind by one process, as `PREFIX.syscalls.jsonl` carries them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessCallLine {
    /// Whose; null for what is known of the task alone.
    pub pid: Option<u32>,
    /// The name of the call.
    pub name: String,
    /// How many, and how they went.
    #[serde(flatten)]
    pub counts: CallCounts,
}
