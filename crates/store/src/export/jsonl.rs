//! A report as one line of JSON, for files that many tasks append to.

use super::{Format, Holds, Wants};
use crate::Error;
use record::report::Report;

/// The format.
pub const FORMAT: Format = Format {
    name: "jsonl",
    extension: "jsonl",
    doc: "one line of JSON",
    holds: Holds::Many,
    wants: Wants::Report,
    encode: |record| encode(record.report),
};

/// The report alone, without what other formats need.
///
/// # Errors
/// If a number has no place in JSON.
pub fn encode(report: &Report) -> Result<Vec<u8>, Error> {
    let mut text = serde_json::to_vec(report).map_err(|source| Error::Encode {
        format: FORMAT.name,
        source,
    })?;
    text.push(b'\n');
    Ok(text)
}
