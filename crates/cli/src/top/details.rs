//! All that is known of one process.

use super::columns::{ABSENT, or_absent, percent, size, size_of};
use super::draw::Rows;
use crate::live::people::{Counter, People, Person};
use record::quantity::show_time;

/// Letters of the command, at most.
const LETTERS: usize = 2000;

/// The rows.
pub(super) fn rows(one: &Person, people: &People) -> Rows {
    let mut rows = identity(one, people);
    rows.extend(usage(one));
    let letters = one.command.chars().count();
    let command: String = one.command.chars().take(LETTERS).collect();
    let command = match letters > LETTERS {
        true => format!("{command} ... ({letters} letters)"),
        false => command,
    };
    rows.push(("command", command));
    if one.is_part {
        let words = "- of another user's process: no permission; root sees it";
        rows.push(("", words.to_owned()));
    }
    let row = |(name, text): (&str, String)| (name.to_owned(), text);
    rows.into_iter().map(row).collect()
}

fn number(value: Option<i64>) -> String {
    or_absent(value.map(|it| it.to_string()))
}

/// Who it is.
fn identity(one: &Person, people: &People) -> Vec<(&'static str, String)> {
    let (pid, parent, threads) = (one.pid, number(one.ppid), number(one.threads));
    let state = one.state.map_or(ABSENT.to_owned(), String::from);
    let (user, uid) = (or_absent(one.user.clone()), number(one.uid));
    let nice = number(one.nice);
    vec![
        (
            "pid",
            format!("{pid}, child of {parent}, {threads} threads, state {state}"),
        ),
        ("user", format!("{user} (uid {uid}), nice {nice}")),
        ("job", job(one, people)),
        ("program", or_absent(one.exe.clone())),
        ("folder", or_absent(one.cwd.clone())),
        ("group", or_absent(one.group.clone())),
    ]
}

/// What it uses.
fn usage(one: &Person) -> Vec<(&'static str, String)> {
    let time = |counter| {
        let told = one.total(counter).and_then(|it| u64::try_from(it).ok());
        or_absent(told.map(show_time))
    };
    let bytes = |counter| {
        let (all, rate) = (size(one.total(counter)), size_of(one.rate(counter)));
        format!("{all} in all, {rate}/s")
    };
    let now = percent(one.share(Counter::Cpu));
    let (ready, blocked) = (time(Counter::CpuWait), time(Counter::IoWait));
    let [rss, peak] = [one.rss_bytes, one.peak_bytes].map(size);
    let [memory, swap] = [one.memory_bytes, one.swap_bytes].map(size);
    let faults = number(one.total(Counter::FaultsMajor));
    vec![
        ("CPU", format!("{} in all, {now} % now", time(Counter::Cpu))),
        (
            "waited",
            format!("{ready} for a CPU, {blocked} for block I/O"),
        ),
        (
            "memory",
            format!("resident {rss}, highest {peak}, without files {memory}, swapped {swap}"),
        ),
        ("read", bytes(Counter::Read)),
        ("written", bytes(Counter::Written)),
        (
            "read of disks",
            format!("{}; {faults} major faults", bytes(Counter::DiskRead)),
        ),
        ("written to disks", bytes(Counter::DiskWritten)),
    ]
}

fn job(one: &Person, people: &People) -> String {
    let Some(job) = &one.job else {
        return ABSENT.to_owned();
    };
    let task = people.tasks.of(job);
    let part = one
        .part
        .as_ref()
        .map_or(String::new(), |part| format!(", step {part}"));
    let by = task.map_or(String::new(), |task| {
        let words = [
            Some(&task.scheduler),
            task.account.as_ref(),
            task.partition.as_ref(),
        ];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        format!(" ({})", words.join(", "))
    });
    let limit = task.and_then(|task| task.time_limit_ns);
    let limit = limit.and_then(|limit| u64::try_from(limit).ok());
    let limit = limit.map_or(String::new(), |limit| {
        format!(", may run {}", show_time(limit))
    });
    format!("{job}{part}{by}{limit}")
}
