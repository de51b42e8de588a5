//! Which programs use the most CPU time.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "top-cpu",
    doc: "programs by CPU time; an interpreter's by their scripts",
    needs_job: false,
    kinds: &[
        ("cpu_time", Kind::Time),
        ("cpu_share", Kind::Share),
        ("cpu_wait", Kind::Time),
        ("wall_time", Kind::Time),
        ("cores", Kind::Number),
        ("rss_peak", Kind::Bytes),
    ],
    notes: &[],
    sql: include_str!("top_cpu.sql"),
};
