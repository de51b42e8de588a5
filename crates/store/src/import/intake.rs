//! Where attempts and what is rejected go on their way out, with their identities.

use crate::Error;
use crate::archive::folder::is_id;
use crate::identity::{self, Identity};
use record::attempt::{Amount, Amounts, Attempt, End, Known, resource};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::ControlFlow;

use super::ColumnMap;

/// What a reader is told beside the input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// The name of the file, as it is kept with each attempt.
    pub file: Option<String>,
    /// Its path from the root on, of which identities take the end; without it `file`.
    pub path: Option<String>,
    /// The set that the attempts belong to, over what the input says.
    pub set: Option<String>,
    /// Which columns of a `csv` are which fields; without it those of the built-in map.
    pub columns: Option<ColumnMap>,
    /// Seconds that local times without a zone are ahead of UTC.
    pub utc_offset_seconds: i32,
    /// How attempts ended of which the input does not tell it. Without it that is not known; but
    /// a `csv` of which no column tells it is one of attempts that are done.
    pub end: Option<End>,
}

/// What comes out of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// An attempt, and the text of the report of ours that told it.
    Attempt(Box<Attempt>, Option<String>),
    /// A record that is none.
    Rejected(Rejected),
}

/// A record that is no attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Where it is.
    pub place: Place,
    /// Its text, at most 200 characters; views escape what is no text in it.
    pub text: String,
    /// Why it is none.
    pub why: String,
}

/// Characters of a rejected record that are shown.
pub(super) const TEXT_MAX: usize = 200;

/// Where a record is, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The line that it is or begins with.
    Line(u64),
    /// Its number among the records.
    Record(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(number) => write!(f, "line {number}"),
            Place::Record(number) => write!(f, "record {number}"),
        }
    }
}

/// Takes what comes out; `Break` stops the reading.
pub type Sink<'s> = dyn FnMut(Row) -> ControlFlow<()> + 's;

/// How many records there were: `records = attempts + rejected + joined`, unless it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Records of the input.
    pub records: u64,
    /// Those that are attempts.
    pub attempts: u64,
    /// Those that are none.
    pub rejected: u64,
    /// Those that tell more of an attempt that is counted already: steps of a job.
    pub joined: u64,
    /// Attempts that are taken as done because no column says how they ended.
    pub supposed: u64,
}

/// Why a reader goes no further.
#[derive(Debug)]
pub(super) enum Halt {
    /// Whoever takes the rows has enough.
    Stopped,
    /// The input cannot be read.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

impl From<io::Error> for Halt {
    fn from(source: io::Error) -> Self {
        // What unpacks says itself that it is too much.
        match source.downcast::<Error>() {
            Ok(error) => Halt::Failed(error),
            Err(source) => Halt::Failed(Error::Import { source }),
        }
    }
}

/// Identities that are remembered, to tell equal records of a file apart. Behind so many the
/// number of the record makes the identity, which is as much the same for the same file.
const SEEN_MAX: usize = 1 << 24;

/// The category of what has no name and no program.
const UNNAMED: &str = "unnamed";

/// No process has nothing of these: other tools write 0 where a task ended before they looked.
const NEVER_ZERO: &[&str] = &["memory", "rss", "cgroup", "virtual"];

fn is_claimed_zero(amount: Amount) -> bool {
    matches!(amount.known, Known::Claimed | Known::LowerBound) && amount.value.as_f64() <= 0.0
}

/// The way out.
pub(super) struct Intake<'s, 'o> {
    format: &'static str,
    options: &'o Options,
    sink: &'s mut Sink<'o>,
    seen: HashMap<u128, u64>,
    summary: Summary,
    supposes_done: bool,
}

impl<'s, 'o> Intake<'s, 'o> {
    pub(super) fn new(format: &'static str, options: &'o Options, sink: &'s mut Sink<'o>) -> Self {
        Self {
            format,
            options,
            sink,
            seen: HashMap::new(),
            summary: Summary::default(),
            supposes_done: false,
        }
    }

