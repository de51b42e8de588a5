//! Are the resources used well: what each job used of what it had.

use super::Report;
use crate::output::Kind;

/// The report.
pub(super) const REPORT: Report = Report {
    name: "efficiency",
    doc: "what each job used of the CPUs and the memory that it had",
    needs_job: false,
    kinds: &[
        ("elapsed", Kind::Time),
        ("cpu_time", Kind::Time),
        ("cpu_efficiency", Kind::Share),
        ("rss_peak", Kind::Bytes),
        ("memory_had", Kind::Bytes),
        ("memory_efficiency", Kind::Share),
        ("time_limit", Kind::Time),
    ],
    notes: &[
        "array_id is the array and the task in it, by which a member of an array of jobs is known.",
        "rss_peak is the largest sum of resident sets of the job's processes in one reading, that \
         of each host added (sampled): pages that several share count in each. elapsed is from the \
         first to the last that was seen of it.",
        "nodes is how many machines the job had, hosts those that are told of here. Where they are \
         fewer, cpus and memory_had are those of these hosts, and empty unless each of them told \
         it.",
    ],
    sql: include_str!("efficiency.sql"),
};
