//! The writing end of a dataset's live segments.
//!
//! A full disk costs frames, which are counted, never the sampling: a frame that did not fit is cut
//! off again, and the next one is tried. What is there already is left alone.

use super::{MAGIC, ORIGIN, Origin, name};
use crate::disk::Disk;
use crate::error::Error;
use record::codec::frame::{self, Header, PAYLOAD_BYTES_MAX};
use record::unit::Nanos;
use std::fs::File;
use std::path::{Path, PathBuf};

/// When the rows of a frame were read, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instant {
    /// `CLOCK_BOOTTIME` when the reading began.
    pub at: Nanos,
    /// What to add for the time of day, nanoseconds.
    pub real_offset_ns: i64,
    /// How long the reading took.
    pub span: Nanos,
}

/// How segments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A segment that is this large is closed and the next one begun.
    pub segment_bytes_max: u64,
    /// The same for one that is this old.
    pub segment_age_max: Nanos,
    /// What was written is brought to the device this often.
    pub sync_period: Nanos,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes_max: 64 << 20,
            segment_age_max: Nanos::from_secs(3600),
            sync_period: Nanos::from_secs(5),
        }
    }
}

/// What was lost is told again no sooner: to tell everything is dear, and room may come and go.
const BETWEEN_TELLINGS: Nanos = Nanos::from_secs(60);

/// A segment that is being written.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    bytes: u64,
    begun: Nanos,
    synced: Nanos,
    is_dirty: bool,
}

/// Writes the frames of one stream.
#[derive(Debug)]
pub struct Writer<D: Disk> {
    disk: D,
    dataset: PathBuf,
    origin: Origin,
    options: Options,
    number: u64,
    open: Option<Open>,
    seq: u64,
    /// Rows that could not be written since the last frame that was, and of all times.
    lost: u32,
    lost_total: u64,
    /// A frame of this segment could not be written: what it said has to be said again.
    owes: bool,
    /// But not before this.
    owed_from: Nanos,
    bytes_total: u64,
    buffer: Vec<u8>,
}

