//! Formats whose library takes whole batches, and wants the columns to begin.

use super::{Out, Writing};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use std::io::Write;

/// What a library writes with.
pub(super) trait Writer: Sized {
    /// Begins with these columns.
    fn begin(out: Out, columns: &SchemaRef) -> Result<Self, Error>;

    /// Some rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Error>;

    /// Writes what belongs behind them.
    fn finish(self) -> Result<Out, Error>;
}

/// An answer by way of a library.
pub(super) struct Batches<W> {
    /// Until the columns are known.
    out: Option<Out>,
    writer: Option<W>,
}

impl<W> Batches<W> {
    pub(super) fn new(out: Out) -> Self {
        Self {
            out: Some(out),
            writer: None,
        }
    }
}

impl<W: Writer> Writing for Batches<W> {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        if let Some(out) = self.out.take() {
            self.writer = Some(W::begin(out, columns)?);
        }
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let writer = self.writer.as_mut();
        writer.map_or(Ok(()), |writer| writer.batch(batch))
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.writer.take() {
            Some(writer) => writer.finish()?.flush().map_err(Error::Write),
            None => Ok(()),
        }
    }
}
