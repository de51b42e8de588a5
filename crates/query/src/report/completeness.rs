//! How much of what happened do we hold.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "completeness",
    doc: "how much of the CPU time that the kernel counted is told of processes; gaps, losses",
    needs_job: false,
    kinds: &[
        ("watched", Kind::Time),
        ("cpu_kernel", Kind::Time),
        ("cpu_told", Kind::Time),
        ("cpu_share", Kind::Share),
        ("cpu_identified", Kind::Time),
        ("identified_share", Kind::Share),
        ("gap_longest", Kind::Time),
        ("interval", Kind::Time),
    ],
    notes: &[
        "cpu_kernel is user, nice, system, irq and softirq of /proc/stat, by ticks, from the first \
         reading to the last; so the share may be a little over 100 %. cpu_told leaves out what \
         ends told of the time after that; cpu_identified is the part of it whose process has a \
         name.",
        "gaps counts the intervals between two readings that were half as long again as usual, \
         or longer.",
    ],
    sql: include_str!("completeness.sql"),
};
