//! Snakemake's benchmark table: a header and one row, separated by tabs.
//!
//! Sizes in MiB, times in seconds, with two decimals; `NA` was not measured in this run, `-` is
//! never measured.

use super::quantities::{MIB, number, seconds, whole};
use super::{Format, Holds, Record, Wants};
use crate::Error;
use record::report::Report;

/// The format.
pub const FORMAT: Format = Format {
    name: "snakemake-benchmark",
    extension: "benchmark.tsv",
    doc: "Snakemake's benchmark table",
    holds: Holds::One,
    wants: Wants::Report,
    encode,
};

const HEADER: &[&str] = &[
    "s",
    "h:m:s",
    "max_rss",
    "max_vms",
    "max_uss",
    "max_pss",
    "io_in",
    "io_out",
    "mean_load",
    "cpu_time",
];

const NOT_MEASURED: &str = "NA";
const NEVER_MEASURED: &str = "-";

fn encode(record: &Record<'_>) -> Result<Vec<u8>, Error> {
    let report = record.report;
    let row = [
        // Snakemake rounds this one twice.
        decimals(seconds(report, "wall_time").map(|s| (s * 1e4).round() / 1e4)),
        whole(report, "wall_time").map_or_else(|| NOT_MEASURED.to_owned(), clock),
        decimals(mib(report, "rss_peak")),
        decimals(mib(report, "virtual_peak")),
        NEVER_MEASURED.to_owned(),
        decimals(mib(report, "memory_peak")),
        decimals(mib(report, "disk_read")),
        decimals(mib(report, "disk_written")),
        decimals(number(report, "cores_mean").map(|cores| cores * 100.0)),
        decimals(seconds(report, "cpu_time")),
    ];
    Ok(format!("{}\n{}\n", HEADER.join("\t"), row.join("\t")).into_bytes())
}

fn mib(report: &Report, metric: &str) -> Option<f64> {
    whole(report, metric).map(|bytes| bytes as f64 / MIB as f64)
}

fn decimals(value: Option<f64>) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), |value| format!("{value:.2}"))
}

/// `[N day(s), ]h:mm:ss`.
fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    match days {
        0 => clock,
        1 => format!("1 day, {clock}"),
        _ => format!("{days} days, {clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_stand_before_the_clock() {
        let clock = |seconds: u64| clock(seconds * 1_000_000_000 + 999_999_999);
        assert_eq!(clock(0), "0:00:00");
        assert_eq!(clock(3_725), "1:02:05");
        assert_eq!(clock(86_400), "1 day, 0:00:00");
        assert_eq!(clock(2 * 86_400 + 36_000), "2 days, 10:00:00");
    }
}
