//! One JSON object a line, one a row; absent values are null.

use super::{Format, Look, Out, Writing, json};
use datafusion::arrow::json::writer::LineDelimited;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    doc: "an object a line",
    is_binary: false,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    json::objects::<LineDelimited>(out, b"")
}
