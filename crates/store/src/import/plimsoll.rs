//! Reports of ours, `plimsoll.task/1`: one object, or any number one behind the other.

use super::Format;
use super::detect::Look;
use super::intake::{Halt, Intake, Place};
use super::objects::{Objects, Piece};
use crate::attempt::{FORMAT_NAME, identity_of_report, of_report};
use record::report::{ExitType, Report};
use std::io::BufRead;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: FORMAT_NAME,
    doc: "reports of plimsoll run: PREFIX.json, or a line each",
    detects,
    read,
};

/// Bytes of one report.
const REPORT_MAX: usize = 64 << 20;

/// How each of them begins that is a line.
const BEGIN: &[u8] = b"{\"schema\":\"plimsoll.task/";

/// The name of the schema; later versions add to it.
const SCHEMA: &str = "plimsoll.task/";

fn detects(look: &Look<'_>) -> bool {
    look.text.starts_with(['{', '[']) && look.text.contains(SCHEMA)
}

fn read(input: &mut dyn BufRead, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
    let mut objects = Objects::new(input, REPORT_MAX, BEGIN);
    while let Some(piece) = objects.next()? {
        let place = Place::Record(intake.met());
        let (text, why) = match piece {
            Piece::Broken(text, why) => (text, why.to_owned()),
            Piece::Object(text) => match serde_json::from_slice::<Report>(text) {
                Err(error) => (text, error.to_string()),
                Ok(report) if !report.schema.starts_with(SCHEMA) => {
                    (text, "no report: another schema".to_owned())
                }
                Ok(report) if report.exit.kind == ExitType::Running => {
                    (text, "it has not ended".to_owned())
                }
                Ok(report) => {
                    let identity = identity_of_report(&report);
                    intake.reported(of_report(&report), identity, place, text)?;
                    continue;
                }
            },
        };
        intake.reject(place, text, why)?;
    }
    Ok(())
}
