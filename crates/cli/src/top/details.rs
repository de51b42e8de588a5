//! All that is known of one process.

use super::columns::{ABSENT, or_absent, percent, size, size_of};
use super::draw::Rows;
use crate::live::people::{Counter, People, Person};
use record::quantity::show_time;

/// Letters of the command, at most.
const LETTERS: usize = 2000;

/// The rows.
pub(super) fn rows(one: &Person, people: &People) -> Rows {
    let number = |value: Option<i64>| or_absent(value.map(|it| it.to_string()));
    let time = |counter| {
        let told = one.total(counter).and_then(|it| u64::try_from(it).ok());
        or_absent(told.map(show_time))
    };
    let both = |counter| {
        format!(
            "{} in all, {}/s",
            size(one.total(counter)),
            size_of(one.rate(counter))
        )
    };
    let mut rows = vec![
        (
            "pid",
            format!(
                "{}, child of {}, {} threads, state {}",
                one.pid,
                number(one.ppid),
                number(one.threads),
                one.state.map_or(ABSENT.to_owned(), String::from)
            ),
        ),
        (
            "user",
            format!(
                "{} (uid {}), nice {}",
                or_absent(one.user.clone()),
                number(one.uid),
                number(one.nice)
            ),
        ),
        ("job", job(one, people)),
        (
            "CPU",
            format!(
                "{} in all, {} % now",
                time(Counter::Cpu),
                percent(one.share(Counter::Cpu))
            ),
        ),
        (
            "waited",
            format!(
                "{} for a CPU, {} for block I/O",
                time(Counter::CpuWait),
                time(Counter::IoWait)
            ),
        ),
        (
            "memory",
            format!(
                "resident {}, highest {}, without files {}, swapped {}",
                size(one.rss_bytes),
                size(one.peak_bytes),
                size(one.memory_bytes),
                size(one.swap_bytes)
            ),
        ),
        ("read", both(Counter::Read)),
        ("written", both(Counter::Written)),
        (
            "of disks",
            format!(
                "{} read, {} written; {} major faults",
                both(Counter::DiskRead),
                both(Counter::DiskWritten),
                number(one.total(Counter::FaultsMajor))
            ),
        ),
        ("program", or_absent(one.exe.clone())),
        ("folder", or_absent(one.cwd.clone())),
        ("group", or_absent(one.group.clone())),
    ];
    let letters = one.command.chars().count();
    let command: String = one.command.chars().take(LETTERS).collect();
    rows.push((
        "command",
        match letters > LETTERS {
            true => format!("{command} ... ({letters} letters)"),
            false => command,
        },
    ));
    if one.is_part {
        let words = "- of another user's process: no permission; root sees it";
        rows.push(("", words.to_owned()));
    }
    rows.into_iter()
        .map(|(name, text)| (name.to_owned(), text))
        .collect()
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
