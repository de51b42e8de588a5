//! A JSON array of objects, one a row; absent values are null.

use super::{Format, Look, Out, Writing, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::{JsonArray, Writer};
use std::io::Write;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "json",
    doc: "an array of objects",
    is_binary: false,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    Box::new(Json(builder.build::<_, JsonArray>(out)))
}

struct Json(Writer<Out, JsonArray>);

impl Writing for Json {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.0.write(batch).map_err(wrong)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.0.finish().map_err(wrong)?;
        let out = self.0.get_mut();
        out.write_all(b"\n")
            .and_then(|()| out.flush())
            .map_err(Error::Write)
    }
}
