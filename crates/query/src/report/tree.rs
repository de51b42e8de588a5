//! The process tree of a job.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "tree",
    doc: "the process tree of a job (--job)",
    needs_job: true,
    kinds: &[
        ("began", Kind::Time),
        ("wall_time", Kind::Time),
        ("cpu_time", Kind::Time),
        ("rss_peak", Kind::Bytes),
        ("bytes_read", Kind::Bytes),
        ("bytes_written", Kind::Bytes),
    ],
    notes: &["began is how long after the first process of the job on its host."],
    sql: include_str!("tree.sql"),
};
