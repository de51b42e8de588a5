//! Compaction: live segments to sorted Parquet files in hive folders
//! `kind=TABLE/date=YYYY-MM-DD/hour=H`.
//!
//! The rows of a segment are told apart by table and hour and kept by series in little memory
//! (`bucket`); each bucket becomes one file, sorted by host, boot, series and time (`columns`,
//! `parquet`), written aside. Then a journal names what is to be done, so that whoever dies in
//! between leaves either everything or nothing of it done in the end (`journal`).

mod bucket;
mod columns;
mod journal;
mod known;
mod parquet;
mod retain;

use crate::disk::Disk;
use crate::error::Error;
use crate::segment::{self, Found, Reader, Rows};
pub use known::Known;
pub use retain::{Keep, Removed, retain};

use bucket::Buckets;
use journal::{Journal, LOCK};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// What a compaction may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Rows waiting to be written take no more than this, encoded: beyond, an hour gets several
    /// files.
    pub memory_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes_max: 24 << 20,
        }
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Segments that are compacted and gone.
    pub segments: u64,
    /// Segments that were left: they are being written.
    pub busy: u64,
    /// Bytes of the segments.
    pub bytes_in: u64,
    /// Rows read.
    pub rows_in: u64,
    /// Of these the rows that differ from the one before of their series.
    pub rows_changed: u64,
    /// Rows that were there twice.
    pub duplicates: u64,
    /// Rows written.
    pub rows_out: u64,
    /// Files written, and their bytes.
    pub files: u64,
    /// Bytes of these.
    pub bytes_out: u64,
    /// Bytes of segments that are no frames: copied to the folder `bad`.
    pub bytes_bad: u64,
    /// Bytes at the ends of segments whose writer died while it wrote them.
    pub bytes_torn: u64,
    /// Frames that could not be read, for themselves or because one before them is missing.
    pub frames_unread: u64,
    /// Rows that the writers say they could not keep.
    pub rows_lost: u64,
}

/// Compacts every segment of `dataset` that is not being written. `tell` hears of each one.
///
/// # Errors
/// Something could not be read or written: the segments that were not finished are still there.
/// [`Error::Busy`] if another compaction is under way.
pub fn compact<D: Disk>(
    disk: &D,
    dataset: &Path,
    options: Options,
    tell: &mut dyn FnMut(&Path, Summary),
) -> Result<Summary, Error> {
    let lock = lock(disk, dataset)?;
    let mut summary = Summary::default();
    Journal::recover(disk, dataset)?;
    let mut journal = Journal::new(dataset);
    let mut buckets = Buckets::default();
    for path in segments(dataset)? {
        let Some(file) = unused(&path)? else {
            summary.busy += 1;
            continue;
        };
        read_segment(disk, dataset, &path, &mut buckets, &mut summary)?;
        journal.removes(&path);
        // Locked until its rows are elsewhere, so that nobody compacts it twice.
        journal.holds(file);
        summary.segments += 1;
        tell(&path, summary);
        if buckets.bytes() > options.memory_bytes_max {
            write_all(disk, dataset, &mut buckets, &mut journal, &mut summary)?;
            journal.commit(disk)?;
        }
    }
    write_all(disk, dataset, &mut buckets, &mut journal, &mut summary)?;
    journal.commit(disk)?;
    drop(lock);
    Ok(summary)
}

fn lock<D: Disk>(disk: &D, dataset: &Path) -> Result<File, Error> {
    let path = dataset.join(LOCK);
    let opened = match disk.create(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => File::open(&path),
        other => other,
    };
    let file = opened.map_err(|source| Error::Open {
        path: path.clone(),
        source,
    })?;
    match crate::disk::try_lock(&file) {
        Ok(true) => Ok(file),
        Ok(false) => Err(Error::Busy {
            dataset: dataset.to_owned(),
        }),
        Err(source) => Err(Error::Open { path, source }),
    }
}

/// The segments of a dataset, by name: those of one writer in their order.
fn segments(dataset: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = dataset.join(segment::FOLDER);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other,
    };
    let read = |source| Error::Read {
        path: folder.clone(),
        source,
    };
    let mut paths = Vec::new();
    for entry in entries.map_err(read)? {
        let path = entry.map_err(read)?.path();
        if segment::is_segment(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The segment, locked; `None` if somebody writes it.
fn unused(path: &Path) -> Result<Option<File>, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    Ok(crate::disk::try_lock(&file)
        .map_err(failed)?
        .then_some(file))
}

fn read_segment<D: Disk>(
    disk: &D,
    dataset: &Path,
    path: &Path,
    buckets: &mut Buckets,
    summary: &mut Summary,
) -> Result<(), Error> {
    let length = fs::metadata(path).map_or(0, |data| data.len());
    summary.bytes_in += length;
    let Some(mut reader) = Reader::open(path)? else {
        summary.bytes_torn += length;
        return Ok(());
    };
    buckets.of(reader.origin());
    let mut rows = Rows::default();
    loop {
        match reader.read_next()? {
            Found::Frame { header, payload } => {
                // What could not be read is counted.
                let _ = rows.read(&header, payload, buckets);
            }
            Found::Bad { bytes, .. } => summary.bytes_bad += bytes,
            Found::End { torn } => {
                summary.bytes_torn += torn;
                break;
            }
        }
    }
    let counts = rows.counts();
    summary.rows_in += counts.rows;
    summary.rows_changed += counts.changed;
    summary.rows_lost += counts.lost;
    let unread = counts.unknown + counts.unlinked + counts.bad;
    summary.frames_unread += unread;
    if unread > 0 || summary.bytes_bad > 0 {
        journal::keep_bad(disk, dataset, path)?;
    }
    Ok(())
}

fn write_all<D: Disk>(
    disk: &D,
    dataset: &Path,
    buckets: &mut Buckets,
    journal: &mut Journal,
    summary: &mut Summary,
) -> Result<(), Error> {
    for bucket in buckets.take() {
        let (aside, place) = journal.next_file(dataset, &bucket);
        let written = parquet::write(disk, &aside, &bucket)?;
        summary.files += 1;
        summary.rows_out += written.rows;
        summary.duplicates += bucket.rows() - written.rows;
        summary.bytes_out += written.bytes;
        journal.renames(&aside, &place);
    }
    Ok(())
}
