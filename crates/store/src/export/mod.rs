//! Formats of a report: one file each.

pub mod files;
pub mod json;
pub mod jsonl;
pub mod processes;
pub mod series;
pub mod sockets;
pub mod syscalls;

use crate::Error;
use record::report::Report;

/// One format of a report.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// The end of a file's name.
    pub extension: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
    /// Encodes a report, line ends included.
    pub encode: fn(&Report) -> Result<Vec<u8>, Error>,
}

/// Every format of a report.
pub const FORMATS: &[&Format] = &[&json::FORMAT, &jsonl::FORMAT];

/// The format called `name`.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
