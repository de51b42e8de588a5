//! What can go wrong when files are written and read.

use std::io;
use std::path::PathBuf;

/// A file could not be written or read.
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
    #[error("cannot write {}{}", path.display(), missing_folder(path, source))]
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
    /// The file took a part of a line alone: most often an almost full disk.
    #[error("cannot write to {}: {taken} of {length} bytes were taken, {left}", path.display())]
    Short {
        /// The path of the file.
        path: PathBuf,
        /// Bytes of the line that were taken.
        taken: usize,
        /// Bytes of the whole line.
        length: usize,
        /// What became of that part.
        left: Left,
        /// What the kernel said of the rest.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A later version of the format wrote the segment: this one cannot read it, and leaves it.
    #[error("{} is of a later version", path.display())]
    Later {
        /// The segment.
        path: PathBuf,
    },
    /// The beginning of the segment is damaged: there is a copy of it.
    #[error("the beginning of {} is damaged: {} is a copy of it", path.display(), copy.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// The copy.
        copy: PathBuf,
        /// Rows behind the damage that could be read.
        rows: u64,
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
    /// The file cannot be removed.
    #[error("cannot remove {}", path.display())]
    Remove {
        /// The path of the file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is something else, or nothing.
    #[error(
        "{} is no archive: `plimsoll archive add` and `import` make one in an empty folder",
        path.display()
    )]
    NoArchive {
        /// The folder.
        path: PathBuf,
    },
    /// The id of an attempt is none.
    #[error("`{id}` is no id of an attempt, which has 32 hexadecimal digits")]
    Id {
        /// What was given.
        id: String,
    },
    /// A set cannot have this name.
    #[error("a set cannot be called `{name}`")]
    SetName {
        /// The name.
        name: String,
    },
    /// A file of an archive holds something else.
    #[error("{} cannot be understood", path.display())]
    Attempt {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        source: serde_json::Error,
    },
    /// The catalogue of an archive cannot be used.
    #[cfg(feature = "archive")]
    #[error("the catalogue of the archive cannot be used")]
    Catalogue {
        /// What SQLite said.
        #[from]
        source: rusqlite::Error,
    },
    /// Tasks that had to be done before themselves: no workflow can be made of them.
    #[error("tasks wait for one another, so this is no workflow: {tasks}")]
    Cycle {
        /// Their names, the first once more at the end.
        tasks: String,
    },
    /// A set has more tasks than can be looked at together.
    #[error("more than {most} tasks: ask for a part of them, as with --category")]
    TooManyTasks {
        /// So many are taken.
        most: usize,
    },
    /// Somebody asked to end.
    #[error("interrupted")]
    Interrupted,
    /// Another compaction of the dataset is under way.
    #[error("{} is being compacted already", dataset.display())]
    Busy {
        /// The dataset.
        dataset: PathBuf,
    },
    /// A record could not be turned into text.
    #[error("cannot encode the report as {format}")]
    Encode {
        /// The format.
        format: &'static str,
        /// What the encoder said.
        source: serde_json::Error,
    },
    /// What is to be imported cannot be read any further.
    #[cfg(feature = "import")]
    #[error("cannot read what is to be imported")]
    Import {
        /// What the kernel or the decompression said.
        source: io::Error,
    },
    /// A compressed file unpacks to more than is taken, as one does that was made to fill a disk.
    #[cfg(feature = "import")]
    #[error("stopped after {unpacked} bytes from {packed} compressed ones: more than is taken")]
    Unpacked {
        /// Bytes that came out.
        unpacked: u64,
        /// Bytes that they were made of.
        packed: u64,
    },
    /// The file is not of the format that it was said to be.
    #[cfg(feature = "import")]
    #[error("not of the format {format}: {why}")]
    NotOfFormat {
        /// The format.
        format: &'static str,
        /// What is missing.
        why: String,
    },
    /// The map from columns to fields cannot be understood.
    #[cfg(feature = "import")]
    #[error("column map: {why}")]
    Columns {
        /// What is wrong with it.
        why: String,
    },
}

/// What became of the part of a line that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// The file ends where it did.
    Nothing,
    /// It stays, as a broken line: others added to the file meanwhile, or it cannot be cut.
    Line,
    /// It stays, and what is added next continues it.
    Part,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Left::Nothing => "and cut off again",
            Left::Line => "and stay as a broken line",
            Left::Part => "and stay as the start of the next line",
        })
    }
}

/// Says which folder a file was to be made in, if that is not there. One that may not be looked
/// into is another error.
fn missing_folder(path: &std::path::Path, source: &io::Error) -> String {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if source.kind() == io::ErrorKind::NotFound && !folder.exists() => {
            format!(" (there is no folder {}: make it first)", folder.display())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_called_missing_only_where_it_is() {
        let there = tempfile::tempdir().unwrap();
        let told = |path: PathBuf, kind: io::ErrorKind| {
            let source = kind.into();
            Error::Open { path, source }.to_string()
        };
        let missing = there.path().join("no/r.json");
        let word = "make it first";
        assert!(told(missing.clone(), io::ErrorKind::NotFound).contains(word));
        // Who may not look into a folder does not know what is in it.
        assert!(!told(missing, io::ErrorKind::PermissionDenied).contains(word));
        let dangling = there.path().join("r.json");
        assert!(!told(dangling, io::ErrorKind::NotFound).contains(word));
    }
}
