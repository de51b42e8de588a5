//! What can go wrong, in the words of whoever asked.

use crate::place::Place;
use datafusion::common::{Column, DataFusionError, SchemaError};
use datafusion::sql::sqlparser::parser::ParserError;
use record::quantity::show_bytes;
use record::unit::Bytes;
use std::path::PathBuf;

/// Names that are as near as this, and so many of them, are offered.
const NEAR_ENOUGH: f64 = 0.6;
const OFFERED_MAX: usize = 3;

/// Why there is no answer, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such folder, or none may look into it.
    #[error("cannot read the folder {path}")]
    Folder {
        /// The dataset.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder holds something else.
    #[error(
        "{path} is no dataset: it has neither `live` nor `kind=...`, which `plimsoll agent \
         --dataset` makes"
    )]
    NoDataset {
        /// The folder.
        path: PathBuf,
    },
    /// The files of the dataset cannot be told.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The question cannot be understood.
    #[error("{message}")]
    Question {
        /// Why.
        message: String,
        /// Where, if that is known.
        place: Option<Place>,
        /// Names that may be meant, the nearest first.
        similar: Vec<String>,
    },
    /// More memory was needed than is allowed.
    #[error("the question needs more memory than the {} that it may use", show_bytes(limit.0))]
    Memory {
        /// What is allowed.
        limit: Bytes,
    },
    /// The files of what does not fit into memory need more room than there is.
    #[error("no space is left in the folder for temporary files")]
    Full,
    /// What was asked for cannot be written.
    #[error("cannot write the answer")]
    Write(#[source] std::io::Error),
    /// Somebody asked to end.
    #[error("interrupted")]
    Interrupted,
    /// A file went away while it was read: a compaction put another one into its place.
    #[error("a file of the dataset went away while it was read")]
    Gone,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What a question was asked with.
pub(crate) struct Asked<'a> {
    pub(crate) question: &'a str,
    pub(crate) tables: &'a [String],
    pub(crate) memory: Bytes,
}

impl Error {
    /// What the engine says of a question.
    pub(crate) fn of(error: &DataFusionError, asked: &Asked<'_>) -> Self {
        let question = asked.question;
        match error.find_root() {
            root if is_full(root) => Self::Full,
            DataFusionError::SQL(parser, _) => of_parser(parser, question),
            DataFusionError::SchemaError(schema, _) => of_schema(schema, error, question),
            DataFusionError::ResourcesExhausted(_) => Self::Memory {
                limit: asked.memory,
            },
            DataFusionError::ObjectStore(error) => match **error {
                datafusion::object_store::Error::NotFound { .. } => Self::Gone,
                _ => Self::Failed(error.to_string()),
            },
            DataFusionError::IoError(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Self::Gone
            }
            DataFusionError::External(error) => match error.downcast_ref::<store::Error>() {
                Some(store::Error::Read { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    Self::Gone
                }
                _ => Self::Failed(error.to_string()),
            },
            DataFusionError::Plan(message) | DataFusionError::NotImplemented(message) => {
                of_plan(message, error, asked)
            }
            other => Self::Failed(other.strip_backtrace()),
        }
    }
}

/// Whether a disk is full: reading fills none, so that it is where the files of a question are.
fn is_full(error: &DataFusionError) -> bool {
    let first: Option<&(dyn std::error::Error + 'static)> = Some(error);
    std::iter::successors(first, |error| error.source()).any(|error| {
        let error = error.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
    })
}

/// `... at Line: 1, Column: 8` is cut off and looked up.
fn of_parser(error: &ParserError, question: &str) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.clone(),
        ParserError::RecursionLimitExceeded => "the question is nested too deeply".to_owned(),
    };
    let (words, place) = match message.rsplit_once(" at Line: ") {
        Some((words, place)) => (words.to_owned(), line_and_column(place)),
        None => (message, None),
    };
    // At the end of the question the parser names no place.
    let last = || {
        let lines = question.trim_end().lines();
        let line = lines.clone().count() as u64;
        let column = lines.last().map_or(0, |text| text.chars().count()) as u64 + 1;
        words.ends_with("EOF").then_some((line, column))
    };
    let place = place.or_else(last);
    Error::Question {
        place: place.and_then(|place| Place::of(question, place, 1)),
        message: words.replace("found: EOF", "found the end"),
        similar: Vec::new(),
    }
}

fn line_and_column(text: &str) -> Option<(u64, u64)> {
    let (line, column) = text.split_once(", Column: ")?;
    Some((line.trim().parse().ok()?, column.trim().parse().ok()?))
}

fn of_schema(schema: &SchemaError, error: &DataFusionError, question: &str) -> Error {
    let (message, name, similar) = match schema {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => {
            let names: Vec<_> = valid_fields.iter().map(|field| field.name()).collect();
            let name = field.name().to_owned();
            let similar = nearest(&name, names.iter().copied());
            let listed = match similar.is_empty() {
                true => listing(valid_fields),
                false => String::new(),
            };
            (format!("no column `{name}`{listed}"), name, similar)
        }
        SchemaError::AmbiguousReference { field } => {
            let name = field.name().to_owned();
            (
                format!("several tables have a column `{name}`: say which one"),
                name,
                Vec::new(),
            )
        }
        other => (other.to_string(), String::new(), Vec::new()),
    };
    Error::Question {
        message,
        place: told(error, question).or_else(|| named(&name, question)),
        similar,
    }
}

