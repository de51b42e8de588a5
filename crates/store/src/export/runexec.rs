//! What BenchExec's `runexec` prints: `key=value` with the unit behind the value.
//!
//! What is absent has no line.

use super::quantities::{broken_limit, memory_metric, whole};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::limit::Resource;
use record::report::{ExitType, Report};

/// The format.
pub const FORMAT: Format = Format {
    name: "runexec",
    extension: "runexec",
    doc: "BenchExec's runexec, key=value",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let mut text = String::new();
    let mut add = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{key}={value}\n"));
        }
    };
    // As Python's isoformat writes UTC.
    let start = report.start.strip_suffix('Z');
    add("starttime", start.map(|start| format!("{start}+00:00")));
    add("terminationreason", reason(report).map(str::to_owned));
    add("returnvalue", returned(report).map(|code| code.to_string()));
    add("exitsignal", report.exit.signal.map(|n| n.to_string()));
    add("walltime", whole(report, "wall_time").map(time));
    add("cputime", whole(report, "cpu_time").map(time));
    let bytes = |metric| whole(report, metric).map(|bytes| format!("{bytes}B"));
    add("memory", bytes(memory_metric(report)));
    add("blkio-read", bytes("disk_read"));
    add("blkio-write", bytes("disk_written"));
    Ok(text.into_bytes())
}

/// Either a return value or a signal, never both.
fn returned(report: &Report) -> Option<i32> {
    let of_signal = report.exit.signal.is_some();
    report.exit.code.filter(|_| !of_signal)
}

/// BenchExec's words for the end of a run that was not let run to its end.
fn reason(report: &Report) -> Option<&'static str> {
    if report.exit.kind == ExitType::NotStarted {
        return Some("failed");
    }
    Some(match broken_limit(report)? {
        Resource::Wall => "walltime",
        Resource::Cpu => "cputime",
        Resource::Memory | Resource::Rss | Resource::Virtual | Resource::Swap => "memory",
        Resource::Files => "files-count",
        Resource::Footprint | Resource::Written => "files-size",
        Resource::Cores | Resource::Processes | Resource::Threads | Resource::Read => "killed",
    })
}

fn time(ns: u64) -> String {
    format!("{}.{:09}s", ns / 1_000_000_000, ns % 1_000_000_000)
}
