//! What is said of an end: one sentence, how sure it is, what speaks for it, what to do, and what
//! to ask for next time.

use super::case::show;
use record::unit::Unit;
use record::value::Number;
use serde::Serialize;

/// The name and version of the shape in which programs are told.
pub const SCHEMA: &str = "plimsoll.why/1";

/// How sure a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The report proves it.
    Known,
    /// The report speaks for it and does not prove it; the sentence says what speaks for it.
    Likely,
    /// The report does not tell.
    Unknown,
}

impl Certainty {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Known => "known",
            Certainty::Likely => "likely",
            Certainty::Unknown => "unknown",
        }
    }
}

/// One piece of what a sentence rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// What it is.
    pub what: String,
    /// Its value, for people.
    pub value: String,
    /// Where it is from: a field of the report, and where the report has it from.
    pub source: String,
}

/// What to ask for next time, of one resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Its name, as in `request`.
    pub resource: String,
    /// What was asked for or allowed, in `unit`; null where that is not known.
    pub from: Option<Number>,
    /// Who says so.
    pub from_source: Option<String>,
    /// What to ask for, in `unit`.
    pub to: Number,
    /// The unit of both.
    pub unit: Unit,
    /// How `to` was found.
    pub reason: String,
    /// Whether it is a limit of `plimsoll run` itself, which no scheduler knows.
    pub own_limit: bool,
}

impl Change {
    /// For people: `4 GiB -> 1 GiB`, or the one number where nothing was asked for.
    pub fn words(&self) -> String {
        let to = show(self.to.as_f64(), self.unit);
        match self.from {
            Some(from) => format!("{} -> {to}", show(from.as_f64(), self.unit)),
            None => to,
        }
    }
}

/// What is said of one cause, or of something that was seen beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The name of the cause, one of [`CAUSES`](super::CAUSES).
    pub cause: &'static str,
    /// One sentence.
    pub sentence: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// What speaks for it.
    pub evidence: Vec<Told>,
    /// What to do.
    pub advice: Vec<String>,
    /// What to ask for next time.
    pub requests: Vec<Change>,
}

impl Verdict {
    /// A sentence without anything else yet.
    pub(super) fn new(
        cause: &'static str,
        certainty: Certainty,
        sentence: impl Into<String>,
    ) -> Self {
        Self {
            cause,
            sentence: sentence.into(),
            certainty,
            evidence: Vec::new(),
            advice: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// With one more piece of evidence.
    pub(super) fn told(
        mut self,
        what: &str,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        self.evidence.push(Told {
            what: what.to_owned(),
            value: value.into(),
            source: source.into(),
        });
        self
    }

    /// With all of these pieces.
    pub(super) fn told_all(mut self, more: impl IntoIterator<Item = Told>) -> Self {
        self.evidence.extend(more);
        self
    }

    /// With one more thing to do.
    pub(super) fn advise(mut self, text: impl Into<String>) -> Self {
        self.advice.push(text.into());
        self
    }

    /// With something to ask for.
    pub(super) fn ask(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.requests.extend(changes);
        self
    }
}

/// The answer: why the task ended as it did, and what else was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Why {
    /// The cause of the end.
    #[serde(flatten)]
    pub main: Verdict,
    /// What else is to be known, in the order of [`CAUSES`](super::CAUSES).
    pub also: Vec<Verdict>,
}

impl Why {
    /// Everything to ask for: of the cause first; of each resource the first.
    pub fn requests(&self) -> Vec<&Change> {
        let all = std::iter::once(&self.main).chain(&self.also);
        let mut found: Vec<&Change> = Vec::new();
        for change in all.flat_map(|verdict| &verdict.requests) {
            if !found.iter().any(|one| one.resource == change.resource) {
                found.push(change);
            }
        }
        found
    }
}
