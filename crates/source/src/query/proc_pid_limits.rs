//! `/proc/PID/limits`: the resource limits of a process, here those on descriptors and processes.

use super::field::{lines, number, words};
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_limits",
    file: "/proc/PID/limits",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// The soft limits that are used; `None` is unlimited or not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Open files (`RLIMIT_NOFILE`).
    pub open_files: Option<u64>,
    /// Processes of the user (`RLIMIT_NPROC`).
    pub processes: Option<u64>,
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Limits {
    let mut limits = Limits::default();
    for line in lines(text) {
        if let Some(rest) = line.strip_prefix(b"Max open files") {
            limits.open_files = words(rest).next().and_then(number);
        } else if let Some(rest) = line.strip_prefix(b"Max processes") {
            limits.processes = words(rest).next().and_then(number);
        }
    }
    limits
}

/// Reads and parses the file of `pid`, or of this process.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Limits, Absent> {
    Ok(parse(&root.read_process(pid, "limits")?))
}
