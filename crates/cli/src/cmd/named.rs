//! `--inputs` and `--outputs`: files that the task is said to read and to write.

use anyhow::{Result, bail};
use std::path::PathBuf;

/// Most files of each option.
const NAMED_MAX: usize = 10_000;

/// A file that the task was said to read or to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// What it is called in the report.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

impl NamedPath {
    /// A file that is called as it was given.
    pub fn new(path: PathBuf) -> Self {
        let name = path.to_string_lossy().into_owned();
        Self { name, path }
    }

    /// Files that are called as they were given.
    pub fn all(paths: Vec<PathBuf>) -> Vec<Self> {
        paths.into_iter().map(Self::new).collect()
    }
}

/// The files of `option`, checked.
///
/// # Errors
/// If one has no name or no path, or if there are too many.
pub fn check(option: &str, files: Vec<NamedPath>) -> Result<Vec<NamedPath>> {
    if files.len() > NAMED_MAX {
        bail!("{option}: more than {NAMED_MAX} files");
    }
    if files
        .iter()
        .any(|file| file.name.is_empty() || file.path.as_os_str().is_empty())
    {
        bail!("{option} needs the name of a file");
    }
    Ok(files)
}
