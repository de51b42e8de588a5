//! The archive that gets the report of a run (`--archive`).

use crate::archive::usual::usual;
use anyhow::{Context, Result};
use record::report::Report;
use reduce::series::Series;
use std::ffi::OsString;
use std::path::PathBuf;
use store::archive::Texts;
use store::archive::folder::{Folder, Stored};
use store::attempt::of_report;
use store::export::jsonl;

/// Where a report is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The folder of the archive.
    pub path: PathBuf,
    /// The set in it.
    pub set: Option<String>,
}

/// What was asked for; an empty path is the user's own archive.
pub(crate) fn asked(path: Option<OsString>, set: Option<String>) -> Result<Option<Archived>> {
    let Some(path) = path else {
        return Ok(None);
    };
    let path = match path.is_empty() {
        true => usual()?,
        // It stays the same when the working directory is left.
        false => std::path::absolute(path).context("--archive")?,
    };
    Ok(Some(Archived { path, set }))
}

impl Archived {
    /// Makes sure that there is one, before the task starts.
    pub(crate) fn open(&self) -> Result<Folder> {
        let told = || format!("archive {}", self.path.display());
        Folder::create(&self.path).with_context(told)
    }
}

/// Adds the report of a task that has ended.
pub(crate) fn add(
    folder: &Folder,
    set: Option<String>,
    report: &Report,
    series: Option<&Series>,
) -> Result<()> {
    let text = String::from_utf8(jsonl::encode(report)?).context("the report")?;
    let mut attempt = of_report(report);
    attempt.set = set;
    let mut texts = Texts::report(text.trim_end());
    if let Some(series) = series {
        texts = texts.with_series(series)?;
    }
    let stored = Stored::new(attempt, texts);
    folder.add(&stored).map(drop).context("--archive")
}
