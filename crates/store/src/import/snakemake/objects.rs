//! Snakemake's benchmarks as objects of JSON, a line each. The members are the columns of the table
//! under the same names; what a table has as a dictionary of Python is an object here.

use super::{COLUMNS, Draft, Names, SHAPE, ask, finish};
use crate::import::amount::{Bad, MIB};
use crate::import::intake::{Halt, Intake, Place};
use crate::import::objects::{Objects, Piece};
use crate::import::walk::{self, Scalar, Visit};
use std::io::BufRead;

/// Bytes of one object: the rule's parameters are in it.
const OBJECT_MAX: usize = 64 << 20;

/// Each is a line, and no other object begins one.
const BEGIN: &[u8] = b"{\"";

/// What comes of an object.
#[derive(Debug, Default)]
struct Found {
    draft: Draft,
    /// The wildcards, as a table has them.
    wildcards: Vec<String>,
    /// Bytes of the inputs; nothing where one has no size.
    input: Option<u64>,
    is_input_odd: bool,
    has_clock: bool,
    bad: Option<String>,
}

impl Visit for Found {
    fn scalar(&mut self, path: &str, value: &Scalar<'_>) {
        self.has_clock |= path == "h:m:s";
        if let Err(Bad(why)) = self.take(path, value) {
            let value = value.text().unwrap_or_default();
            let value: String = value.chars().take(40).collect();
            self.bad
                .get_or_insert_with(|| format!("{path}: `{value}` {why}"));
        }
    }
}

impl Found {
    fn take(&mut self, path: &str, value: &Scalar<'_>) -> Result<(), Bad> {
        let text = value.text();
        match path.split_once('/') {
            None => {
                let column = COLUMNS.iter().find(|(name, _)| *name == path);
                let told = text.filter(|text| !SHAPE.nothing.contains(&text.as_str()));
                if let Some(((_, take), text)) = column.zip(told) {
                    take(&mut self.draft, &text)?;
                }
            }
            Some(("wildcards", name)) => {
                let text = text.unwrap_or_default();
                self.wildcards.push(format!("'{name}': '{text}'"));
            }
            Some(("resources", name)) => {
                let asked = &mut self.draft.attempt.requested;
                text.iter().for_each(|text| ask(asked, name, text));
            }
            Some(("input_size_mb", _)) => match value.amount(MIB) {
                Ok(Some(size)) => {
                    self.input = Some(self.input.unwrap_or(0).saturating_add(size));
                }
                Ok(None) | Err(_) => self.is_input_odd = true,
            },
            Some(_) => {}
        }
        Ok(())
    }

    fn draft(self) -> Draft {
        let mut draft = self.draft;
        draft.attempt.input_size = self.input.filter(|_| !self.is_input_odd);
        if !self.wildcards.is_empty() {
            draft.attempt.description = Some(format!("{{{}}}", self.wildcards.join(", ")));
        }
        draft
    }
}

/// Reads all of them.
pub(super) fn read(
    input: &mut dyn BufRead,
    intake: &mut Intake<'_, '_>,
    names: &Names<'_>,
) -> Result<(), Halt> {
    let mut objects = Objects::new(input, OBJECT_MAX, BEGIN);
    while let Some(piece) = objects.next()? {
        let place = Place::Record(intake.met());
        let text = match piece {
            Piece::Broken(text, why) => {
                intake.reject(place, text, why)?;
                continue;
            }
            Piece::Object(text) => text,
        };
        let mut found = Found::default();
        let read = walk::json(text, &mut found);
        match (read, found.bad.take()) {
            (Err(why), _) | (Ok(()), Some(why)) => intake.reject(place, text, why)?,
            (Ok(()), None) if !found.has_clock => {
                intake.reject(place, text, "no benchmark: it has no `h:m:s`")?;
            }
            (Ok(()), None) => finish(intake, found.draft(), text, names)?,
        }
    }
    Ok(())
}
