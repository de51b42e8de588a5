//! A Parquet file, compressed by zstd.

use super::{Format, Look, Out, Writing};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use std::io::{self, Write};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "parquet",
    doc: "a Parquet file",
    is_binary: true,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    Box::new(Parquet {
        out: Some(out),
        writer: None,
    })
}

struct Parquet {
    /// Until the columns are known.
    out: Option<Out>,
    writer: Option<ArrowWriter<Out>>,
}

impl Writing for Parquet {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression);
        if let Some(out) = self.out.take() {
            let writer = ArrowWriter::try_new(out, columns.clone(), Some(properties.build()));
            self.writer = Some(writer.map_err(wrong)?);
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

fn wrong(error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => Error::Write(*error),
            Err(error) => Error::Failed(error.to_string()),
        },
        other => Error::Failed(other.to_string()),
    }
}
