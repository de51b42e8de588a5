//! The first line of a report: how it ended, after how long, at what peak, on how many cores.

use super::amount::{Marks, cores, number, percent};
use super::containers;
use super::style::{cut, printable};
use record::quantity;
use record::report::serde_free::Scalar;
use record::report::{Evidence, Exceeded, Exit, ExitType, Report};
use record::unit::Unit;
use record::value::{Field, Method, Number, Value};

/// Bounds of no larger ratio are as good as one number.
const NARROW: f64 = 1.25;

/// A program through which work left the tree of processes that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The program, as people call it: `ssh`, `docker`, `srun`.
    pub program: String,
    /// Whether the work may have gone to another machine.
    pub elsewhere: bool,
}

/// The first line, without its end: whole, however narrow the terminal is.
pub fn headline(report: &Report, departures: &[Departure], marks: &mut Marks) -> String {
    let mut parts = vec![ending(report)];
    if report.exit.kind != ExitType::NotStarted {
        parts.push(memory(report, marks));
        parts.extend(cores_used(report, marks));
        parts.extend(departed(departures));
        parts.extend(containers::part(report, marks));
    }
    parts.join("; ")
}

/// Whether the first line tells of something that went wrong.
pub fn is_failure(exit: &Exit) -> bool {
    !matches!(
        (exit.kind, exit.code),
        (ExitType::Normal, Some(0)) | (ExitType::Running, _)
    )
}

fn ending(report: &Report) -> String {
    let exit = &report.exit;
    let after = report
        .usage
        .get("wall_time")
        .and_then(Field::whole)
        .map_or(String::new(), |ns| {
            format!(" after {}", quantity::show_time(ns))
        });
    match exit.kind {
        ExitType::Normal => {
            let code = exit.code.map_or("?".to_owned(), |code| code.to_string());
            format!("exit {code}{after}{}", unended(report))
        }
        ExitType::Signal => format!("{}{after}{}", killed(exit.signal), unended(report)),
        ExitType::Limit => limit(report, &after),
        ExitType::NotStarted => not_started(exit),
        ExitType::Running => after.replacen(" after", "running for", 1),
        ExitType::Unknown => format!("ended{after}, nobody could tell how"),
    }
}

fn killed(signal: Option<i32>) -> String {
    signal.map_or_else(
        || "killed by a signal".to_owned(),
        |number| format!("signal {number} ({})", signal_name(number)),
    )
}

/// What the evidence of a process that could not be ended is called.
pub const NOT_ENDED: &str = "not_ended";

/// The processes of another user that could not be ended.
pub(super) fn not_ended(exit: &Exit) -> Option<String> {
    const WIDTH: usize = 48;
    let mut of_others = exit.evidence.iter().filter(|one| one.kind == NOT_ENDED);
    let Scalar::Text(first) = &of_others.next()?.value else {
        return None;
    };
    let first = cut(&printable(first), WIDTH);
    Some(match of_others.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    })
}

/// A limit that was exceeded by a command that could not be ended.
fn unended(report: &Report) -> String {
    let Some(who) = not_ended(&report.exit) else {
        return String::new();
    };
    let over = report.exceeded.first().map_or(String::new(), |broken| {
        let limit = number(broken.limit.as_f64(), broken.unit);
        format!(": limit {} {limit} exceeded", printable(&broken.resource))
    });
    let and = if over.is_empty() { ":" } else { "," };
    format!("{over}{and} {who} is another user's and could not be ended")
}

/// What was asked for, how far past it the task went, when, and by which process.
fn limit(report: &Report, after: &str) -> String {
    let by = if killed_by_kernel(report) {
        "the kernel's OOM killer and Plimsoll"
    } else {
        "Plimsoll"
    };
    let ended = match not_ended(&report.exit) {
        Some(who) => format!(": ended by {by} but for {who}"),
        None => format!(": ended by {by}"),
    };
    let Some(broken) = report.exceeded.iter().find(|one| one.enforced) else {
        return format!("limit exceeded{after}{ended}");
    };
    let when = match broken.at_ns {
        Some(at) => format!(" after {}", quantity::show_time(at.0)),
        None => after.to_owned(),
    };
    let who = match (&broken.process, broken.pid) {
        (Some(name), _) => format!(" ({})", program(name)),
        (None, Some(pid)) => format!(" (pid {pid})"),
        (None, None) => String::new(),
    };
    format!(
        "limit {} {} exceeded{}{when}{who}{ended}",
        printable(&broken.resource),
        number(broken.limit.as_f64(), broken.unit),
        overshoot(broken).map_or(String::new(), |over| format!(" by {over}")),
    )
}

/// Whether the kernel held the task to its limit on memory and ended some of it.
fn killed_by_kernel(report: &Report) -> bool {
    let mut enforced = report.exceeded.iter().filter(|one| one.enforced);
    let oom_kill = |one: &Evidence| one.kind == "oom_kill";
    enforced.any(|one| one.resource == "memory") && report.exit.evidence.iter().any(oom_kill)
}