/// The question that lists what there is.
fn listing(fields: &[Column]) -> String {
    let relations = fields.iter().filter_map(|field| field.relation.as_ref());
    let mut tables: Vec<&str> = relations.map(|table| table.table()).collect();
    tables.sort_unstable();
    tables.dedup();
    match tables[..] {
        [table] => format!(": DESCRIBE {table} lists the columns"),
        _ => String::new(),
    }
}

fn of_plan(message: &str, error: &DataFusionError, asked: &Asked<'_>) -> Error {
    let question = asked.question;
    let first = message.lines().next().unwrap_or_default();
    let table = first
        .strip_prefix("table '")
        .and_then(|rest| rest.split_once("' not found"))
        .map(|(path, _)| path.rsplit('.').next().unwrap_or(path).to_owned());
    match table {
        Some(name) => Error::Question {
            message: format!("no table `{name}`"),
            place: told(error, question).or_else(|| named(&name, question)),
            similar: nearest(&name, asked.tables.iter()),
        },
        None => Error::Question {
            message: of_statements(first).unwrap_or_else(|| message.trim_end().to_owned()),
            place: told(error, question),
            similar: Vec::new(),
        },
    }
}

/// What is wrong with what is no single question, in our words.
fn of_statements(message: &str) -> Option<String> {
    let words = [
        (
            "No SQL statements",
            "the question is empty: ask with SELECT",
        ),
        (
            "The context currently only supports a single SQL statement",
            "these are several questions: ask one at a time",
        ),
        (
            "DDL not supported",
            "a dataset is for reading: ask with SELECT",
        ),
        (
            "DML not supported",
            "a dataset is for reading: ask with SELECT",
        ),
        (
            "Statement not supported",
            "a dataset is for reading: ask with SELECT",
        ),
    ];
    let ours = words.iter().find(|(theirs, _)| message.starts_with(theirs));
    ours.map(|(_, ours)| (*ours).to_owned())
}

/// The place that the engine tells.
fn told(error: &DataFusionError, question: &str) -> Option<Place> {
    let span = error.diagnostic()?.span?;
    let (start, end) = (span.start, span.end);
    let letters = match start.line == end.line {
        true => end.column.saturating_sub(start.column),
        false => 1,
    };
    Place::of(question, (start.line, start.column), letters)
}

/// The first place where a name stands as a word.
fn named(name: &str, question: &str) -> Option<Place> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (number, line) = (1u64..).zip(question.lines()).find_map(|(number, line)| {
        let at = line.match_indices(name).find(|(at, _)| {
            let (before, behind) = line.split_at(*at);
            let behind = behind.get(name.len()..).unwrap_or_default();
            !before.ends_with(is_part) && !behind.starts_with(is_part)
        })?;
        Some((number, line.get(..at.0)?))
    })?;
    let letters = name.chars().count() as u64;
    let column = line.chars().count() as u64 + 1;
    (letters > 0).then_some(())?;
    Place::of(question, (number, column), letters)
}

/// The names that are most like this one, the nearest first.
pub(crate) fn nearest(name: &str, known: impl Iterator<Item = impl AsRef<str>>) -> Vec<String> {
    let name = name.to_lowercase();
    let likeness = |known: &str| match strsim::osa_distance(&name, known) {
        // One slip of a finger: in short names the other measure does not see that.
        0 | 1 => 1.0,
        _ => strsim::jaro_winkler(&name, known),
    };
    let mut near: Vec<_> = known
        .map(|known| {
            let known = known.as_ref().to_owned();
            (likeness(&known.to_lowercase()), known)
        })
        .filter(|(how, _)| *how >= NEAR_ENOUGH)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    near.dedup_by(|one, other| one.1 == other.1);
    near.into_iter()
        .take(OFFERED_MAX)
        .map(|(_, name)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::error::ArrowError;
    use std::io::{Error as IoError, ErrorKind};

    #[test]
    fn the_nearest_names_come_first() {
        let of = |name: &str| nearest(name, ["pgid", "ppid", "pid", "cpu_time", "rss"].iter());
        assert_eq!(of("pdi").first().map(String::as_str), Some("pid"));
        assert_eq!(of("CPU_tmie"), ["cpu_time"]);
        assert_eq!(of("rs"), ["rss"]);
        assert!(of("voluntary").is_empty());
    }

    #[test]
    fn a_full_disk_is_told_as_such() {
        let asked = Asked {
            question: "",
            tables: &[],
            memory: Bytes(1),
        };
        let told = |kind: ErrorKind| {
            let error = ArrowError::from(IoError::from(kind));
            Error::of(&DataFusionError::ArrowError(Box::new(error), None), &asked)
        };
        assert!(matches!(told(ErrorKind::StorageFull), Error::Full));
        assert!(matches!(told(ErrorKind::BrokenPipe), Error::Failed(_)));
    }
}
