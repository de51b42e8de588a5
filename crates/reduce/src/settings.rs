//! What the caller tells the reducer: how it watches, and how the task ended.

use record::sample::{MainEnd, WaitTotals};
use record::unit::{Bytes, Nanos};

/// What the stream of events tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// Every process and its final values, CPU time by a later `Final`.
    Bpf,
    /// Every process and its final values.
    Ptrace,
    /// Every process and its final values, CPU time but for its last moments, which no event
    /// tells.
    Taskstats,
    /// Every process; no final values.
    Connector,
    /// No events: a process between two samples is missed.
    Procfs,
}

impl Mechanism {
    /// Whether no process can be missed while no event is lost.
    pub const fn tells_tree(self) -> bool {
        !matches!(self, Mechanism::Procfs)
    }

    /// Whether each process tells at its end what it used.
    pub const fn tells_finals(self) -> bool {
        !matches!(self, Mechanism::Procfs | Mechanism::Connector)
    }
}

/// Whose time series is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeriesKind {
    /// Nobody's.
    #[default]
    Off,
    /// One row for the task at each instant.
    Task,
    /// One row for each process at each instant.
    Process,
}

/// How a task is watched and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Time between two passes of samples.
    pub interval: Nanos,
    /// Most lines of the process table, two at least; identical processes beyond are folded.
    pub max_processes: usize,
    /// What the event stream tells.
    pub mechanism: Mechanism,
    /// Whether a line a process is kept.
    pub keep_processes: bool,
    /// Whose time series is kept.
    pub keep_series: SeriesKind,
    /// Most shared memory of the monitor's own that a process may map (the library of level io): no
    /// more than that says nothing of the task.
    pub own_shared: Bytes,
    /// Online processors of the machine: no task keeps more cores busy. 0: unknown.
    pub cpus: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Nanos::from_secs(1),
            max_processes: 10_000,
            mechanism: Mechanism::Procfs,
            keep_processes: false,
            keep_series: SeriesKind::Off,
            own_shared: Bytes(0),
            cpus: 0,
        }
    }
}

/// Counts that the kernel program or the follower kept itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelCounts {
    /// Processes that ever were.
    pub processes_total: Option<u64>,
    /// Processes alive now, zombies out.
    pub processes_alive: Option<u64>,
    /// Most processes alive at one instant.
    pub processes_peak: Option<u64>,
    /// What that is at least, where ends may have been told late.
    pub processes_peak_least: Option<u64>,
    /// Threads alive now, main threads counted.
    pub threads_alive: Option<u64>,
    /// Most threads alive at one instant.
    pub threads_peak: Option<u64>,
    /// Whether it is no more than that.
    pub threads_at_most: bool,
    /// Processes that held an io_uring at their end, where that is told.
    pub io_uring_tasks: Option<u64>,
    /// Processes that vanished at their end, waited for by nobody, where that is told.
    pub auto_reaped: Option<u64>,
    /// Events lost so far.
    pub events_lost: u64,
    /// How often the final values of processes that ended were lost; their ends were not.
    pub values_lost: u64,
    /// Whether a process was found to have waited for a child that was not traced.
    pub untraced: bool,
    /// How often a thread stopped for its tracer: voluntary switches that are not the task's own.
    /// The final values of processes are without them.
    pub stops: u64,
    /// Those of processes that have not ended.
    pub stops_living: u64,
    /// Whether the counts missed nothing, lost events or not.
    pub exact: bool,
}

/// How the task ended, or the instant of a running state.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// The end of the task: of its main process, or of the last descendant waited for.
    pub at: Nanos,
    /// Until when descendants that outlived it were watched, if any did.
    pub until: Nanos,
    /// How the main process ended, if it has.
    pub main: Option<MainEnd>,
    /// The wait chain after the last reap; none if the launcher was lost or still runs.
    pub waited: Option<WaitTotals>,
    /// Processes that outlived the task.
    pub survivors: Vec<u32>,
}
