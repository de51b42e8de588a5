//! The files of a dataset that hold each of its rows once, as they are at one instant, while agents
//! write and a compaction is under way. Nothing is locked and nothing written: whoever may read the
//! folder may ask.

use super::hive::{self, Hour};
use super::journal::Plan;
use crate::error::Error;
use crate::segment;
use record::unit::{Bytes, Nanos};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Looked so often until two looks agree: a compaction changes the files a few times an hour.
const LOOKS_MAX: u32 = 16;

/// A Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFile {
    /// Where it lies now.
    pub path: PathBuf,
    /// The name of its table.
    pub table: String,
    /// When its hour began, since 1970.
    pub begin: Nanos,
    /// Its size.
    pub bytes: Bytes,
}

impl PartFile {
    /// The folders that it lies in, or will: `2026-11-22` and 13.
    pub fn date_and_hour(&self) -> (String, i64) {
        hive::date_and_hour((self.begin.0 / hive::HOUR.0) as i64)
    }
}

/// The files of a dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The Parquet files, by table, hour and name.
    pub parts: Vec<PartFile>,
    /// The live segments, by name.
    pub segments: Vec<PathBuf>,
}

impl Snapshot {
    /// Of the dataset in this folder.
    ///
    /// # Errors
    /// A folder of it, or what a compaction has written down, cannot be read.
    pub fn of(dataset: &Path) -> Result<Self, Error> {
        let mut before = Self::look(dataset)?;
        for _ in 0..LOOKS_MAX {
            let now = Self::look(dataset)?;
            if now == before {
                break;
            }
            before = now;
        }
        let (_, snapshot) = before;
        Ok(snapshot)
    }

    /// The dataset as it is while a plan is carried out, with that plan.
    fn look(dataset: &Path) -> Result<(Plan, Self), Error> {
        let plan = Plan::of(dataset)?;
        let removes: HashSet<_> = plan.removes.iter().map(|path| dataset.join(path)).collect();
        let hours = hive::hours(dataset)?;
        let mut parts: Vec<_> = hours.into_iter().flat_map(files_of).collect();
        let places: HashSet<_> = parts.iter().map(|part| part.path.clone()).collect();
        for (aside, place) in &plan.renames {
            let is_there = places.contains(&dataset.join(place));
            let path = dataset.join(aside);
            if let (false, Some((table, begin)), Ok(known)) =
                (is_there, hive::hour_of(place), fs::metadata(&path))
            {
                parts.push(PartFile {
                    path,
                    table: table.to_owned(),
                    begin,
                    bytes: Bytes(known.len()),
                });
            }
        }
        parts.retain(|part| !removes.contains(&part.path));
        parts.sort_by(|one, other| {
            let key = |part: &PartFile| (part.table.clone(), part.begin, part.path.clone());
            key(one).cmp(&key(other))
        });
        let mut segments = segments(dataset)?;
        segments.retain(|path| !removes.contains(path));
        Ok((plan, Self { parts, segments }))
    }
}

fn files_of(hour: Hour) -> impl Iterator<Item = PartFile> {
    hour.files.into_iter().map(move |part| PartFile {
        path: part.path,
        table: hour.table.clone(),
        begin: hour.begin,
        bytes: part.bytes,
    })
}

fn segments(dataset: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = dataset.join(segment::FOLDER);
    let failed = |source| Error::Read {
        path: path.clone(),
        source,
    };
    let entries = match fs::read_dir(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if segment::is_segment(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(dataset: &Path, name: &str) {
        let path = dataset.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }

    fn names(dataset: &Path) -> (Vec<String>, Vec<String>) {
        let snapshot = Snapshot::of(dataset).unwrap();
        let name = |path: &Path| path.strip_prefix(dataset).unwrap().display().to_string();
        let parts = snapshot.parts.iter().map(|part| name(&part.path)).collect();
        let segments = snapshot.segments.iter().map(|path| name(path)).collect();
        (parts, segments)
    }

    const PLACE: &str = "kind=sample/date=2026-11-22/hour=13/part-7.parquet";
    const OLD: &str = "kind=sample/date=2026-11-22/hour=13/part-3.parquet";
    const SEGMENT: &str = "live/a.b.1.00000001.segment";

    #[test]
    fn nothing_is_there_twice_while_a_compaction_is_carried_out() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = folder.path();
        assert_eq!(Snapshot::of(dataset).unwrap(), Snapshot::default());
        for name in [OLD, SEGMENT, "aside/1.parquet", "live/notes.txt"] {
            put(dataset, name);
        }
        let text = |name: &str| name.to_owned();
        // Written aside, and nothing said yet.
        assert_eq!(names(dataset), (vec![text(OLD)], vec![text(SEGMENT)]));
        let plan = Plan {
            renames: vec![("aside/1.parquet".into(), PLACE.into())],
            removes: vec![OLD.into(), SEGMENT.into()],
        };
        let journal = serde_json::to_vec(&plan).unwrap();
        fs::write(dataset.join("compact.journal"), journal).unwrap();
        assert_eq!(names(dataset), (vec![text("aside/1.parquet")], vec![]));
        let of = Snapshot::of(dataset).unwrap();
        assert_eq!(of.parts[0].date_and_hour(), ("2026-11-22".to_owned(), 13));
        fs::rename(dataset.join("aside/1.parquet"), dataset.join(PLACE)).unwrap();
        assert_eq!(names(dataset), (vec![text(PLACE)], vec![]));
        fs::remove_file(dataset.join(SEGMENT)).unwrap();
        fs::remove_file(dataset.join(OLD)).unwrap();
        fs::remove_file(dataset.join("compact.journal")).unwrap();
        assert_eq!(names(dataset), (vec![text(PLACE)], vec![]));
    }
}
