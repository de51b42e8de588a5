//! Retention: the oldest hours of a dataset are given up.
//!
//! An hour is all files of all tables below `date=YYYY-MM-DD/hour=H`. It goes file by file, so
//! whoever dies in between leaves an hour of which the rest goes next time. Segments that were not
//! compacted yet are left alone.

use super::hive::{self, HOUR};
use super::lock;
use crate::disk::Disk;
use crate::error::Error;
use record::unit::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// Hours that ended no longer ago than this.
    pub age: Option<Nanos>,
    /// The youngest hours that are no more than so much together, but for the last one.
    pub bytes: Option<Bytes>,
}

/// What was given up, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    /// Hours.
    pub hours: u64,
    /// Files of these.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: Bytes,
    /// Bytes of the hours that are left.
    pub left: Bytes,
}

/// The files of an hour.
#[derive(Debug, Default)]
struct Hour {
    files: Vec<PathBuf>,
    bytes: u64,
}

/// Removes the hours that are not to be kept; `now` is the time of day since 1970.
///
/// # Errors
/// Something could not be read or removed; [`Error::Busy`] while somebody compacts.
pub fn retain<D: Disk>(disk: &D, dataset: &Path, keep: Keep, now: Nanos) -> Result<Removed, Error> {
    let lock = lock(disk, dataset)?;
    let hours = hours(dataset)?;
    let mut removed = Removed::default();
    let mut left: u64 = hours.values().map(|hour| hour.bytes).sum();
    let last = hours.keys().next_back().copied();
    for (begin, hour) in hours {
        let age = now.since(begin.plus(HOUR));
        let is_old = keep.age.is_some_and(|most| age > most);
        let is_much = keep.bytes.is_some_and(|most| left > most.0) && Some(begin) != last;
        if !is_old && !is_much {
            break;
        }
        remove_hour(disk, &hour)?;
        left -= hour.bytes;
        removed.hours += 1;
        removed.files += hour.files.len() as u64;
        removed.bytes.0 += hour.bytes;
    }
    removed.left = Bytes(left);
    drop(lock);
    Ok(removed)
}

fn remove_hour<D: Disk>(disk: &D, hour: &Hour) -> Result<(), Error> {
    for path in &hour.files {
        match disk.remove(path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                let path = path.clone();
                return Err(Error::Remove { path, source });
            }
            _ => {}
        }
        for folder in path.ancestors().skip(1).take(2) {
            // One that is not empty stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Every hour by its beginning, all tables together.
fn hours(dataset: &Path) -> Result<BTreeMap<Nanos, Hour>, Error> {
    let mut hours: BTreeMap<Nanos, Hour> = BTreeMap::new();
    for of_table in hive::hours(dataset)? {
        let entry = hours.entry(of_table.begin).or_default();
        for file in of_table.files {
            entry.bytes += file.bytes.0;
            entry.files.push(file.path);
        }
    }
    Ok(hours)
}
