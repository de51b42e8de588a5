//! Instances of WfCommons in WfFormat: 1.5, where a task is specified in one place and its
//! execution told in another, and 1.0 to 1.4, where both are together. A document is read piece by
//! piece; of each task only what an attempt has is held until the end, for what tells the machines
//! and the files may stand behind the tasks.

mod document;
mod join;

use super::Format;
use super::detect::Look;
use super::intake::{Halt, Intake, Place};
use super::walk::{Path, Walk};
use crate::Error;
use document::Document;
use serde::de::DeserializeSeed;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: NAME,
    doc: "instances of WfCommons, WfFormat 1.0 to 1.5",
    detects,
    read,
};

const NAME: &str = "wfformat";

/// Bytes of one document.
const DOCUMENT_MAX: u64 = 2 << 30;

/// Bytes of one text, number or name in it.
const TOKEN_MAX: u64 = 16 << 20;

/// KB of the versions before 1.4.
const KB: u64 = 1000;

fn detects(look: &Look<'_>) -> bool {
    let text = look.text;
    let of_workflow = text.contains("\"workflow\"");
    text.starts_with('{')
        && (text.contains("\"schemaVersion\"")
            || look.name.ends_with(".wfformat.json")
            || of_workflow && text.contains("\"tasks\""))
}

/// Ends what is too large, as an error of the input.
struct Bounded<'r> {
    input: &'r mut dyn BufRead,
    total: u64,
    since: Rc<Cell<u64>>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // In pieces, so that what is told in between is seen.
        let piece = buffer.len().min(1 << 16);
        let count = self
            .input
            .read(buffer.get_mut(..piece).unwrap_or_default())?;
        self.total += count as u64;
        self.since.set(self.since.get() + count as u64);
        match () {
            () if self.total > DOCUMENT_MAX => Err(io::Error::other("the document is too large")),
            () if self.since.get() > TOKEN_MAX => Err(io::Error::other("a text is too large")),
            () => Ok(count),
        }
    }
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    if input.fill_buf()?.is_empty() {
        return Ok(());
    }
    let mut document = Document::default();
    let bounded = Bounded {
        input,
        total: 0,
        since: Rc::clone(&document.since),
    };
    let mut deserializer =
        serde_json::Deserializer::from_reader(io::BufReader::with_capacity(1 << 16, bounded));
    let mut path = Path::default();
    let walk = Walk {
        path: &mut path,
        visit: &mut document,
    };
    let done = walk.deserialize(&mut deserializer);
    let done = done.and_then(|()| deserializer.end());
    let is_empty = document.ran.is_empty() && document.specified.is_empty();
    match done {
        Ok(()) if is_empty => Err(Halt::Failed(Error::NotOfFormat {
            format: NAME,
            why: "no tasks in it".to_owned(),
        })),
        Ok(()) => document.hand_on(intake, "it was not executed"),
        Err(error) => {
            let line = u64::try_from(error.line()).unwrap_or(u64::MAX);
            let why = format!("the document is broken: {error}");
            // What came before is whole.
            document.hand_on(intake, "the document breaks before its execution")?;
            intake.met();
            intake.reject(Place::Line(line), b"", why)?;
            match error.is_io() {
                true => failed(error.into()),
                false => Ok(()),
            }
        }
    }
}

/// What was only too large ends in what was told already.
fn failed(error: io::Error) -> Result<(), Halt> {
    let halt = Halt::from(error);
    match &halt {
        Halt::Failed(Error::Import { source }) if source.kind() == io::ErrorKind::Other => Ok(()),
        _ => Err(halt),
    }
}