/// The program of a command line, without its folders.
fn program(command: &str) -> String {
    const WIDTH: usize = 24;
    let path = command.split(' ').next().unwrap_or(command);
    cut(&printable(path.rsplit('/').next().unwrap_or(path)), WIDTH)
}

/// How far past the limit the value was; `None` where it was held at the limit.
pub fn overshoot(broken: &Exceeded) -> Option<String> {
    let over = broken.value.as_f64() - broken.limit.as_f64();
    (over > 0.0).then(|| number(over, broken.unit))
}

fn not_started(exit: &Exit) -> String {
    let status = exit
        .status
        .map_or(String::new(), |status| format!(" (exit {status})"));
    match &exit.cause {
        Some(cause) => format!("not started: {}{status}", printable(cause)),
        None => format!("not started{status}"),
    }
}

fn memory(report: &Report, marks: &mut Marks) -> String {
    let fields = [
        ("memory_peak", "peak memory"),
        ("rss_peak", "peak of resident sets"),
    ];
    let found = fields
        .iter()
        .find_map(|(name, words)| Some((report.usage.get(name).and_then(Field::value)?, *words)));
    let Some((peak, words)) = found else {
        let reason = match report.usage.get("memory_peak") {
            Some(Field::Missing { absent }) => absent.words(),
            _ => "not measured",
        };
        return format!("peak memory unknown ({reason})");
    };
    let upper = wide_bound(peak);
    let of = memory_allowed(report).map_or(String::new(), |(allowed, words)| {
        let share = percent(upper.unwrap_or(peak.value.as_f64()) / allowed);
        let is_bound = upper.is_some() && !share.starts_with('<');
        let most = if is_bound { "at most " } else { "" };
        format!(
            " of {}{words} ({most}{share})",
            number(allowed, Unit::Bytes)
        )
    });
    let shown = match upper {
        Some(upper) => format!(
            "{} to {}",
            number(peak.value.as_f64(), peak.unit),
            number(upper, peak.unit)
        ),
        None => marks.show(peak),
    };
    format!("{words} {shown}{of}")
}

/// The upper bound where the lower one alone would mislead.
fn wide_bound(peak: &Value) -> Option<f64> {
    let Method::LowerBound { upper: Some(upper) } = peak.method else {
        return None;
    };
    let upper = upper as f64;
    (upper > peak.value.as_f64() * NARROW).then_some(upper)
}

/// The memory that the task may use: its limit, else the allocation, else the machine.
fn memory_allowed(report: &Report) -> Option<(f64, &'static str)> {
    let limit = report
        .limits
        .iter()
        .find(|one| one.resource == "memory")
        .map(|one| one.limit);
    let given = report.allocation.get("memory").map(|claim| claim.value);
    let machine = report.host.memory_bytes;
    limit
        .or(given)
        .map(|allowed| (allowed.as_f64(), " allowed"))
        .or((machine > 0).then_some((machine as f64, "")))
        .filter(|(allowed, _)| *allowed > 0.0)
}

fn cores_used(report: &Report, marks: &mut Marks) -> Option<String> {
    let used = report.usage.get("cores_mean").and_then(Field::value)?;
    let given = report.allocation.get("cores").map(|claim| claim.value);
    let all = given.unwrap_or(Number::Whole(report.host.cpus)).as_f64();
    if all <= 0.0 {
        return Some(format!("{} cores", marks.show(used)));
    }
    let noun = if all == 1.0 { "core" } else { "cores" };
    let share = percent(used.value.as_f64() / all);
    Some(format!(
        "{} of {} {noun} ({share})",
        marks.show(used),
        cores(all)
    ))
}

fn departed(departures: &[Departure]) -> Option<String> {
    let first = departures.first()?;
    let mut names: Vec<_> = departures
        .iter()
        .map(|one| printable(&one.program))
        .collect();
    names.dedup();
    let all_elsewhere = first.elsewhere && departures.iter().all(|one| one.elsewhere);
    let place = if all_elsewhere {
        "this machine"
    } else {
        "this task"
    };
    Some(format!(
        "work left {place} through {}: values are lower bounds",
        names.join(", ")
    ))
}

