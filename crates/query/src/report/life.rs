//! One row for each process that was seen between two instants: who it was (`who.sql`) and what it
//! used in between (`life.sql`), and one for each job (`jobs.sql`). Most reports begin with them.
//!
//! Counters of a process only grow, so what it used between two instants is the largest value less
//! the smallest one, and all of it if it began in between; of one that ended its `exit` has the
//! last.

use super::program;
use crate::fold::{Extremes, What};

/// Counters of `sample` and `exit`.
const COUNTERS: [&str; 10] = [
    "cpu_time",
    "cpu_user",
    "cpu_system",
    "cpu_wait",
    "io_wait",
    "bytes_read",
    "bytes_written",
    "disk_read",
    "disk_written",
    "faults_major",
];

/// What a word of the templates stands for.
pub(super) fn word(name: &str, of: &str) -> Option<String> {
    let each = |line: fn(&str) -> String| COUNTERS.map(line).concat();
    Some(match name {
        "whole" => format!("{}\n      AS {of}", of_all_hosts(of)),
        "of_hosts" => of_hosts(of),
        "life" => "{{who}},\n{{processes}}".to_owned(),
        "who" => include_str!("who.sql").trim_end().to_owned(),
        "jobs" => include_str!("jobs.sql").trim_end().to_owned(),
        "base" => program::base(),
        "program" => program::program(),
        "seen_counters" => {
            each(|name| format!("    min({name}) AS {name}_first, max({name}) AS {name}_last,\n"))
        }
        "ended_counters" => each(|name| format!("    {} AS {name}_end,\n", at_end(name))),
        "met_counters" => {
            each(|name| format!("    s.{name}_first, s.{name}_last, e.{name}_end,\n"))
        }
        // What was used before the first reading is nobody's business here.
        "used_counters" => each(|name| {
            format!(
                "    coalesce({name}_end, {name}_last)\n      - CASE WHEN start_ns < begin_ns THEN \
                 {name}_first ELSE 0 END AS {name},\n"
            )
        }),
        "names_of_counters" => COUNTERS.map(|name| format!("u.{name}")).join(", "),
        _ => return None,
    })
}

/// What `seen.sql` tells, without SQL.
pub(super) fn seen() -> Extremes {
    let counters = COUNTERS.into_iter().flat_map(|name| {
        [
            (format!("{name}_first"), What::Least(name)),
            (format!("{name}_last"), What::Most(name)),
        ]
    });
    let others = [
        ("first_ns", What::Least("at_ns")),
        ("last_ns", What::Most("at_ns")),
        ("readings", What::Count),
        ("readings_blocked", What::CountOf("state", "D")),
        ("rss_seen", What::Most("rss")),
        ("rss_peak_seen", What::Most("rss_peak")),
    ];
    let others = others.map(|(name, what)| (name.to_owned(), what));
    Extremes::of_processes(counters.chain(others))
}

/// What a job had: accounting tells it of the whole job, a host its own part. More hosts than the
/// job has machines are some that only know of it: there each tells what one of its machines has.
fn of_all_hosts(column: &str) -> String {
    format!(
        "coalesce(max(CASE WHEN of_all = 1 THEN {column} END), CAST(\n      CASE WHEN sum(1 - \
         of_all) > max(nodes) THEN max({column}) * max(nodes)\n      ELSE {} END AS BIGINT))",
        of_hosts(column)
    )
}

/// What all hosts together tell of something, if each of them tells it.
fn of_hosts(value: &str) -> String {
    format!(
        "CASE WHEN sum(CASE WHEN of_all = 0 AND {value} IS NULL THEN 1 ELSE 0 END) = 0\n        \
         THEN CAST(sum(CASE WHEN of_all = 0 THEN {value} END) AS BIGINT) END"
    )
}

/// The name of a counter in `exit`.
fn at_end(counter: &str) -> &str {
    match counter {
        // Through taskstats only a bound is known.
        "cpu_time" => "coalesce(cpu_time, cpu_time_min)",
        other => other,
    }
}