    pub(super) fn options(&self) -> &'o Options {
        self.options
    }

    pub(super) fn summary(&self) -> Summary {
        self.summary
    }

    /// No column says how attempts ended: they are done, unless the caller says otherwise.
    pub(super) fn suppose_done(&mut self) {
        self.supposes_done = self.options.end.is_none();
    }

    /// The beginning of the identity of an attempt.
    pub(super) fn identity(&self) -> Identity {
        Identity::new(self.format)
    }

    /// A record was met; it becomes one of the three below.
    pub(super) fn met(&mut self) -> u64 {
        self.summary.records += 1;
        self.summary.records
    }

    /// The input is over: one that has something and no record is of another format.
    pub(super) fn over(&self, has_something: bool) -> Result<(), Halt> {
        match has_something && self.summary.records == 0 {
            false => Ok(()),
            true => Err(Halt::Failed(Error::NotOfFormat {
                format: self.format,
                why: "no record in it".to_owned(),
            })),
        }
    }

    /// It tells more of another attempt.
    pub(super) fn joined(&mut self) {
        self.summary.joined += 1;
    }

    /// It is no attempt.
    pub(super) fn reject(
        &mut self,
        place: Place,
        text: &[u8],
        why: impl Into<String>,
    ) -> Result<(), Halt> {
        self.summary.rejected += 1;
        // A character has at most 4 bytes.
        let text = text.get(..TEXT_MAX * 4).unwrap_or(text);
        let rejected = Rejected {
            place,
            text: String::from_utf8_lossy(text)
                .chars()
                .take(TEXT_MAX)
                .collect(),
            why: why.into(),
        };
        self.hand_on(Row::Rejected(rejected))
    }

    /// It is an attempt whose identity the tool gave it: where it is told again, it is not another.
    pub(super) fn attempt_once(
        &mut self,
        attempt: Attempt,
        identity: Identity,
        place: Place,
        text: &[u8],
    ) -> Result<(), Halt> {
        self.once((attempt, None), identity, place, text)
    }

    /// It is an attempt that a report of ours told: its text goes with it.
    pub(super) fn reported(
        &mut self,
        attempt: Attempt,
        identity: Identity,
        place: Place,
        text: &[u8],
    ) -> Result<(), Halt> {
        match std::str::from_utf8(text.trim_ascii()) {
            Ok(report) => self.once((attempt, Some(report.to_owned())), identity, place, text),
            Err(_) => self.reject(place, text, "no UTF-8"),
        }
    }

    /// It is an attempt of an archive: it stays what it is, in another set if one was asked for.
    pub(super) fn kept(
        &mut self,
        mut attempt: Attempt,
        place: Place,
        text: &[u8],
    ) -> Result<(), Halt> {
        let digits = u128::from_str_radix(&attempt.id, 16);
        let Some(digits) = digits.ok().filter(|_| is_id(&attempt.id)) else {
            return self.reject(place, text, "no attempt: it has no id");
        };
        if self.seen.len() < SEEN_MAX && self.seen.insert(digits, 1).is_some() {
            return self.reject(place, text, "told before in this file");
        }
        self.summary.attempts += 1;
        if self.options.set.is_some() {
            attempt.set.clone_from(&self.options.set);
        }
        self.hand_on(Row::Attempt(Box::new(attempt), None))
    }

    fn once(
        &mut self,
        (attempt, report): (Attempt, Option<String>),
        identity: Identity,
        place: Place,
        text: &[u8],
    ) -> Result<(), Halt> {
        match self.seen.contains_key(&identity.value()) {
            true => self.reject(place, text, "told before in this file"),
            false => self.tell(attempt, identity, report),
        }
    }

