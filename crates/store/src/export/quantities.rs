//! Numbers of a report in the units of other tools. What is absent stays absent.

use record::limit::Resource;
use record::report::{ExitType, Report};
use record::timestamp::parse_rfc3339;

/// Bytes in a MiB, which some formats call MB.
pub const MIB: u64 = 1 << 20;

/// The number of a metric, in its base unit.
pub fn number(report: &Report, metric: &str) -> Option<f64> {
    let value = report.usage.get(metric)?.value()?;
    Some(value.value.as_f64())
}

/// The number of a metric of whole units.
pub fn whole(report: &Report, metric: &str) -> Option<u64> {
    report.usage.get(metric)?.whole()
}

/// A time in seconds.
pub fn seconds(report: &Report, metric: &str) -> Option<f64> {
    whole(report, metric).map(|ns| ns as f64 / 1e9)
}

/// A size in KiB, as the kernel writes it: rounded up, so that something is never nothing.
pub fn kib(report: &Report, metric: &str) -> Option<u64> {
    whole(report, metric).map(|bytes| bytes.div_ceil(1024))
}

/// A size in MiB, rounded up.
pub fn mib(report: &Report, metric: &str) -> Option<u64> {
    whole(report, metric).map(|bytes| bytes.div_ceil(MIB))
}

/// The sum of two metrics; none if one is absent.
pub fn sum(report: &Report, a: &str, b: &str) -> Option<u64> {
    Some(whole(report, a)?.saturating_add(whole(report, b)?))
}

/// The metric of the memory that must be provided: each page once, else the resident sets.
pub fn memory_metric(report: &Report) -> &'static str {
    match whole(report, "memory_peak") {
        Some(_) => "memory_peak",
        None => "rss_peak",
    }
}

/// Start of the task in nanoseconds since 1970.
pub fn start_ns(report: &Report) -> Option<u64> {
    parse_rfc3339(&report.start)
}

/// End of the task in nanoseconds since 1970.
pub fn end_ns(report: &Report) -> Option<u64> {
    parse_rfc3339(&report.end)
}

/// The limit for which the task was ended.
pub fn broken_limit(report: &Report) -> Option<Resource> {
    if report.exit.kind != ExitType::Limit {
        return None;
    }
    let enforced = report.exceeded.iter().find(|one| one.enforced);
    let name = &enforced.or(report.exceeded.first())?.resource;
    let mut kinds = record::limit::LIMITS.iter();
    Some(kinds.find(|kind| kind.name == name)?.resource)
}

/// The command line with spaces between the words, nothing quoted.
pub fn command(report: &Report) -> String {
    report.task.command.join(" ")
}

/// The text without line ends and other control characters, for formats of lines.
pub fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect()
}
