//! Rows about what was asked for and given, the used share of each limit, and broken limits.

use super::amount::{Marks, number, percent};
use super::headline::{not_ended, overshoot};
use super::rows::Row;
use super::shorten::shorten;
use super::style::{cut, printable};
use record::quantity;
use record::report::{Claim, Exceeded, Report};
use record::value::Field;
use std::collections::BTreeMap;

/// At most this much of the command line of a process that broke a limit.
const PROCESS_WIDTH: usize = 48;

/// Which value of the report each limit is compared with.
const COMPARED: &[(&str, &str)] = &[
    ("wall", "wall_time"),
    ("cpu", "cpu_time"),
    ("cores", "cores_peak"),
    ("memory", "memory_peak"),
    ("rss", "rss_peak"),
    ("virtual", "virtual_peak"),
    ("swap", "swap_peak"),
    ("processes", "processes_peak"),
    ("threads", "threads_peak"),
    ("footprint", "footprint_peak"),
    ("files", "files_peak"),
    ("read", "bytes_read"),
    ("written", "bytes_written"),
];

/// The rows, in order; none for what was not set.
pub fn rows(report: &Report, marks: &mut Marks) -> Vec<Row> {
    let first = first_line_tells(report);
    let mut rows: Vec<Row> = report
        .exceeded
        .iter()
        .map(|one| match first {
            Some(told) if std::ptr::eq(one, told) => ended_for(one),
            _ => exceeded(one, not_ended(&report.exit).is_some()),
        })
        .collect();
    rows.extend(Row::pieces("limits", used(report, marks)));
    rows.extend(Row::pieces(
        "requested",
        claims(&report.request, |one| one.source != "--limit"),
    ));
    rows.extend(Row::pieces(
        "provided",
        claims(&report.allocation, |_| true),
    ));
    rows
}

/// The broken limit that the first line tells of, with its value and its time.
fn first_line_tells(report: &Report) -> Option<&Exceeded> {
    report.exceeded.iter().find(|one| one.enforced)
}

fn when(one: &Exceeded) -> String {
    one.at_ns.map_or(String::new(), |at| {
        format!(" after {}", quantity::show_time(at.0))
    })
}

/// Who broke a limit, ` by` in front; nothing if nobody knows.
fn who(one: &Exceeded) -> String {
    let name = one.process.as_ref().map(|name| {
        let line = printable(name);
        cut(&shorten(&line, PROCESS_WIDTH), PROCESS_WIDTH)
    });
    match (one.pid, name) {
        (Some(pid), Some(name)) => format!(" by {name} (pid {pid})"),
        (Some(pid), None) => format!(" by pid {pid}"),
        (None, Some(name)) => format!(" by {name}"),
        (None, None) => String::new(),
    }
}

/// How it was noticed.
fn seen(one: &Exceeded) -> String {
    match one.source.strip_prefix("found at the end: ") {
        Some(source) => format!("found at the end ({})", printable(source)),
        None => format!("seen by {}", printable(&one.source)),
    }
}

/// What the first line does not say of the limit for which the task was ended.
fn ended_for(one: &Exceeded) -> Row {
    let name = printable(&one.resource);
    let (when, who, seen) = (when(one), who(one), seen(one));
    Row::text("exceeded", format!("{name}{when}{who}, {seen}"))
}

/// `unended`: somebody could not be ended.
fn exceeded(one: &Exceeded, unended: bool) -> Row {
    let limit = number(one.limit.as_f64(), one.unit);
    let (when, who) = (when(one), who(one));
    let fate = match (one.enforced, unended) {
        (true, _) => "the task was ended",
        (false, true) => "the task could not be ended",
        (false, false) => "nothing was ended",
    };
    let over = overshoot(one).map_or("reached".to_owned(), |over| format!("exceeded by {over}"));
    Row::text(
        "exceeded",
        format!(
            "{} {limit} {over}{when}{who}, {}: {fate}",
            printable(&one.resource),
            seen(one)
        ),
    )
}

fn used(report: &Report, marks: &mut Marks) -> Vec<String> {
    let share = |limit: &record::report::LimitSet| {
        let bound = number(limit.limit.as_f64(), limit.unit);
        let name = printable(&limit.resource);
        let field = COMPARED
            .iter()
            .find(|(resource, _)| *resource == limit.resource)?
            .1;
        let Some(value) = report.usage.get(field).and_then(Field::value) else {
            return Some(format!("{name} unknown of {bound}"));
        };
        let share = percent(value.value.as_f64() / limit.limit.as_f64().max(f64::MIN_POSITIVE));
        Some(format!("{name} {share} of {bound} ({})", marks.show(value)))
    };
    // What the first line says of a limit is not said again.
    let told = first_line_tells(report).map(|one| one.resource.as_str());
    let others = report.limits.iter();
    others
        .filter(|limit| told != Some(limit.resource.as_str()))
        .filter_map(share)
        .collect()
}

/// The source without the kernel file that a field is in: these come in every report.
fn short(source: &str) -> &str {
    match source.split_once(' ') {
        Some((file, field)) if file.starts_with("/proc/") => field,
        _ => source,
    }
}

fn claims(claims: &BTreeMap<String, Claim>, wanted: impl Fn(&Claim) -> bool) -> Vec<String> {
    let show = |(name, claim): (&String, &Claim)| {
        let amount = number(claim.value.as_f64(), claim.unit);
        printable(&format!("{name} {amount} ({})", short(&claim.source)))
    };
    claims
        .iter()
        .filter(|(_, claim)| wanted(claim))
        .map(show)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_kernel_file_goes_by_its_own_name() {
        assert_eq!(short("/proc/meminfo MemTotal"), "MemTotal");
        assert_eq!(short("memory.max of /a b"), "memory.max of /a b");
        assert_eq!(short("/proc/x"), "/proc/x");
    }

    #[test]
    fn how_a_limit_was_seen_is_a_sentence() {
        let one = |source: &str| Exceeded {
            resource: "rss".to_owned(),
            limit: record::value::Number::Whole(1 << 20),
            value: record::value::Number::Whole(3 << 20),
            unit: record::unit::Unit::Bytes,
            at_ns: None,
            pid: None,
            process: None,
            enforced: false,
            source: source.to_owned(),
        };
        let late = one("found at the end: largest high-water mark");
        assert_eq!(seen(&late), "found at the end (largest high-water mark)");
        assert_eq!(
            seen(&one("samples of the tree")),
            "seen by samples of the tree"
        );
    }
}