impl<D: Disk> Writer<D> {
    /// A writer of `origin` below the folder `dataset`, which is made if it is missing. Its first
    /// segment comes with its first frame.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(disk: D, dataset: &Path, origin: Origin, options: Options) -> Result<Self, Error> {
        let folder = dataset.join(name::FOLDER);
        disk.make_folder(&folder).map_err(|source| Error::Open {
            path: folder,
            source,
        })?;
        Ok(Self {
            disk,
            dataset: dataset.to_owned(),
            origin,
            options,
            number: 0,
            open: None,
            seq: 0,
            lost: 0,
            lost_total: 0,
            owes: false,
            owed_from: Nanos(0),
            bytes_total: 0,
            buffer: Vec::new(),
        })
    }

    /// A segment that is this old is closed from now on, the one that is open too.
    pub fn set_segment_age(&mut self, most: Nanos) {
        self.options.segment_age_max = most;
    }

    /// Whether everything must be told anew, series by key frames: the next frame is the first one
    /// of its segment, which must not need another to be read, or the first one after some that
    /// could not be written. Begins that segment.
    ///
    /// # Errors
    /// It cannot be made: the rows of this pass are lost, call [`Writer::lose`].
    pub fn begin(&mut self, now: Nanos) -> Result<bool, Error> {
        let is_over = |open: &Open| {
            open.bytes >= self.options.segment_bytes_max
                || now.since(open.begun) >= self.options.segment_age_max
        };
        if self.open.as_ref().is_some_and(is_over) {
            self.close()?;
        }
        if self.open.is_some() {
            // Where there was no room: there is again once a frame was written.
            let is_due = self.owes && self.lost == 0 && now >= self.owed_from;
            if is_due {
                (self.owes, self.owed_from) = (false, now.plus(BETWEEN_TELLINGS));
            }
            return Ok(is_due);
        }
        self.open_next(now)?;
        self.owes = false;
        Ok(true)
    }

    fn open_next(&mut self, now: Nanos) -> Result<(), Error> {
        // Another writer of this boot may have had our stream, and died.
        let (path, file) = loop {
            self.number += 1;
            let path = name::path(&self.dataset, &self.origin, self.number);
            match self.disk.create(&path) {
                Ok(file) => {
                    // Who compacts leaves it alone as long as we have it. Where a file system has
                    // no locks, nobody else compacts what is not closed either.
                    drop(crate::disk::try_lock(&file));
                    break (path, file);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Error::Open { path, source }),
            }
        };
        let mut open = Open {
            file,
            path,
            bytes: 0,
            begun: now,
            synced: now,
            is_dirty: true,
        };
        let origin = serde_json::to_vec(&self.origin).map_err(|source| Error::Encode {
            format: "segment",
            source,
        })?;
        let header = Header {
            table: ORIGIN,
            stream: self.origin.stream,
            at_ns: now.0,
            ..Header::default()
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(&MAGIC);
        frame::put(&mut self.buffer, &header, &origin);
        let written = append(&self.disk, &mut open, &self.buffer);
        if written.is_err() {
            // Without a beginning it is no segment.
            drop(self.disk.remove(&open.path));
        }
        written?;
        self.open = Some(open);
        Ok(())
    }

    /// Appends a frame with so many `rows` of a table; chain and link are those of its series.
    ///
    /// # Errors
    /// It could not be written and is not there: its rows are counted as lost, and the next frame
    /// of its table must be a key frame.
    pub fn frame(
        &mut self,
        (table, is_key): (u8, bool),
        (chain, link): (u32, u32),
        when: Instant,
        (payload, rows): (&[u8], u32),
    ) -> Result<(), Error> {
        let Some(open) = self
            .open
            .as_mut()
            .filter(|_| payload.len() <= PAYLOAD_BYTES_MAX)
        else {
            self.lose(rows);
            return Ok(());
        };
        let header = Header {
            table,
            is_key,
            stream: self.origin.stream,
            seq: self.seq,
            at_ns: when.at.0,
            real_offset_ns: when.real_offset_ns,
            span_ns: u32::try_from(when.span.0).unwrap_or(u32::MAX),
            chain,
            link,
            lost: self.lost,
        };
        self.buffer.clear();
        frame::put(&mut self.buffer, &header, payload);
        match append(&self.disk, open, &self.buffer) {
            Ok(()) => {
                (self.seq, self.lost) = (self.seq + 1, 0);
                self.bytes_total += self.buffer.len() as u64;
                Ok(())
            }
            Err(error) => {
                self.seq += 1;
                self.owes = true;
                self.lose(rows);
                Err(error)
            }
        }
    }

    /// So many rows could not be kept: the next frame says so.
    pub fn lose(&mut self, rows: u32) {
        self.lost = self.lost.saturating_add(rows);
        self.lost_total += u64::from(rows);
    }

    /// Brings what was written to the device, if it is time to.
    ///
    /// # Errors
    /// The device did not take it.
    pub fn sync_if_due(&mut self, now: Nanos) -> Result<(), Error> {
        let period = self.options.sync_period;
        match &mut self.open {
            Some(open) if open.is_dirty && now.since(open.synced) >= period => {
                open.synced = now;
                sync(&self.disk, open)
            }
            _ => Ok(()),
        }
    }

    /// Closes the segment, what was written on the device.
    ///
    /// # Errors
    /// The device did not take it.
    pub fn close(&mut self) -> Result<(), Error> {
        match self.open.take() {
            Some(mut open) => sync(&self.disk, &mut open),
            None => Ok(()),
        }
    }

    /// Rows that could not be written, of all times.
    pub const fn lost_total(&self) -> u64 {
        self.lost_total
    }

    /// Bytes written, of all times.
    pub const fn bytes_total(&self) -> u64 {
        self.bytes_total
    }

    /// The segment that is being written.
    pub fn path(&self) -> Option<&Path> {
        self.open.as_ref().map(|open| open.path.as_path())
    }
}

/// Appends whole or not at all.
fn append<D: Disk>(disk: &D, open: &mut Open, bytes: &[u8]) -> Result<(), Error> {
    match disk.append(&mut open.file, bytes) {
        Ok(()) => {
            open.bytes += bytes.len() as u64;
            open.is_dirty = true;
            Ok(())
        }
        Err(source) => {
            // If that fails too, readers pass over the part of a frame.
            drop(disk.cut(&open.file, open.bytes));
            Err(Error::Write {
                path: open.path.clone(),
                source,
            })
        }
    }
}

fn sync<D: Disk>(disk: &D, open: &mut Open) -> Result<(), Error> {
    open.is_dirty = false;
    disk.sync(&open.file).map_err(|source| Error::Write {
        path: open.path.clone(),
        source,
    })
}
