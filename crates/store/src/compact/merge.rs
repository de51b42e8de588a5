//! Merging: the files that several compactions or several nodes wrote for an hour become one, and
//! each row is in it once.
//!
//! The files are sorted, so they are read side by side in little memory. Of an hour the small ones
//! are taken: one that is larger than `LARGER` times all smaller ones together stays as it is, so
//! that what comes late does not have everything written anew.

use super::columns::{self, Values};
use super::hive::{self, Part};
use super::journal::Journal;
use super::parquet::{self, Filling};
use super::stream::{Stream, Value};
use super::{Options, Step, Summary};
use crate::disk::Disk;
use crate::error::Error;
use record::table::{self, Form, Table};
use record::unit::Bytes;
use std::cmp::{Ordering, Reverse};
use std::path::{Path, PathBuf};

/// See above; what is no larger than `SMALL` is always taken.
const LARGER: u64 = 4;
const SMALL: u64 = 1 << 20;

/// Files that are read side by side.
const SIDE_BY_SIDE: usize = 4;

/// Merges the hours that are over and have so many files.
pub(super) fn merge<D: Disk>(
    disk: &D,
    dataset: &Path,
    options: Options,
    summary: &mut Summary,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<(), Error> {
    let Some(merge) = options.merge else {
        return Ok(());
    };
    for hour in hive::hours(dataset)? {
        let is_over = hour.begin.plus(hive::HOUR) <= merge.now;
        let table = table::TABLES.iter().find(|table| table.name == hour.table);
        let Some(table) = table.filter(|_| is_over) else {
            continue;
        };
        let number = hour.number();
        let mut files = hour.files;
        // Each turn leaves fewer files.
        for _ in 0..files.len() {
            let parts = small(&mut files);
            if parts.len() < merge.files.max(2) {
                break;
            }
            let merged = merge_files(disk, dataset, (table, number), &parts, summary);
            match merged {
                Ok(Some(merged)) => {
                    files.retain(|file| parts.iter().all(|part| part.path != file.path));
                    files.push(merged);
                    tell(Step::Freed);
                    tell(Step::Done(*summary));
                }
                Ok(None) => break,
                // Damaged, or still being copied: the others do without it.
                Err(error) => {
                    let unread = leave(disk, dataset, error)?;
                    files.retain(|file| unread.0 != file.path);
                    tell(Step::Unread(&unread.1));
                    summary.files_unread += 1;
                }
            }
        }
    }
    Ok(())
}

/// The file that could not be read, and why, if it was that; what was begun is removed.
fn leave<D: Disk>(disk: &D, dataset: &Path, error: Error) -> Result<(PathBuf, Error), Error> {
    match error {
        Error::Read { ref path, .. } => {
            let path = path.clone();
            Journal::recover(disk, dataset)?;
            Ok((path, error))
        }
        other => Err(other),
    }
}

/// Those that are worth it, the smallest first.
fn small(files: &mut [Part]) -> Vec<Part> {
    files.sort_by(|one, other| (one.bytes, &one.path).cmp(&(other.bytes, &other.path)));
    let mut end = files.len();
    let mut rest: u64 = files.iter().map(|file| file.bytes.0).sum();
    while let Some(largest) = end.checked_sub(1).and_then(|last| files.get(last)) {
        rest -= largest.bytes.0;
        if largest.bytes.0 <= rest.saturating_mul(LARGER).max(SMALL) {
            break;
        }
        end -= 1;
    }
    let taken = files.iter().take(end).take(SIDE_BY_SIDE);
    taken.cloned().collect()
}

/// Makes one file of several; `None` if one of them is of a later version, and stays.
fn merge_files<D: Disk>(
    disk: &D,
    dataset: &Path,
    (table, hour): (&'static Table, i64),
    parts: &[Part],
    summary: &mut Summary,
) -> Result<Option<Part>, Error> {
    let open = |part: &Part| Stream::open(&part.path, table);
    let streams = parts
        .iter()
        .map(open)
        .collect::<Result<Option<Vec<_>>, _>>()?;
    let Some(mut streams) = streams else {
        summary.files_later += parts.len() as u64;
        return Ok(None);
    };
    let rows: u64 = streams.iter().map(Stream::rows_in_all).sum();
    let mut journal = Journal::new(dataset);
    let aside = journal.next_file(dataset);
    let written = parquet::write_by(disk, &aside, table, &mut |filling| {
        interleave(&mut streams, table, filling)
    })?;
    let place = hive::place(dataset, table.name, hour, written.digest);
    journal.renames(&aside, &place);
    // One that had every row already is the same file, and has its name.
    for part in parts.iter().filter(|part| part.path != place) {
        journal.removes(&part.path);
    }
    journal.commit(disk)?;
    summary.files_merged += parts.len() as u64;
    summary.files_of_merges += 1;
    summary.rows_merged += rows;
    summary.duplicates += rows - written.rows;
    let bytes = Bytes(written.bytes);
    Ok(Some(Part { path: place, bytes }))
}

/// Gives the rows of all streams in their order, each once.
fn interleave(
    streams: &mut [Stream],
    table: &'static Table,
    filling: &mut Filling<'_>,
) -> Result<(), Error> {
    while let Some((first, second)) = front(streams) {
        let pair = second.and_then(|second| streams.get(first).zip(streams.get(second)));
        let is_twice = pair.is_some_and(|(one, other)| one.order(other).is_eq());
        let before = pair.map(|(one, other)| one.rows_before(other));
        if is_twice {
            match table.once {
                Some(_) => give_once(streams, first, table, filling)?,
                None => give_instant(streams, first, table.form, filling)?,
            }
            continue;
        }
        let Some(stream) = streams.get_mut(first) else {
            break;
        };
        let rows = before.unwrap_or(stream.rows_read()).min(filling.room());
        give(stream, rows, filling)?;
    }
    Ok(())
}

/// The stream whose row is first, and the one that comes behind it.
fn front(streams: &[Stream]) -> Option<(usize, Option<usize>)> {
    let mut front: Option<(usize, Option<usize>)> = None;
    let order = |one: usize, other: usize| {
        let pair = streams.get(one).zip(streams.get(other));
        pair.map_or(Ordering::Equal, |(one, other)| one.order(other))
    };
    for index in (0..streams.len()).filter(|n| streams.get(*n).is_some_and(|s| !s.is_over())) {
        front = Some(match front {
            None => (index, None),
            Some((first, _)) if order(index, first).is_lt() => (index, Some(first)),
            Some((first, None)) => (first, Some(index)),
            Some((first, Some(second))) if order(index, second).is_lt() => (first, Some(index)),
            Some(both) => both,
        });
    }
    front
}

/// Gives the rows of one key and one instant, of which several streams have some. Of a series there
/// is one; of a table of cells there may be several that differ.
fn give_instant(
    streams: &mut [Stream],
    first: usize,
    form: Form,
    filling: &mut Filling<'_>,
) -> Result<(), Error> {
    let Some(key) = streams.get(first).map(Stream::key) else {
        return Ok(());
    };
    let mut given: Vec<Vec<Value>> = Vec::new();
    let (before, from_first) = streams.split_at_mut(first);
    for stream in from_first.iter_mut().chain(before) {
        while !stream.is_over() && stream.key() == key {
            let row = stream.values();
            let is_there = match form {
                Form::Series => !given.is_empty(),
                Form::Cells => given.contains(&row),
            };
            match is_there {
                true => stream.pass(1, None)?,
                false => {
                    give(stream, 1, filling)?;
                    given.push(row);
                }
            }
        }
    }
    Ok(())
}

/// Gives the row of what happens once that says most of it, of several such the one that was
/// written first.
fn give_once(
    streams: &mut [Stream],
    first: usize,
    table: &'static Table,
    filling: &mut Filling<'_>,
) -> Result<(), Error> {
    let Some(key) = streams.get(first).map(Stream::key) else {
        return Ok(());
    };
    let mut best = None;
    for stream in streams {
        while !stream.is_over() && stream.key() == key {
            let mut row = columns::empty(table);
            stream.pass(1, Some(&mut row))?;
            let (told, at) = columns::told(table, &row);
            let rank = (Reverse(told), at);
            if best.as_ref().is_none_or(|(other, _)| rank < *other) {
                best = Some((rank, row));
            }
        }
    }
    filling.columns.append(1, &mut |columns: &mut [Values]| {
        let row = best.iter_mut().flat_map(|(_, row)| row);
        columns
            .iter_mut()
            .zip(row)
            .for_each(|(to, values)| to.take(values));
    });
    filling.pass_on()
}

fn give(stream: &mut Stream, rows: usize, filling: &mut Filling<'_>) -> Result<(), Error> {
    let mut passed = Ok(());
    filling.columns.append(rows, &mut |values: &mut [Values]| {
        passed = stream.pass(rows, Some(values));
    });
    passed?;
    filling.pass_on()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sizes: &[u64]) -> Vec<u64> {
        let part = |bytes: &u64| Part {
            path: PathBuf::from(bytes.to_string()),
            bytes: Bytes(*bytes),
        };
        let mut files: Vec<_> = sizes.iter().map(part).collect();
        small(&mut files).iter().map(|part| part.bytes.0).collect()
    }

    #[test]
    fn what_is_large_beside_the_others_stays() {
        const MIB: u64 = 1 << 20;
        assert_eq!(taken(&[]), Vec::<u64>::new());
        assert_eq!(taken(&[90 * MIB, MIB]), [MIB]);
        assert_eq!(taken(&[8 * MIB, 2 * MIB]), [2 * MIB, 8 * MIB]);
        assert_eq!(taken(&[100 * MIB, 3 * MIB, 9 * MIB]), [3 * MIB, 9 * MIB]);
        assert_eq!(taken(&[MIB, 10]), [10, MIB]);
        assert_eq!(taken(&[7; 20]), [7; SIDE_BY_SIDE]);
    }
}
