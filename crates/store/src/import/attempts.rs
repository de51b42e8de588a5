//! Attempts of another archive, `plimsoll archive export --format jsonl`: one object a line. They
//! stay what they are there, by their ids too.

use super::Format;
use super::detect::Look;
use super::intake::{Halt, Intake, Place};
use super::objects::{Objects, Piece};
use crate::archive::folder::is_id;
use record::attempt::Attempt;
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "attempts",
    doc: "attempts of another archive: plimsoll archive export --format jsonl",
    detects,
    read,
};

/// Bytes of one attempt.
const ATTEMPT_MAX: usize = 64 << 20;

/// How each of them begins.
const BEGIN: &str = "{\"id\":\"";

fn detects(look: &Look<'_>) -> bool {
    let rest = look.text.strip_prefix(BEGIN);
    rest.and_then(|rest| rest.split_once('"'))
        .is_some_and(|(id, rest)| is_id(id) && rest.starts_with(",\"format\":\""))
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut objects = Objects::new(input, ATTEMPT_MAX, BEGIN.as_bytes());
    while let Some(piece) = objects.next()? {
        let place = Place::Record(intake.met());
        let (text, why) = match piece {
            Piece::Broken(text, why) => (text, why.to_owned()),
            Piece::Object(text) => match serde_json::from_slice::<Attempt>(text) {
                Err(error) => (text, error.to_string()),
                Ok(attempt) => {
                    intake.kept(attempt, place, text)?;
                    continue;
                }
            },
        };
        intake.reject(place, text, why)?;
    }
    Ok(())
}
