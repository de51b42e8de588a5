//! What GNU `time -v` printed: records of labelled lines, one behind the other, with whatever the
//! tasks wrote between them.

use super::Format;
use super::amount::{self, Bad, KIB, SECOND};
use super::detect::Look;
use super::intake::{Halt, Intake, Place, end_of, set, tail};
use super::lines::Lines;
use crate::category::{category_of_command, program_of_command, words_of_line};
use record::attempt::Attempt;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "time",
    doc: "GNU time -v, any number of records among other text",
    detects,
    read,
};

const FIRST: &str = "Command being timed: ";
const LAST: &str = "Exit status: ";

/// The line in front of the record of a command that a signal ended.
const BY_SIGNAL: &str = "Command terminated by signal ";

/// What stands for what was not measured in a record that Plimsoll wrote.
const NOTHING: &str = "?";

/// A block of `ru_inblock` and `ru_oublock`.
const BLOCK: u64 = 512;

/// A record on its way.
#[derive(Debug, Default)]
struct Draft {
    line: u64,
    /// Its lines, which are its identity.
    text: Vec<u8>,
    attempt: Attempt,
    cpu: Option<u64>,
    bad: Option<String>,
}

type Set = fn(&mut Draft, &str) -> Result<(), Bad>;

const LABELS: &[(&str, Set)] = &[
    ("User time (seconds)", add_cpu),
    ("System time (seconds)", add_cpu),
    (
        "Elapsed (wall clock) time (h:mm:ss or m:ss)",
        |draft, text| used(draft, "wall", amount::clock(text)),
    ),
    ("Maximum resident set size (kbytes)", |draft, text| {
        used(draft, "rss", amount::number(text, KIB))
    }),
    ("File system inputs", |draft, text| {
        used(draft, "disk_read", amount::number(text, BLOCK))
    }),
    ("File system outputs", |draft, text| {
        used(draft, "disk_written", amount::number(text, BLOCK))
    }),
    ("Exit status", |draft, text| {
        let code = text.parse().map_err(|_| Bad("is no exit status"))?;
        draft.attempt.exit_code = Some(code);
        Ok(())
    }),
];

fn used(draft: &mut Draft, name: &str, value: Result<u64, Bad>) -> Result<(), Bad> {
    set(&mut draft.attempt.used, name, Some(value?));
    Ok(())
}

fn add_cpu(draft: &mut Draft, text: &str) -> Result<(), Bad> {
    let time = amount::number(text, SECOND)?;
    draft.cpu = Some(draft.cpu.unwrap_or(0).saturating_add(time));
    Ok(())
}

fn detects(look: &Look<'_>) -> bool {
    look.text.contains("\tCommand being timed: \"") || look.text.starts_with(FIRST)
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut lines = Lines::new(input);
    let mut draft: Option<Draft> = None;
    let mut signal = None;
    let mut has_something = false;
    while let Some(line) = lines.next()? {
        has_something |= !line.bytes.trim_ascii().is_empty();
        let text = String::from_utf8_lossy(line.bytes);
        let own = labelled(&text);
        if let Some(command) = own.and_then(|own| own.strip_prefix(FIRST)) {
            cut_off(intake, draft.take())?;
            intake.met();
            draft = Some(begin(line.number, command, signal.take()));
        } else if let Some(number) = text.trim().strip_prefix(BY_SIGNAL) {
            signal = number.parse().ok();
        }
        let (Some(own), Some(open)) = (own, &mut draft) else {
            continue;
        };
        open.add(own);
        if own.starts_with(LAST)
            && let Some(draft) = draft.take()
        {
            finish(intake, draft)?;
        }
    }
    cut_off(intake, draft)?;
    intake.over(has_something)
}

/// The part of a line that begins with a label. A line of the task's that has no end may stand in
/// front of it, and a command may have tabs.
fn labelled(text: &str) -> Option<&str> {
    let first = text.match_indices('\t').find(|(at, _)| {
        let behind = text.get(at + 1..).unwrap_or_default();
        behind.starts_with(FIRST)
    });
    let at = first.map(|(at, _)| at).or_else(|| text.rfind('\t'))?;
    text.get(at + 1..)
}

fn begin(line: u64, command: &str, signal: Option<i32>) -> Draft {
    let command = command.strip_prefix('"').unwrap_or(command);
    let command = command.strip_suffix('"').unwrap_or(command);
    let command = words_of_line(command);
    let mut attempt = Attempt {
        category: category_of_command(&command, None),
        tool: program_of_command(&command),
        signal,
        ..Attempt::default()
    };
    attempt.command = command;
    Draft {
        line,
        attempt,
        ..Draft::default()
    }
}

/// The record has no last line.
fn cut_off(intake: &mut Intake<'_, '_>, draft: Option<Draft>) -> Result<(), Halt> {
    match draft {
        Some(draft) => {
            let place = Place::Line(draft.line);
            intake.reject(place, &draft.text, "has no exit status: it is cut off")
        }
        None => Ok(()),
    }
}

impl Draft {
    fn add(&mut self, line: &str) {
        if self.text.len() < super::lines::LINE_MAX {
            self.text.extend_from_slice(line.as_bytes());
            self.text.push(b'\n');
        }
        let Some((label, value)) = line.rsplit_once(": ") else {
            return;
        };
        let known = LABELS.iter().find(|(name, _)| *name == label);
        let Some((name, set)) = known else {
            return;
        };
        let value = value.trim();
        if value != NOTHING
            && let Err(Bad(why)) = set(self, value)
        {
            let value: String = value.chars().take(40).collect();
            self.bad
                .get_or_insert_with(|| format!("{name}: `{value}` {why}"));
        }
    }
}

fn finish(intake: &mut Intake<'_, '_>, draft: Draft) -> Result<(), Halt> {
    let Draft {
        line,
        text,
        mut attempt,
        cpu,
        bad,
    } = draft;
    let place = Place::Line(line);
    if let Some(why) = bad {
        return intake.reject(place, &text, why);
    }
    if attempt.command.is_empty() {
        return intake.reject(place, &text, "no command");
    }
    set(&mut attempt.used, "cpu", cpu);
    // 0 for a signal: the line in front tells it.
    if attempt.signal.is_some() {
        attempt.exit_code = None;
    }
    attempt.end = end_of(attempt.exit_code, attempt.signal);
    // Records of short commands are alike in many files.
    let identity = intake.identity().maybe(tail(intake.options())).with(&text);
    intake.attempt(attempt, identity)
}
