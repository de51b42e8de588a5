//! How answers are written: one file a format.

mod arrow;
mod batches;
mod cell;
mod csv;
mod json;
mod jsonl;
mod parquet;
mod table;
mod watched;

use crate::error::Error;
pub use cell::Kind;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use std::io::{self, Write};

/// Takes an answer, batch by batch.
pub trait Writing {
    /// Its columns.
    ///
    /// # Errors
    /// They cannot be written.
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error>;

    /// Some of its rows.
    ///
    /// # Errors
    /// They cannot be written.
    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error>;

    /// There are no more.
    ///
    /// # Errors
    /// What was kept cannot be written.
    fn end(&mut self) -> Result<(), Error>;
}

/// Where an answer goes.
pub type Out = Box<dyn Write + Send>;

/// What else a format may heed.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Columns of the screen, if it is one.
    pub width: Option<usize>,
    /// What the numbers of some columns are, for people.
    pub kinds: Vec<(&'static str, Kind)>,
}

/// One format.
#[derive(Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// It is nothing for a screen.
    pub is_binary: bool,
    /// Begins to write it ([`Format::begin`]).
    open: fn(Out, Look) -> Box<dyn Writing>,
}

/// Every format, in the order of the help.
pub const FORMATS: &[&Format] = &[
    &table::FORMAT,
    &csv::FORMAT,
    &json::FORMAT,
    &jsonl::FORMAT,
    &parquet::FORMAT,
    &arrow::FORMAT,
];

fn wrong(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::Write(error),
        ArrowError::ExternalError(error) => match error.downcast::<io::Error>() {
            Ok(error) => Error::Write(*error),
            Err(error) => Error::Failed(error.to_string()),
        },
        other => Error::Failed(other.to_string()),
    }
}
