//! Attempts of tasks from what other tools wrote: one file a format.
//!
//! docs/import.md tells each column and where it goes. Every record of an input comes out as an
//! attempt, as rejected with the reason, or joined to another (a step of a job). Memory is bounded:
//! a record that is too large is rejected without being held.

mod amount;
mod attempts;
mod cctools;
mod columns;
mod csv;
mod detect;
mod instant;
mod intake;
mod kickstart;
mod lines;
mod nextflow;
mod objects;
mod plimsoll;
mod sacct;
mod snakemake;
mod table;
mod time;
mod unpack;
mod walk;
mod wfformat;
mod xml;
mod yaml;

pub use columns::ColumnMap;
pub use detect::detect;
pub use intake::{Options, Place, Rejected, Row, Sink, Summary};
pub use unpack::{Unpacked, unpacked};

use crate::Error;
use intake::{Halt, Intake};
use std::io::BufRead;

/// One format that attempts are read from.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// Whether a file of this name that begins so is probably of the format.
    detects: fn(&detect::Look<'_>) -> bool,
    /// Reads all of it.
    read: fn(&mut dyn BufRead, &mut Intake<'_, '_>) -> Result<(), Halt>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}

/// Every format, in the order of the help, which is also that of [`detect`].
pub const FORMATS: &[&Format] = &[
    &plimsoll::FORMAT,
    &attempts::FORMAT,
    &nextflow::FORMAT,
    &snakemake::FORMAT,
    &sacct::FORMAT,
    &cctools::FORMAT,
    &kickstart::FORMAT,
    &wfformat::FORMAT,
    &time::FORMAT,
    &csv::FORMAT,
];

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}

/// Reads attempts, each as soon as it is whole. What is compressed by gzip is unpacked. An error
/// ends the reading; what came before it has been handed on.
pub fn read(
    format: &Format,
    input: impl BufRead,
    options: &Options,
    sink: &mut Sink<'_>,
) -> Result<Summary, Error> {
    let mut input = unpacked(input)?;
    let mut intake = Intake::new(format.name, options, sink);
    match (format.read)(&mut input, &mut intake) {
        Ok(()) | Err(Halt::Stopped) => Ok(intake.summary()),
        Err(Halt::Failed(error)) => Err(error),
    }
}
