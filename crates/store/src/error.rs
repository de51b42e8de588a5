//! What can go wrong when a report is written.

use std::io;
use std::path::PathBuf;

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The prefix names no file.
    #[error("output `{}` names no file", prefix.display())]
    NoName {
        /// The prefix as given.
        prefix: PathBuf,
    },
    /// There is a directory where the report should go.
    #[error("output {} is a directory", path.display())]
    IsDirectory {
        /// The path of the report.
        path: PathBuf,
    },
    /// The file cannot be made or opened.
    #[error("cannot write {}", path.display())]
    Open {
        /// The path tried.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is open but did not take the data: most often a full disk.
    #[error("cannot write to {}", path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The finished file could not be given its name.
    #[error("cannot rename {} to {}", from.display(), to.display())]
    Rename {
        /// Its temporary name; the data is there.
        from: PathBuf,
        /// The name that it should have.
        to: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A record could not be turned into text.
    #[error("cannot encode the report as {format}")]
    Encode {
        /// The format.
        format: &'static str,
        /// What the encoder said.
        source: serde_json::Error,
    },
}
