//! One living process as the last readings told it.

use std::cmp::Ordering;

/// By what the rows are sorted, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sort {
    /// CPU time over time
    Cpu,
    /// Time ready to run but waiting for a CPU
    Wait,
    /// CPU time in all
    Time,
    /// Resident memory
    Memory,
    /// Highest resident memory
    Peak,
    /// Bytes read a second
    Read,
    /// Bytes written a second
    Written,
    /// Threads
    Threads,
    /// Process id, the smallest first
    Pid,
}

/// A counter of which there is a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    Cpu,
    CpuWait,
    IoWait,
    Read,
    Written,
    DiskRead,
    DiskWritten,
    FaultsMajor,
}

/// The columns of `sample` that count, in the order of [`Counter`].
pub(crate) const COUNTERS: [&str; COUNTER_COUNT] = [
    "cpu_time",
    "cpu_wait",
    "io_wait",
    "bytes_read",
    "bytes_written",
    "disk_read",
    "disk_written",
    "faults_major",
];
pub(super) const COUNTER_COUNT: usize = 8;

/// The columns of `sample` that are what they are now.
pub(crate) const GAUGES: [&str; 8] = [
    "ppid",
    "state",
    "threads",
    "rss",
    "rss_anon",
    "rss_shmem",
    "rss_peak",
    "swap",
];

/// A living process.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Person {
    pub(crate) pid: i64,
    pub(crate) start_ns: i64,
    pub(crate) ppid: Option<i64>,
    pub(crate) uid: Option<i64>,
    pub(crate) user: Option<String>,
    pub(crate) command: String,
    pub(crate) exe: Option<String>,
    pub(crate) cwd: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) nice: Option<i64>,
    pub(crate) job: Option<String>,
    pub(crate) part: Option<String>,
    pub(crate) state: Option<char>,
    pub(crate) threads: Option<i64>,
    pub(crate) rss_bytes: Option<i64>,
    /// Anonymous and shared memory.
    pub(crate) memory_bytes: Option<i64>,
    pub(crate) peak_bytes: Option<i64>,
    pub(crate) swap_bytes: Option<i64>,
    /// What only its user may know is not told.
    pub(crate) is_part: bool,
    pub(super) counters: [Option<i64>; COUNTER_COUNT],
    /// A nanosecond, since the reading before, or, in the first one of all, since its start.
    pub(super) rates: [Option<f64>; COUNTER_COUNT],
    /// When it was told of last.
    pub(super) at_ns: u64,
}

impl Person {
    /// One of whom nothing was told yet.
    pub(super) fn new(pid: i64, start_ns: i64) -> Self {
        Self {
            pid,
            start_ns,
            ..Self::default()
        }
    }

    /// A counter since its start.
    pub(crate) fn total(&self, counter: Counter) -> Option<i64> {
        self.counters.get(counter as usize).copied().flatten()
    }

    /// How much more of it there is in a nanosecond: of a time, a share.
    pub(crate) fn share(&self, counter: Counter) -> Option<f64> {
        self.rates.get(counter as usize).copied().flatten()
    }

    /// How much more of it there is in a second.
    pub(crate) fn rate(&self, counter: Counter) -> Option<f64> {
        self.share(counter).map(|it| it * 1e9)
    }

    /// What it is sorted by, the largest first.
    pub(crate) fn weight(&self, sort: Sort) -> Option<f64> {
        let whole = |value: Option<i64>| value.map(|it| it as f64);
        match sort {
            Sort::Cpu => self.share(Counter::Cpu),
            Sort::Wait => self.share(Counter::CpuWait),
            Sort::Time => whole(self.total(Counter::Cpu)),
            Sort::Memory => whole(self.rss_bytes),
            Sort::Peak => whole(self.peak_bytes),
            Sort::Read => self.share(Counter::Read),
            Sort::Written => self.share(Counter::Written),
            Sort::Threads => whole(self.threads),
            Sort::Pid => None,
        }
    }

    /// Whether it is a thread of the kernel's: no program, and no memory of its own.
    pub(crate) fn is_kernel(&self) -> bool {
        self.pid == KTHREADD || self.ppid == Some(KTHREADD)
    }
}

/// The parent of the kernel's threads.
const KTHREADD: i64 = 2;

/// Puts them in order, those of the same weight by their pids.
pub(crate) fn sort_by(all: &mut [&Person], sort: Sort) {
    let order = |a: Option<f64>, b: Option<f64>| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
    all.sort_by(|a, b| order(a.weight(sort), b.weight(sort)).then(a.pid.cmp(&b.pid)));
}

#[cfg(test)]
impl Person {
    /// One of whom no more is known.
    pub(crate) fn of(pid: i64, ppid: i64) -> Self {
        Self {
            pid,
            ppid: Some(ppid),
            ..Self::default()
        }
    }
}
