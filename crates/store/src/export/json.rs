//! A report as an indented JSON object, schema `plimsoll.task/1`: `PREFIX.json`.

use super::{Format, Holds, Wants};
use crate::Error;
use record::report::Report;

/// The format.
pub const FORMAT: Format = Format {
    name: "json",
    extension: "json",
    doc: "one indented JSON object",
    holds: Holds::One,
    wants: Wants::Report,
    encode: |record| encode(record.report),
};

/// The report alone, without what other formats need.
///
/// # Errors
/// If a number has no place in JSON.
pub fn encode(report: &Report) -> Result<Vec<u8>, Error> {
    let mut text = serde_json::to_vec_pretty(report).map_err(|source| Error::Encode {
        format: FORMAT.name,
        source,
    })?;
    text.push(b'\n');
    Ok(text)
}
