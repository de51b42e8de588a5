//! Which programs block the most wall time.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "top-wall",
    doc: "programs by the wall time in which they were blocked",
    needs_job: false,
    kinds: &[
        ("wall_time", Kind::Time),
        ("cpu_time", Kind::Time),
        ("cpu_wait", Kind::Time),
        ("io_wait", Kind::Time),
        ("blocked_time", Kind::Time),
        ("asleep_time", Kind::Time),
    ],
    notes: &[
        "blocked_time is sampled: the readings that found a process in state D (waiting for a \
         device or a server), times the interval; of processes shorter than that it is 0.",
        "io_wait is the kernel's own, for block devices, and 0 where delay accounting is off; \
         asleep_time is what is left of the wall time.",
    ],
    sql: include_str!("top_wall.sql"),
};
