//! HTCondor's job attributes, one `Name = value` a line: memory in MiB or KiB, times in seconds.
//!
//! What is absent is left out, which HTCondor reads as `undefined`.

use super::quantities::{kib, memory_metric, mib, number, seconds};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::Report;

/// The format.
pub const FORMAT: Format = Format {
    name: "classad",
    extension: "ad",
    doc: "HTCondor's job attributes",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let mut text = String::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("{name} = {value}\n"));
        }
    };
    let whole_of = |value: Option<u64>| value.map(|value| value.to_string());
    add("MemoryUsage", whole_of(mib(report, memory_metric(report))));
    add("ResidentSetSize", whole_of(kib(report, "rss_peak")));
    add(
        "ProportionalSetSizeKb",
        whole_of(kib(report, "memory_peak")),
    );
    add("ImageSize", whole_of(kib(report, "virtual_peak")));
    add("DiskUsage", whole_of(kib(report, "footprint_peak")));
    let real = |value: Option<f64>| value.map(|value| format!("{value:.6}"));
    add("RemoteUserCpu", real(seconds(report, "cpu_user")));
    add("RemoteSysCpu", real(seconds(report, "cpu_system")));
    add("RemoteWallClockTime", real(seconds(report, "wall_time")));
    add("CpusUsage", real(number(report, "cores_mean")));
    for (name, value) in ending(report) {
        add(name, Some(value));
    }
    Ok(text.into_bytes())
}

fn ending(report: &Report) -> Vec<(&'static str, String)> {
    match (report.exit.signal, report.exit.code) {
        (Some(signal), _) => vec![
            ("ExitBySignal", "true".to_owned()),
            ("ExitSignal", signal.to_string()),
        ],
        (None, Some(code)) => vec![
            ("ExitBySignal", "false".to_owned()),
            ("ExitCode", code.to_string()),
        ],
        (None, None) => Vec::new(),
    }
}
