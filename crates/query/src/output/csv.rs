//! Comma-separated values (RFC 4180), with a line of names; absent values are empty, lists are
//! JSON.

use super::{Format, Look, Out, Writing, cell, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::{Writer, WriterBuilder};
use datafusion::arrow::datatypes::SchemaRef;
use std::io::Write;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "csv",
    doc: "comma-separated values, with a line of names",
    is_binary: false,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    Box::new(Csv(Some(WriterBuilder::new().with_header(true).build(out))))
}

/// Nothing behind the end.
struct Csv(Option<Writer<Out>>);

impl Writing for Csv {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        // The names stand there even if no row follows.
        self.rows(&RecordBatch::new_empty(columns.clone()))
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.0 {
            Some(writer) => writer.write(&cell::flat(batch)?).map_err(wrong),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.0.take() {
            Some(writer) => writer.into_inner().flush().map_err(Error::Write),
            None => Ok(()),
        }
    }
}
