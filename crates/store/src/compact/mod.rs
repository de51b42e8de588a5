//! Compaction: live segments to sorted Parquet files in hive folders
//! `kind=TABLE/date=YYYY-MM-DD/hour=H`.
//!
//! The rows of a segment are told apart by table and hour and kept by series in little memory
//! (`bucket`); each bucket becomes one file, sorted by host, boot, series and time (`columns`,
//! `parquet`), written aside. Then a journal names what is to be done, so that whoever dies in
//! between leaves either everything or nothing of it done in the end (`journal`). The files of an
//! hour that several nodes or compactions wrote are made one (`merge`).

mod bucket;
mod columns;
mod damage;
mod footer;
mod hive;
mod journal;
mod known;
mod merge;
mod parquet;
mod retain;
mod snapshot;
mod stream;

use crate::disk::Disk;
use crate::error::Error;
use crate::segment::{self, Beginning, Found, Origin, Reader, Rows};
pub use known::Known;
use record::unit::Nanos;
pub use retain::{Keep, Removed, retain};
pub use snapshot::{PartFile, Snapshot};

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
    /// Which hours are made one file; nothing for none.
    pub merge: Option<Merge>,
}

/// Which hours are made one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    /// Those that have so many files of a table, at least two.
    pub files: usize,
    /// The time of day since 1970: an hour that is not over gets more.
    pub now: Nanos,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory_bytes_max: 23 << 20,
            merge: None,
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
    /// Bytes at the ends of segments whose writer died while it wrote them, or that are damaged
    /// and look the same.
    pub bytes_torn: u64,
    /// Frames that could not be read, for themselves or because one before them is missing.
    pub frames_unread: u64,
    /// Rows that the writers say they could not keep.
    pub rows_lost: u64,
    /// Files that were made one with others, what they became, and the rows that were in them.
    pub files_merged: u64,
    /// See above.
    pub files_of_merges: u64,
    /// See above.
    pub rows_merged: u64,
    /// Files that were left as they are: one of the hour is of a later version.
    pub files_later: u64,
    /// Files that stay as they are: they were to be made one with others and could not be read, or
    /// are segments of a later version.
    pub files_unread: u64,
}

/// What is heard of a compaction while it is under way.
#[derive(Debug)]
pub enum Step<'a> {
    /// So much is done.
    Done(Summary),
    /// What was written is no longer held: whoever pays for memory may give it back now.
    Freed,
    /// A file could not be read, and stays as it is; of a segment whose beginning is damaged there
    /// is a copy, and it goes ([`Error::Damaged`]).
    Unread(&'a Error),
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
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<Summary, Error> {
    let lock = lock(disk, dataset)?;
    Journal::recover(disk, dataset)?;
    let mut work = Work {
        disk,
        dataset,
        options,
        buckets: Buckets::default(),
        journal: Journal::new(dataset),
        summary: Summary::default(),
    };
    let segments = segments(dataset)?;
    for path in &segments {
        let Some(file) = unused(path)? else {
            work.summary.busy += 1;
            continue;
        };
        if !work.segment(path, &segments, tell)? {
            continue;
        }
        work.journal.removes(path);
        // Locked until its rows are elsewhere, so that nobody compacts it twice.
        work.journal.holds(file);
        work.summary.segments += 1;
        tell(Step::Done(work.summary));
        if work.is_full() {
            work.write_all()?;
            work.journal.commit(disk)?;
            tell(Step::Freed);
        }
    }
    work.write_all()?;
    work.journal.commit(disk)?;
    tell(Step::Freed);
    let mut summary = work.summary;
    merge::merge(disk, dataset, options, &mut summary, tell)?;
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

/// A compaction under way.
struct Work<'a, D> {
    disk: &'a D,
    dataset: &'a Path,
    options: Options,
    buckets: Buckets,
    journal: Journal,
    summary: Summary,
}

impl<D: Disk> Work<'_, D> {
    fn is_full(&self) -> bool {
        self.buckets.bytes() > self.options.memory_bytes_max
    }

    /// Takes what a segment has, of all `segments`; `false` if it has to stay where it is.
    fn segment(
        &mut self,
        path: &Path,
        segments: &[PathBuf],
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<bool, Error> {
        let length = fs::metadata(path).map_or(0, |data| data.len());
        let is_whole = match Reader::begin(path)? {
            Beginning::Whole(reader) => {
                let origin = reader.origin().clone();
                self.rows(reader, &origin)?
            }
            Beginning::Torn => {
                self.summary.bytes_torn += length;
                true
            }
            Beginning::Later => {
                self.summary.files_unread += 1;
                let path = path.to_owned();
                tell(Step::Unread(&Error::Later { path }));
                return Ok(false);
            }
            Beginning::Damaged => {
                self.damaged(path, segments, tell)?;
                true
            }
        };
        self.summary.bytes_in += length;
        if !is_whole {
            damage::keep(self.disk, self.dataset, path)?;
        }
        Ok(true)
    }

    /// Keeps a segment whose beginning is damaged, and takes the rows that are behind the damage
    /// if it can be known whose they are.
    fn damaged(
        &mut self,
        path: &Path,
        segments: &[PathBuf],
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<(), Error> {
        let copy = damage::keep(self.disk, self.dataset, path)?;
        let before = self.summary.rows_in;
        match damage::origin(path, segments)? {
            Some(origin) => {
                // That not all of it can be read is known.
                let _ = self.rows(Reader::at_front(path)?, &origin)?;
            }
            None => self.summary.bytes_bad += fs::metadata(path).map_or(0, |data| data.len()),
        }
        let path = path.to_owned();
        let rows = self.summary.rows_in - before;
        tell(Step::Unread(&Error::Damaged { path, copy, rows }));
        Ok(())
    }

    /// Takes the rows of a segment; whether all of it could be read. What does not fit into memory
    /// is written aside meanwhile.
    fn rows(&mut self, mut reader: Reader, origin: &Origin) -> Result<bool, Error> {
        self.buckets.of(origin);
        let (mut rows, mut bad) = (Rows::default(), 0);
        loop {
            match reader.read_next()? {
                // Behind damaged magic bytes.
                Found::Frame { header, payload }
                    if header.table == segment::ORIGIN && origin.is_told_by(payload) => {}
                Found::Frame { header, payload } => {
                    // What could not be read is counted.
                    let _ = rows.read(&header, payload, &mut self.buckets);
                }
                Found::Bad { bytes, .. } => bad += bytes,
                Found::End { torn } => {
                    self.summary.bytes_torn += torn;
                    break;
                }
            }
            if self.is_full() {
                self.write_all()?;
            }
        }
        let counts = rows.counts();
        self.summary.rows_in += counts.rows;
        self.summary.rows_changed += counts.changed;
        self.summary.rows_lost += counts.lost;
        self.summary.bytes_bad += bad;
        let unread = counts.unknown + counts.unlinked + counts.bad;
        self.summary.frames_unread += unread;
        Ok(unread == 0 && bad == 0)
    }

    /// Writes all buckets aside.
    fn write_all(&mut self) -> Result<(), Error> {
        for bucket in self.buckets.take() {
            let aside = self.journal.next_file(self.dataset);
            let written = parquet::write(self.disk, &aside, &bucket)?;
            let name = bucket.table.name;
            let place = hive::place(self.dataset, name, bucket.hour, written.digest);
            self.summary.files += 1;
            self.summary.rows_out += written.rows;
            self.summary.duplicates += bucket.rows() - written.rows;
            self.summary.bytes_out += written.bytes;
            self.journal.renames(&aside, &place);
        }
        Ok(())
    }
}
