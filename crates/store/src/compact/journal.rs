//! What a compaction is about to do, written down before it does it.
//!
//! All files are written aside first, to the folder `aside`. The journal then names each with its
//! place, and the segments that are in them. Once it is there, the rest is done however often
//! somebody dies: a later compaction takes it up again. Until it is there, nothing has happened:
//! what lies aside is removed.

use super::bucket::Bucket;
use crate::disk::Disk;
use crate::error::Error;
use record::table::Table;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Held by the compaction that is under way.
pub(super) const LOCK: &str = "compact.lock";

const ASIDE: &str = "aside";
const JOURNAL: &str = "compact.journal";
const BAD: &str = "bad";

/// What is to be done, paths within the dataset.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Plan {
    renames: Vec<(PathBuf, PathBuf)>,
    removes: Vec<PathBuf>,
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

    /// Where the file of a bucket is written, and where it belongs.
    pub(super) fn next_file(&mut self, dataset: &Path, bucket: &Bucket) -> (PathBuf, PathBuf) {
        let (date, hour) = date_and_hour(bucket.hour);
        let folder = folder(dataset, bucket.table, bucket.hour);
        // Another compaction of the same hour has given names already.
        let place = loop {
            let place = folder.join(format!("part-{:06}.parquet", self.number));
            self.number += 1;
            let taken = self
                .plan
                .renames
                .iter()
                .any(|(_, to)| dataset.join(to) == place);
            if !taken && !place.exists() {
                break place;
            }
        };
        let name = format!(
            "{}-{date}-{hour:02}-{}.parquet",
            bucket.table.name, self.number
        );
        (dataset.join(ASIDE).join(name), place)
    }

    /// The file `aside` is to be put into its place.
    pub(super) fn renames(&mut self, aside: &Path, place: &Path) {
        let pair = (self.inside(aside), self.inside(place));
        self.plan.renames.push(pair);
    }

    /// The segment is to be removed.
    pub(super) fn removes(&mut self, segment: &Path) {
        let path = self.inside(segment);
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
    for segment in &plan.removes {
        remove(disk, &dataset.join(segment))?;
    }
    Ok(())
}

/// Keeps a copy of a segment of which something could not be read.
pub(super) fn keep_bad<D: Disk>(disk: &D, dataset: &Path, segment: &Path) -> Result<(), Error> {
    let name = segment.file_name().unwrap_or_default();
    let copy = dataset.join(BAD).join(name);
    if copy.exists() {
        return Ok(());
    }
    let bytes = fs::read(segment).map_err(|source| Error::Read {
        path: segment.to_owned(),
        source,
    })?;
    write_whole(disk, &copy, &bytes)
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

fn rename<D: Disk>(disk: &D, from: &Path, to: &Path) -> Result<(), Error> {
    disk.rename(from, to).map_err(|source| Error::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
        source,
    })
}

/// What is gone already is as it should be.
fn remove<D: Disk>(disk: &D, path: &Path) -> Result<(), Error> {
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::Remove {
            path: path.to_owned(),
            source: error,
        }),
        _ => Ok(()),
    }
}

/// The folder of the files of a table of one hour since 1970.
pub(super) fn folder(dataset: &Path, table: &Table, hours: i64) -> PathBuf {
    let (date, hour) = date_and_hour(hours);
    dataset
        .join(format!("kind={}", table.name))
        .join(format!("date={date}"))
        .join(format!("hour={hour}"))
}

/// `2026-11-22` and 13, of so many hours since 1970.
fn date_and_hour(hours: i64) -> (String, i64) {
    let seconds = u64::try_from(hours).unwrap_or(0) * 3600;
    let text = record::timestamp::rfc3339(seconds * 1_000_000_000);
    let date = text.split('T').next().unwrap_or_default().to_owned();
    (date, hours.rem_euclid(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_have_folders() {
        assert_eq!(date_and_hour(0), ("1970-01-01".to_owned(), 0));
        assert_eq!(date_and_hour(24 * 365 + 13), ("1971-01-01".to_owned(), 13));
    }
}
