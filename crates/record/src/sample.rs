//! What is read from the kernel now and then: a process, a control group, the totals of a wait
//! chain.

use crate::codec::series::Revision;
use crate::identity::{Ending, ProcessId};
use crate::unit::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Counters of a process, a thread or a tree. Every field only grows; `None` is "not read".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// CPU time by the scheduler's clock (`sum_exec_runtime`), nanoseconds.
    pub cpu: Option<Nanos>,
    /// User part of the CPU time as the kernel splits it.
    pub cpu_user: Option<Nanos>,
    /// System part of the CPU time as the kernel splits it.
    pub cpu_system: Option<Nanos>,
    /// Part of the user time that ran the processors of a virtual machine, by ticks.
    pub cpu_guest: Option<Nanos>,
    /// Time runnable but waiting for a CPU (`run_delay`).
    pub cpu_wait: Option<Nanos>,
    /// Time waiting for block I/O (delay accounting).
    pub io_wait: Option<Nanos>,
    /// Page faults without disk I/O.
    pub faults_minor: Option<u64>,
    /// Page faults with disk I/O.
    pub faults_major: Option<u64>,
    /// Context switches by waiting.
    pub switches_voluntary: Option<u64>,
    /// Context switches by preemption.
    pub switches_involuntary: Option<u64>,
    /// Bytes through read-like calls (`rchar`).
    pub bytes_read: Option<Bytes>,
    /// Bytes through write-like calls (`wchar`).
    pub bytes_written: Option<Bytes>,
    /// Read-like calls (`syscr`).
    pub reads: Option<u64>,
    /// Write-like calls (`syscw`).
    pub writes: Option<u64>,
    /// Bytes fetched from storage (`read_bytes`).
    pub disk_read: Option<Bytes>,
    /// Bytes sent, or bound to be sent, to storage (`write_bytes`).
    pub disk_written: Option<Bytes>,
    /// Bytes whose writing was cancelled by truncation (`cancelled_write_bytes`).
    pub disk_cancelled: Option<Bytes>,
}

/// Memory of one process at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Resident set: anonymous + file + shared memory.
    pub rss: Option<Bytes>,
    /// Resident anonymous pages.
    pub rss_anon: Option<Bytes>,
    /// Resident file pages.
    pub rss_file: Option<Bytes>,
    /// Resident shared memory (shm, tmpfs, shared anonymous).
    pub rss_shmem: Option<Bytes>,
    /// Proportional set size, each shared page divided by its users.
    pub pss: Option<Bytes>,
    /// The part of `pss` that reclaim cannot simply drop: anonymous + shared memory.
    pub pss_unreclaimable: Option<Bytes>,
    /// Swapped-out anonymous pages.
    pub swap: Option<Bytes>,
    /// The same, each one that is shared divided by its users.
    pub swap_pss: Option<Bytes>,
    /// Pages of the reserved pool of huge pages (`hugetlb_usage`), which no other field holds.
    pub hugetlb: Option<Bytes>,
    /// Size of the address space.
    pub virtual_size: Option<Bytes>,
    /// The part of it that is private and writable, stacks included (`data` of `statm`).
    pub data: Option<Bytes>,
    /// Highest resident set so far (`VmHWM`).
    pub rss_peak: Option<Bytes>,
    /// Largest address space so far (`VmPeak`).
    pub virtual_peak: Option<Bytes>,
}

/// The memory peaks of one process over its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryPeaks {
    /// Highest resident set since the last exec (`mm->hiwater_rss`), if known.
    pub rss: Option<Bytes>,
    /// Largest address space since the last exec (`mm->hiwater_vm`), if known.
    pub virtual_size: Option<Bytes>,
    /// Resident anonymous pages at its end, if known.
    pub anon_at_end: Option<Bytes>,
}

/// That a process has the address space of another (`vfork`, `CLONE_VM`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// The other.
    pub pid: u32,
    /// The kernel said so; else they told about the same memory.
    pub proven: bool,
}

