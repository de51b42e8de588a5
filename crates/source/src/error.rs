//! What can go wrong while the kernel is read.

use std::io;
use std::path::PathBuf;

/// A failure that a caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder of the kernel's could not be listed.
    #[error("list {}", path.display())]
    List {
        /// Which.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// An event mechanism does not work here.
    #[error("{mechanism}: {why}")]
    Mechanism {
        /// Its name.
        mechanism: &'static str,
        /// Why, in words.
        why: String,
    },
    /// A kernel call of a mechanism failed.
    #[error("{mechanism}: {source}")]
    Kernel {
        /// The mechanism's name.
        mechanism: &'static str,
        /// The call and its error.
        source: sys::Error,
    },
}
