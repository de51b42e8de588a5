//! `/proc/PID/task/TID/schedstat`: the scheduler's own time of one thread, in nanoseconds.
//!
//! `/proc/PID/schedstat` is that of the main thread alone: a process is the sum over
//! `task/*/schedstat`, and what its dead threads used is not in it. A kernel without `SCHED_INFO`
//! writes `0 0 0`, which is no reading.

use super::field::{number, words};
use super::source::{Source, of_process};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    of_process(
        "cpu_time",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/task/*/schedstat, field 1",
        "CPU time by the scheduler's clock",
    ),
    of_process(
        "cpu_wait",
        Kind::Counter,
        Unit::Nanoseconds,
        "/proc/PID/task/*/schedstat, field 2",
        "time runnable but waiting for a CPU, of the threads seen",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_schedstat",
    file: "/proc/PID/schedstat",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// One line of `schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schedstat {
    /// Time on a CPU.
    pub cpu: Nanos,
    /// Time runnable but waiting for one.
    pub wait: Nanos,
    /// Times it was put on a CPU.
    pub runs: u64,
}

/// Parses the line; `None` if it is not one, or if the kernel does not fill it.
pub fn parse(text: &[u8]) -> Option<Schedstat> {
    let mut words = words(text);
    let mut next = || number(words.next()?);
    let line = Schedstat {
        cpu: Nanos(next()?),
        wait: Nanos(next()?),
        runs: next()?,
    };
    (line != Schedstat::default()).then_some(line)
}

/// Reads the time of the calling process's main thread, or of that of `pid`.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Schedstat, Absent> {
    let text = root.read_process(pid, "schedstat")?;
    parse(&text).ok_or(Absent::NoKernelSupport)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_a_kernel_that_does_not_count_are_no_reading() {
        assert_eq!(parse(b"0 0 0\n"), None);
        assert_eq!(parse(b"1491389 0\n"), None);
        let read = parse(b"1491389 12 1\n").unwrap();
        assert_eq!((read.cpu, read.wait), (Nanos(1_491_389), Nanos(12)));
    }
}
