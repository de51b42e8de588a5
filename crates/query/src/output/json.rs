//! A JSON array of objects, one a row; absent values are null.

use super::{Format, Look, Out, Writing, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::{JsonArray, JsonFormat, Writer};
use std::io::Write;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "json",
    doc: "an array of objects",
    is_binary: false,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    objects::<JsonArray>(out, b"\n")
}

/// Objects in a form, with what is behind the last of them.
pub(super) fn objects<F: JsonFormat + 'static>(out: Out, end: &'static [u8]) -> Box<dyn Writing> {
    let builder = WriterBuilder::new().with_explicit_nulls(true);
    Box::new(Objects {
        writer: builder.build::<_, F>(out),
        end,
    })
}

struct Objects<F: JsonFormat> {
    writer: Writer<Out, F>,
    end: &'static [u8],
}

impl<F: JsonFormat> Writing for Objects<F> {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.writer.write(batch).map_err(wrong)
    }

    fn end(&mut self) -> Result<(), Error> {
        self.writer.finish().map_err(wrong)?;
        let out = self.writer.get_mut();
        let written = out.write_all(self.end).and_then(|()| out.flush());
        written.map_err(Error::Write)
    }
}
