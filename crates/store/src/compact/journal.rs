//! What a compaction is about to do, written down before it does it.
//!
//! All files are written aside first, to the folder `aside`. The journal then names each with its
//! place, and the segments and files that are in them. Once it is there, the rest is done however
//! often somebody dies: a later compaction takes it up again. Until it is there, nothing has
//! happened: what lies aside is removed.

use crate::disk::Disk;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Held by the compaction that is under way.
pub(super) const LOCK: &str = "compact.lock";

pub(super) const ASIDE: &str = "aside";
const JOURNAL: &str = "compact.journal";

/// What is to be done, paths within the dataset.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) renames: Vec<(PathBuf, PathBuf)>,
    pub(super) removes: Vec<PathBuf>,
}

impl Plan {
    /// What a compaction is doing just now, or had written down when it died.
    pub(super) fn of(dataset: &Path) -> Result<Self, Error> {
        let path = dataset.join(JOURNAL);
        match fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(Error::Read { path, source }),
        }
    }
}

/// The plan of one compaction.
#[derive(Debug)]
pub(super) struct Journal {
    dataset: PathBuf,
    plan: Plan,
    held: Vec<File>,
    number: u64,
}

impl Journal {
    pub(super) fn new(dataset: &Path) -> Self {
        Self {
            dataset: dataset.to_owned(),
            plan: Plan::default(),
            held: Vec::new(),
            number: 0,
        }
    }

    /// Does what a compaction that died had written down, and removes what it had begun.
    pub(super) fn recover<D: Disk>(disk: &D, dataset: &Path) -> Result<(), Error> {
        let path = dataset.join(JOURNAL);
        match fs::read(&path) {
            Ok(bytes) => {
                if let Ok(plan) = serde_json::from_slice::<Plan>(&bytes) {
                    carry_out(disk, dataset, &plan)?;
                }
                remove(disk, &path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Read { path, source }),
        }
        let aside = dataset.join(ASIDE);
        let Ok(entries) = fs::read_dir(&aside) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            remove(disk, &entry.path())?;
        }
        Ok(())
    }

    /// Where the next file is written.
    pub(super) fn next_file(&mut self, dataset: &Path) -> PathBuf {
        self.number += 1;
        dataset.join(ASIDE).join(format!("{}.parquet", self.number))
    }

    /// The file `aside` is to be put into its place.
    pub(super) fn renames(&mut self, aside: &Path, place: &Path) {
        let pair = (self.inside(aside), self.inside(place));
        self.plan.renames.push(pair);
    }

    /// The file is to be removed: what it holds is elsewhere.
    pub(super) fn removes(&mut self, file: &Path) {
        let path = self.inside(file);
        self.plan.removes.push(path);
    }

    /// Keeps a locked file until the plan is carried out.
    pub(super) fn holds(&mut self, file: File) {
        self.held.push(file);
    }

    fn inside(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.dataset).unwrap_or(path).to_owned()
    }

    /// Writes the plan down and carries it out; the next one begins.
    pub(super) fn commit<D: Disk>(&mut self, disk: &D) -> Result<(), Error> {
        let plan = std::mem::take(&mut self.plan);
        if plan.renames.is_empty() && plan.removes.is_empty() {
            return Ok(());
        }
        let path = self.dataset.join(JOURNAL);
        let aside = self.dataset.join(ASIDE).join(JOURNAL);
        let bytes = serde_json::to_vec(&plan).map_err(|source| Error::Encode {
            format: "journal",
            source,
        })?;
        write_whole(disk, &aside, &bytes)?;
        rename(disk, &aside, &path)?;
        carry_out(disk, &self.dataset, &plan)?;
        remove(disk, &path)?;
        self.held.clear();
        Ok(())
    }
}

fn carry_out<D: Disk>(disk: &D, dataset: &Path, plan: &Plan) -> Result<(), Error> {
    for (from, to) in &plan.renames {
        let (from, to) = (dataset.join(from), dataset.join(to));
        // It may be in its place already.
        if !from.exists() && to.exists() {
            continue;
        }
        if let Some(folder) = to.parent() {
            disk.make_folder(folder).map_err(|source| Error::Open {
                path: folder.to_owned(),
                source,
            })?;
        }
        rename(disk, &from, &to)?;
    }
    for file in &plan.removes {
        remove(disk, &dataset.join(file))?;
    }
    Ok(())
}

fn write_whole<D: Disk>(disk: &D, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let open = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        disk.make_folder(folder).map_err(open)?;
    }
    let mut file = disk.create(path).map_err(open)?;
    let written = disk
        .append(&mut file, bytes)
        .and_then(|()| disk.sync(&file));
    written.map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

pub(super) fn rename<D: Disk>(disk: &D, from: &Path, to: &Path) -> Result<(), Error> {
    disk.rename(from, to).map_err(|source| Error::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}

/// What is gone already is as it should be.
pub(super) fn remove<D: Disk>(disk: &D, path: &Path) -> Result<(), Error> {
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::Remove {
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}
