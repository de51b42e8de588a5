//! Nextflow's `.command.trace`, version 2: `key=value`, which its `TraceRecord` reads.
//!
//! Memory in KiB, times in ms, percentages in tenths. What is absent has no line.

use super::quantities::{kib, number, one_line, whole};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::Report;
use std::fmt::Display;

/// The format.
pub const FORMAT: Format = Format {
    name: "nextflow-trace",
    extension: "trace",
    doc: "Nextflow's .command.trace, version 2",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

const HEADER: &str = "nextflow.trace/v2";

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let mut lines = Lines(format!("{HEADER}\n"));
    let model = report.host.cpu_model.as_deref().map(one_line);
    lines.add(
        "realtime",
        whole(report, "wall_time").map(|ns| ns / 1_000_000),
    );
    lines.add("%cpu", tenths(number(report, "cores_mean")));
    lines.add("cpu_model", model.filter(|model| !model.trim().is_empty()));
    lines.add("rchar", whole(report, "bytes_read"));
    lines.add("wchar", whole(report, "bytes_written"));
    lines.add("syscr", whole(report, "reads"));
    lines.add("syscw", whole(report, "writes"));
    lines.add("read_bytes", whole(report, "disk_read"));
    lines.add("write_bytes", whole(report, "disk_written"));
    lines.add("%mem", tenths(memory_share(report)));
    // Nextflow writes the highest sums it saw here too, in the lines without `peak`.
    lines.add("vmem", kib(report, "virtual_peak"));
    lines.add("rss", kib(report, "rss_peak"));
    lines.add("peak_vmem", kib(report, "virtual_peak"));
    lines.add("peak_rss", kib(report, "rss_peak"));
    lines.add("vol_ctxt", whole(report, "switches_voluntary"));
    lines.add("inv_ctxt", whole(report, "switches_involuntary"));
    Ok(lines.0.into_bytes())
}

struct Lines(String);

impl Lines {
    fn add(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.0.push_str(&format!("{key}={value}\n"));
        }
    }
}

/// A ratio in tenths of a percent.
fn tenths(ratio: Option<f64>) -> Option<u64> {
    ratio.map(|ratio| (ratio * 1000.0).round() as u64)
}

fn memory_share(report: &Report) -> Option<f64> {
    let machine = report.host.memory_bytes;
    let rss = number(report, "rss_peak")?;
    (machine > 0).then(|| rss / machine as f64)
}