/// The name of a signal: `SIGKILL`.
pub fn signal_name(number: i32) -> String {
    // The numbers that x86 and ARM share; other architectures differ in a few.
    const NAMES: &[&str] = &[
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    const FIRST_REALTIME: i32 = 34;
    let name = usize::try_from(number - 1)
        .ok()
        .and_then(|index| NAMES.get(index));
    match name {
        Some(name) => format!("SIG{name}"),
        None if number >= FIRST_REALTIME => format!("SIGRTMIN+{}", number - FIRST_REALTIME),
        None => "no such signal".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sample;
    use record::value::{Absent, Method, Value};

    fn line(report: &Report, departures: &[Departure]) -> String {
        headline(report, departures, &mut Marks::default())
    }

    fn departure(program: &str, elsewhere: bool) -> Departure {
        Departure {
            program: program.to_owned(),
            elsewhere,
        }
    }

    #[test]
    fn a_good_end_names_time_memory_and_cores() {
        assert_eq!(
            line(&sample::build(), &[]),
            "exit 0 after 2m03s; peak memory 3.4 GiB of 8 GiB allowed (42 %); \
             3.1 of 8 cores (39 %)"
        );
    }

    #[test]
    fn bad_ends_say_which() {
        let mut report = sample::small();
        report.exit.kind = ExitType::Signal;
        report.exit.signal = Some(9);
        assert!(line(&report, &[]).starts_with("signal 9 (SIGKILL) after 1.3 ms; peak"));
        sample::break_limit(&mut report);
        report.exit.evidence.clear();
        assert!(line(&report, &[]).starts_with(
            "limit memory 512 MiB exceeded by 1 MiB after 1.20 s (cc1plus): ended by Plimsoll;"
        ));
        report.exceeded[0].process = Some("/usr/bin/python3 -c a/b".to_owned());
        assert!(line(&report, &[]).contains(" after 1.20 s (python3): ended"));
        let held = &mut report.exceeded[0];
        held.value = held.limit;
        held.process = None;
        assert!(line(&report, &[]).starts_with(
            "limit memory 512 MiB exceeded after 1.20 s (pid 4242): ended by Plimsoll;"
        ));
        report.exit.evidence = vec![Evidence {
            kind: "oom_kill".to_owned(),
            value: Scalar::Whole(1),
            source: "cgroup OOM event".to_owned(),
        }];
        assert!(line(&report, &[]).contains(": ended by the kernel's OOM killer and Plimsoll;"));
        report.exceeded.clear();
        assert!(line(&report, &[]).starts_with("limit exceeded after 1.3 ms: ended by Plimsoll"));
        report.exit.kind = ExitType::Unknown;
        assert!(line(&report, &[]).starts_with("ended after 1.3 ms, nobody could tell how;"));
        report.exit.kind = ExitType::Running;
        assert!(line(&report, &[]).starts_with("running for 1.3 ms;"));
    }

    #[test]
    fn bounds_that_are_far_apart_are_both_told() {
        let mut report = sample::small();
        let mut tell = |upper: u64| {
            let method = Method::LowerBound { upper: Some(upper) };
            let peak = Value::new(Number::Whole(100 << 20), Unit::Bytes, method, "bounds");
            report.usage.set("memory_peak", Field::Present(peak));
            line(&report, &[])
        };
        assert!(tell(120 << 20).contains("peak memory >= 100 MiB of"));
        let both = tell(400 << 20);
        assert!(both.contains("peak memory 100 MiB to 400 MiB of"), "{both}");
        assert!(both.contains("(at most 2 %)"), "{both}");
    }

    #[test]
    fn work_that_left_is_on_the_first_line() {
        let report = sample::small();
        let away = line(&report, &[departure("ssh", true), departure("srun", true)]);
        assert!(
            away.ends_with("work left this machine through ssh, srun: values are lower bounds")
        );
        let mixed = line(
            &report,
            &[departure("ssh", true), departure("docker", false)],
        );
        assert!(
            mixed.contains("work left this task through ssh, docker"),
            "{mixed}"
        );
    }

    #[test]
    fn bounds_are_marked_and_missing_values_have_a_reason() {
        let mut report = sample::build();
        let low = Method::LowerBound { upper: None };
        let peak = Value::new(Number::Whole(1 << 30), Unit::Bytes, low, "x");
        report
            .usage
            .set("memory_peak", Field::Present(peak.clone()));
        assert!(line(&report, &[]).contains("peak memory >= 1 GiB of 8 GiB allowed (12 %)"));
        report
            .usage
            .set("memory_peak", Field::absent(Absent::NoPermission));
        assert!(line(&report, &[]).contains("peak of resident sets ~4.1 GiB of"));
        report.usage.set("rss_peak", Field::absent(Absent::Gone));
        assert!(line(&report, &[]).contains("peak memory unknown (this user may not read it)"));
    }

    #[test]
    fn memory_is_compared_with_the_limit_then_the_allocation_then_the_machine() {
        let mut report = sample::build();
        report.limits.clear();
        assert!(line(&report, &[]).contains(" of 16 GiB allowed (21 %)"));
        report.allocation.clear();
        assert!(line(&report, &[]).contains(" of 24 GiB (14 %); 3.1 of 16 cores (19 %)"));
    }

    #[test]
    fn signals_have_names() {
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(36), "SIGRTMIN+2");
        assert_eq!(signal_name(0), "no such signal");
    }
}
