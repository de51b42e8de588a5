//! Which file systems are used by which users and projects, and which jobs do the most I/O to them.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "filesystems",
    doc: "mounts by user, account and job: what is exact and what is told from open files",
    needs_job: false,
    kinds: &[
        ("bytes_read", Kind::Bytes),
        ("bytes_written", Kind::Bytes),
        ("free_least", Kind::Bytes),
    ],
    notes: &[
        "method exact: the kernel's own counters of a mount, of all that the machine did there \
         (NFS, Lustre). Local mounts have no counters of their own: their disks do (query the \
         table node).",
        "method upper_bound: of those who were seen with files of a mount open, all that they read \
         and wrote by calls, wherever that was. Who opened and closed a file between two looks is \
         not in it.",
    ],
    sql: include_str!("filesystems.sql"),
};
