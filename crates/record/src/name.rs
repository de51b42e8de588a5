//! What a task did to the names of files.

use crate::unit::Nanos;

/// What a call did to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChange {
    /// It is gone: of a file of any kind but a folder.
    Removed,
    /// It is gone, a folder.
    FolderRemoved,
    /// Its file has another, which may have been that of another file.
    Renamed,
    /// It and another have changed places.
    Exchanged,
    /// Its file was cut or extended, by path.
    Truncated,
}

/// One call that changed a name. `P` is a path: as the call named it ([`NamePath`]), or from the
/// root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name<P> {
    /// What it did.
    pub change: NameChange,
    /// Which process.
    pub pid: u32,
    /// When, on `CLOCK_BOOTTIME`.
    pub at: Nanos,
    /// The name.
    pub path: P,
    /// The new one, or that with which it changed places.
    pub to: Option<P>,
}

impl<P> Name<P> {
    /// The same with other paths; nothing if one of them cannot be had.
    pub fn with_paths<Q>(self, mut other: impl FnMut(P) -> Option<Q>) -> Option<Name<Q>> {
        let path = other(self.path)?;
        let to = match self.to {
            Some(to) => Some(other(to)?),
            None => None,
        };
        Some(Name {
            change: self.change,
            pid: self.pid,
            at: self.at,
            path,
            to,
        })
    }
}

/// A path as a call named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamePath {
    /// The folder from which it leads, as [`crate::file::Folder`] names it; of an absolute path the
    /// root of the process.
    pub folder: u64,
    /// As the task wrote it.
    pub text: Vec<u8>,
}
