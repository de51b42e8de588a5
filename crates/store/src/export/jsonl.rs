//! A report as one line of JSON, for files that many tasks append to.

use super::Format;
use crate::Error;
use record::report::Report;

/// The format.
pub const FORMAT: Format = Format {
    name: "jsonl",
    extension: "jsonl",
    doc: "one line of JSON",
    encode,
};

fn encode(report: &Report) -> Result<Vec<u8>, Error> {
    let mut text = serde_json::to_vec(report).map_err(|source| Error::Encode {
        format: FORMAT.name,
        source,
    })?;
    text.push(b'\n');
    Ok(text)
}
