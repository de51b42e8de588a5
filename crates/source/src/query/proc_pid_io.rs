//! `/proc/PID/io` and `/proc/PID/task/TID/io`: bytes and calls.
//!
//! The file of a process holds its dead threads **and the children it has waited for**: summed over
//! a tree it counts twice. The file of a thread holds that thread alone. It needs the right to
//! trace the process.

use super::field::{first_number, pairs};
use super::source::{Source, of_process};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::sample::Counters;
use record::unit::{Bytes, Unit};
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    counter(
        "bytes_read",
        Unit::Bytes,
        "/proc/PID/io rchar",
        "bytes through read-like calls",
    ),
    counter(
        "bytes_written",
        Unit::Bytes,
        "/proc/PID/io wchar",
        "bytes through write-like calls",
    ),
    counter(
        "reads",
        Unit::Count,
        "/proc/PID/io syscr",
        "read-like calls",
    ),
    counter(
        "writes",
        Unit::Count,
        "/proc/PID/io syscw",
        "write-like calls",
    ),
    counter(
        "disk_read",
        Unit::Bytes,
        "/proc/PID/io read_bytes",
        "bytes fetched from storage",
    ),
    counter(
        "disk_written",
        Unit::Bytes,
        "/proc/PID/io write_bytes",
        "bytes sent, or bound to be sent, to storage",
    ),
    counter(
        "disk_cancelled",
        Unit::Bytes,
        "/proc/PID/io cancelled_write_bytes",
        "bytes whose writing was cancelled by truncation",
    ),
];

const fn counter(
    name: &'static str,
    unit: Unit,
    origin: &'static str,
    doc: &'static str,
) -> Metric {
    of_process(name, Kind::Counter, unit, origin, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_io",
    file: "/proc/PID/io",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The I/O fields of [`Counters`]; the others stay `None`.
pub fn parse(text: &[u8]) -> Counters {
    let mut io = Counters::default();
    for (key, value) in pairs(text) {
        let count = first_number(value);
        match key {
            b"rchar" => io.bytes_read = count.map(Bytes),
            b"wchar" => io.bytes_written = count.map(Bytes),
            b"syscr" => io.reads = count,
            b"syscw" => io.writes = count,
            b"read_bytes" => io.disk_read = count.map(Bytes),
            b"write_bytes" => io.disk_written = count.map(Bytes),
            b"cancelled_write_bytes" => io.disk_cancelled = count.map(Bytes),
            _ => {}
        }
    }
    io
}

/// Reads and parses the file of `pid`, or of this process.
pub fn read(root: &Root, pid: Option<u32>) -> Result<Counters, Absent> {
    Ok(parse(&root.read_process(pid, "io")?))
}