/// One process as one reading saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSample {
    /// Who.
    pub id: ProcessId,
    /// Its parent now.
    pub ppid: u32,
    /// Process group.
    pub pgid: u32,
    /// Session.
    pub sid: u32,
    /// Kernel state letter (`R`, `S`, `D`, `Z`, `T`, ...).
    pub state: char,
    /// Short name (`comm`), raw bytes: the same of one reading after the other.
    pub comm: Arc<[u8]>,
    /// Live threads, the main one counted.
    pub threads: Option<u64>,
    /// Used by this process itself: threads in, children out.
    pub own: Counters,
    /// Used by this process and the children it has waited for (`cutime`, `/proc/PID/io`, ...).
    pub with_children: Counters,
    /// Its memory.
    pub memory: Memory,
    /// It was seen to hold an `io_uring`: what that reads and writes is not in `rchar` and `wchar`.
    pub io_uring: bool,
    /// It ignores SIGCHLD (`SigIgn`), or is known to take it with `SA_NOCLDWAIT`: its children are
    /// never waited for.
    pub sigchld_ignored: bool,
    /// It is the first process of a PID namespace: as it ends the kernel kills all others in it,
    /// and nobody waits for those.
    pub is_init: bool,
    /// Another process whose address space is this one's: of the two only that one's `memory`
    /// counts.
    pub memory_of: Option<Shared>,
    /// Its proportional set size was to be read and may not be.
    pub pss_denied: bool,
    /// Of its reader's: another reading of this process with the same one is the same in all else.
    /// `None`: nobody looked whether it is.
    pub revision: Option<Revision>,
}

impl ProcessSample {
    /// Whether it has ended and was not waited for yet. One whose main thread alone has ended is in
    /// the same state, and has live threads.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x') && self.threads.is_none()
    }
}

/// A control group at one instant. Each value is of the group and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupSample {
    /// Anonymous + shared memory: what must be provided.
    pub unreclaimable: Option<Bytes>,
    /// Of it what is shared memory, whether anybody maps it or not.
    pub shared: Option<Bytes>,
    /// Charged now, page cache included.
    pub current: Option<Bytes>,
    /// Highest charge so far, page cache included (`memory.peak`, `max_usage_in_bytes`).
    pub peak: Option<Bytes>,
    /// Swap in use.
    pub swap: Option<Bytes>,
    /// Most swap in use so far (`memory.swap.peak`, v2 from Linux 6.5).
    pub swap_peak: Option<Bytes>,
    /// CPU time.
    pub cpu: Option<Nanos>,
    /// Bytes read from storage.
    pub disk_read: Option<Bytes>,
    /// Bytes written to storage.
    pub disk_written: Option<Bytes>,
    /// Times the limit could not be kept and processes were killed.
    pub oom_kills: Option<u64>,
    /// Times the group was throttled by a CPU quota.
    pub throttled: Option<u64>,
    /// Time it spent throttled.
    pub throttled_time: Option<Nanos>,
}

/// The sizes of pages on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSizes {
    /// A page.
    pub page: Bytes,
    /// A huge page that a fault or the kernel may bring; `None` where there are none.
    pub huge: Option<Bytes>,
}

/// What the wait chain knows: the launcher's rusage of all its waited-for descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitTotals {
    /// Everything waited for, launcher out. Exact to the microsecond (rusage) and the byte (io).
    pub counters: Counters,
    /// The largest resident set of any one process (`ru_maxrss`).
    pub rss_peak_process: Option<Bytes>,
    /// Direct children and adopted orphans that were waited for.
    pub reaped: u64,
}

/// How the main process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MainEnd {
    /// When, `CLOCK_BOOTTIME`.
    pub at: Nanos,
    /// How.
    pub ending: Ending,
    /// Its own page faults, its children's left out, if they were read after its end.
    pub faults: Option<u64>,
}
