//! Errors of the kernel and the hardware, beside the jobs that were there.

use super::Report;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "errors",
    doc: "errors of the kernel and the hardware, beside the jobs they hit",
    needs_job: false,
    kinds: &[],
    notes: &[
        "time is the reading that met the error: it happened since the one before. A job is named \
         if a process of it was on the host then; that does not say that it was the cause.",
    ],
    sql: include_str!("errors.sql"),
};
