//! One JSON object a line, one a row; absent values are null.

use super::{Format, Look, Out, Writing, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::{LineDelimited, Writer};
use std::io::Write;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    doc: "an object a line",
    is_binary: false,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    Box::new(Json(builder.build::<_, LineDelimited>(out)))
}

struct Json(Writer<Out, LineDelimited>);

impl Writing for Json {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.0.write(batch).map_err(wrong)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.0.finish().map_err(wrong)?;
        self.0.get_mut().flush().map_err(Error::Write)
    }
}
