//! A stream of Arrow batches, as pyarrow, Polars and DuckDB read it.

use super::{Format, Look, Out, Writing, wrong};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::writer::StreamWriter;
use std::io::Write;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "arrow",
    doc: "a stream of Arrow batches",
    is_binary: true,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    Box::new(Ipc {
        out: Some(out),
        writer: None,
    })
}

struct Ipc {
    /// Until the columns are known.
    out: Option<Out>,
    writer: Option<StreamWriter<Out>>,
}

impl Writing for Ipc {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        if let Some(out) = self.out.take() {
            self.writer = Some(StreamWriter::try_new(out, columns).map_err(wrong)?);
        }
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match &mut self.writer {
            Some(writer) => writer.write(batch).map_err(wrong),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        match self.writer.take() {
            Some(writer) => {
                let mut out = writer.into_inner().map_err(wrong)?;
                out.flush().map_err(Error::Write)
            }
            None => Ok(()),
        }
    }
}