    /// It is an attempt.
    pub(super) fn attempt(&mut self, attempt: Attempt, identity: Identity) -> Result<(), Halt> {
        self.tell(attempt, identity, None)
    }

    fn tell(
        &mut self,
        mut attempt: Attempt,
        identity: Identity,
        report: Option<String>,
    ) -> Result<(), Halt> {
        self.summary.attempts += 1;
        attempt.id = self.id(identity);
        attempt.format = self.format.to_owned();
        attempt.source.clone_from(&self.options.file);
        if self.options.set.is_some() {
            attempt.set.clone_from(&self.options.set);
        }
        if attempt.end == End::Unknown {
            let done = self.supposes_done.then_some(End::Done);
            attempt.end = self.options.end.or(done).unwrap_or(End::Unknown);
            self.summary.supposed += u64::from(done.is_some());
        }
        if attempt.category.is_empty() {
            attempt.category = attempt.tool.clone().unwrap_or_else(|| UNNAMED.to_owned());
        }
        for name in NEVER_ZERO {
            if let (Some(place), Some(amount)) = (resource(name), attempt.used.get(name))
                && is_claimed_zero(amount)
            {
                attempt.used.set_at(place, None);
            }
        }
        // As the table of resources has it: where memory is not known, the resident set.
        if attempt.used.get("memory").is_none()
            && let Some(resident) = attempt.used.get("rss")
        {
            attempt.used.set("memory", resident);
        }
        self.hand_on(Row::Attempt(Box::new(attempt), report))
    }

    fn hand_on(&mut self, row: Row) -> Result<(), Halt> {
        match (self.sink)(row) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::Stopped),
        }
    }

    /// The first of equal records has their identity, the others one with their number.
    fn id(&mut self, identity: Identity) -> String {
        let value = identity.value();
        let known = self.seen.len() < SEEN_MAX || self.seen.contains_key(&value);
        let (word, number) = match known {
            true => {
                let times = self.seen.entry(value).or_insert(0);
                *times += 1;
                (b"again", *times)
            }
            false => (b"place", self.summary.records),
        };
        match (word, number) {
            (b"again", 1) => identity::text_of(value),
            (word, number) => identity.with(word).with(&number.to_le_bytes()).text(),
        }
    }
}

/// An amount that another tool told, if it did.
pub(super) fn set(amounts: &mut Amounts, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        amounts.set(name, Amount::claimed(value));
    }
}

/// How a task with this exit code or this signal ended.
pub(super) fn end_of(code: Option<i32>, signal: Option<i32>) -> End {
    match (code, signal) {
        (Some(0), None) => End::Done,
        (None, None) => End::Unknown,
        _ => End::Failed,
    }
}

/// The last two parts of the file's path, without the end of a compressed one: wherever files are
/// moved to together, these stay.
pub(super) fn tail(options: &Options) -> Option<&str> {
    let path = options.path.as_deref().or(options.file.as_deref())?;
    let path = path.strip_suffix(".gz").unwrap_or(path);
    let mut slashes = path.rmatch_indices('/').map(|(at, _)| at);
    let begin = slashes.nth(1).map_or(0, |at| at + 1);
    path.get(begin..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_is_its_last_two_parts() {
        let of = |file: &str, path: Option<&str>| {
            let options = Options {
                file: Some(file.to_owned()),
                path: path.map(str::to_owned),
                ..Options::default()
            };
            tail(&options).map(str::to_owned)
        };
        for (file, path, expected) in [
            ("a.txt", None, "a.txt"),
            ("in/a.txt", None, "in/a.txt"),
            ("x/in/a.txt.gz", None, "in/a.txt"),
            ("a.txt", Some("/x/in/a.txt"), "in/a.txt"),
            ("../in/a.txt.gz", Some("/x/in/a.txt.gz"), "in/a.txt"),
        ] {
            assert_eq!(of(file, path).as_deref(), Some(expected), "{file} {path:?}");
        }
    }
}
