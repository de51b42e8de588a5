//! How batch differs from interactive work.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "interactive",
    doc: "batch jobs, containers, logins and services, side by side",
    needs_job: false,
    kinds: &[
        ("cpu_time", Kind::Time),
        ("cpu_share", Kind::Share),
        ("wall_time", Kind::Time),
        ("mean_life", Kind::Time),
        ("bytes_read", Kind::Bytes),
        ("bytes_written", Kind::Bytes),
        ("rss_peak", Kind::Bytes),
    ],
    notes: &[
        "batch is what belongs to a job of a scheduler; login what a user began who has logged \
         in; service a unit of the system; other what nothing tells of.",
    ],
    sql: include_str!("interactive.sql"),
};
