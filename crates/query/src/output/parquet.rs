//! A Parquet file, compressed by zstd.

use super::batches::{Batches, Writer};
use super::{Format, Look, Out, Writing};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use std::io;
use std::sync::Arc;

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "parquet",
    doc: "a Parquet file",
    is_binary: true,
    open,
};

fn open(out: Out, _: Look) -> Box<dyn Writing> {
    Box::new(Batches::<ArrowWriter<Out>>::new(out))
}

impl Writer for ArrowWriter<Out> {
    fn begin(out: Out, columns: &SchemaRef) -> Result<Self, Error> {
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression);
        Self::try_new(out, Arc::clone(columns), Some(properties.build())).map_err(wrong)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.write(batch).map_err(wrong)
    }

    fn finish(self) -> Result<Out, Error> {
        self.into_inner().map_err(wrong)
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
