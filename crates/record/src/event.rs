//! What happens to the processes of a task, in the order of the kernel's clock.

use crate::identity::Ending;
use crate::sample::{Counters, MemoryPeaks};
use crate::unit::{Bytes, Nanos};

/// What a process was until it became another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Former {
    /// No program that it was had more resident, its parent's memory at the fork included.
    pub rss_most: Bytes,
    /// Its page faults so far.
    pub faults: u64,
}

/// One thing that happened to a task's processes. Times are `CLOCK_BOOTTIME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A new process (thread group), or the root of the task.
    Fork {
        /// When.
        at: Nanos,
        /// Its parent, as far as known.
        parent: Option<u32>,
        /// Its pid.
        pid: u32,
        /// Its start since boot, if the source knows it; else `at` stands for it.
        start: Option<Nanos>,
        /// Whose address space it runs in, if the source knows that it has none of its own
        /// (`vfork`, `CLONE_VM`).
        memory_of: Option<u32>,
    },
    /// A process replaced its program.
    Exec {
        /// When.
        at: Nanos,
        /// Who.
        pid: u32,
        /// The command line, arguments separated by NUL; empty if it could not be read.
        command: Vec<u8>,
        /// Whether `command` was cut.
        truncated: bool,
        /// The path of the program, if known: for one without a command line.
        path: Option<Vec<u8>>,
        /// What it was until then, if the source tells.
        former: Option<Former>,
    },
    /// A process (all its threads) ended. CPU time may be corrected by a later [`Event::Final`].
    Exit {
        /// When.
        at: Nanos,
        /// Who.
        pid: u32,
        /// How, if the source tells.
        ending: Option<Ending>,
        /// What it used itself (threads in, children out), if the source tells.
        own: Option<Box<Counters>>,
        /// Its memory peaks, if the source tells.
        peaks: Option<MemoryPeaks>,
    },
    /// The CPU time of an ended process after its last instruction in the kernel.
    Final {
        /// Who.
        pid: u32,
        /// The same start that its `Fork` carried.
        start: Option<Nanos>,
        /// Scheduler nanoseconds of all its threads.
        cpu_ns: Nanos,
    },
    /// Events that were lost between the kernel and us.
    Lost {
        /// When noticed.
        at: Nanos,
        /// How many, at least.
        count: u64,
    },
}
