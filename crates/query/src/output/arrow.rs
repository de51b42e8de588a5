//! A stream of Arrow batches, as pyarrow, Polars and DuckDB read it.

use super::batches::{Batches, Writer};
use super::{Format, Look, Out, Writing, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::StreamWriter;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "arrow",
    doc: "a stream of Arrow batches",
    is_binary: true,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    Box::new(Batches::<StreamWriter<Out>>::new(out))
}

impl Writer for StreamWriter<Out> {
    fn begin(out: Out, columns: &SchemaRef) -> Result<Self, Error> {
        Self::try_new(out, columns).map_err(wrong)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.write(batch).map_err(wrong)
    }

    fn finish(self) -> Result<Out, Error> {
        self.into_inner().map_err(wrong)
    }
}
