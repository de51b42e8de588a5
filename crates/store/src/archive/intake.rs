//! Taking in many attempts at once: those that are there already are left out.

use super::Texts;
use super::folder::{Folder, Stored, is_id};
use super::whole::Archive;
use super::write::Rows;
use crate::Error;
use record::attempt::Attempt;
use std::collections::HashSet;
use std::io;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

/// So few attempts get a file each.
const SINGLE_MAX: usize = 64;

/// A file of many has so many attempts, and so many bytes of texts, at most.
pub(super) const FILE_ROWS: usize = 250_000;
pub(super) const FILE_BYTES: usize = 256 << 20;

/// What a row weighs beside its texts.
const ROW_BYTES: usize = 1 << 10;

/// What became of what was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Attempts that are new.
    pub new: u64,
    /// Attempts that were there.
    pub known: u64,
}

/// Attempts that are being taken in.
#[derive(Debug)]
pub struct Intake<'a> {
    archive: &'a mut Archive,
    rows: Rows,
    bytes: usize,
    seen: HashSet<u128>,
    taken: Taken,
    /// Whether the archive had nothing before, once that was asked.
    is_first: Option<bool>,
    writer: Option<Writer>,
}

impl<'a> Intake<'a> {
    pub(super) fn new(archive: &'a mut Archive) -> Self {
        Self {
            archive,
            rows: Rows::default(),
            bytes: 0,
            seen: HashSet::new(),
            taken: Taken::default(),
            is_first: None,
            writer: None,
        }
    }

    /// One more attempt, with what it brings; whether it is new.
    ///
    /// # Errors
    /// If its id is none, or a file cannot be written.
    pub fn take(&mut self, attempt: Attempt, texts: Texts) -> Result<bool, Error> {
        let digits = u128::from_str_radix(&attempt.id, 16).ok();
        let Some(digits) = digits.filter(|_| is_id(&attempt.id)) else {
            return Err(Error::Id { id: attempt.id });
        };
        if !self.seen.insert(digits) || self.had(&attempt.id)? {
            self.taken.known += 1;
            return Ok(false);
        }
        self.taken.new += 1;
        self.bytes += weight(&attempt, &texts);
        self.rows.0.push((attempt, texts));
        if self.rows.0.len() >= FILE_ROWS || self.bytes >= FILE_BYTES {
            self.flush()?;
        }
        Ok(true)
    }

    /// Whether the archive had it before.
    fn had(&mut self, id: &str) -> Result<bool, Error> {
        let is_first = match self.is_first {
            Some(is_first) => is_first,
            None => *self.is_first.insert(self.archive.catalogue().is_empty()?),
        };
        Ok(!is_first && self.archive.catalogue().has(id)?)
    }

    /// What was taken in so far.
    pub fn taken(&self) -> Taken {
        self.taken
    }

    /// Writes what is left, and learns where all of it is. Then everything that was given is on the
    /// device, also what was there: who wrote that may not have come so far.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn end(mut self, now: SystemTime) -> Result<Taken, Error> {
        self.flush()?;
        if self.writer.is_some() {
            // The files before are there, as the last one is written.
            self.archive.learn(now)?;
        }
        self.written()?;
        let taken = self.taken;
        self.archive.folder().settle(self.seen.iter().copied())?;
        self.archive.learn(now)?;
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let folder = self.archive.folder();
        match rows.0.len() {
            0 => {}
            // An end of many goes with them.
            1..=SINGLE_MAX if self.taken.new <= SINGLE_MAX as u64 => {
                for (attempt, texts) in rows.0 {
                    folder.add(&Stored::new(attempt, texts))?;
                }
            }
            _ => self.write(rows)?,
        }
        Ok(())
    }

    /// Hands a file on to be written meanwhile.
    fn write(&mut self, rows: Rows) -> Result<(), Error> {
        if self.writer.is_none() {
            self.writer = Writer::begin(self.archive.folder()).ok();
        }
        let handed = match &self.writer {
            Some(writer) => writer.rows.send(rows).map_err(|refused| refused.0),
            None => Err(rows),
        };
        match handed {
            Ok(()) => Ok(()),
            // There may be no more threads, or that one failed, and says why.
            Err(rows) => {
                self.written()?;
                rows.write(self.archive.folder()).map(drop)
            }
        }
    }

    /// Waits until all is written that was handed on.
    fn written(&mut self) -> Result<(), Error> {
        self.writer.take().map_or(Ok(()), Writer::end)
    }
}

impl Drop for Intake<'_> {
    fn drop(&mut self) {
        // Whoever leaves off in the middle has an error to tell.
        let _ = self.written();
    }
}

/// Writes files of many while the next attempts come.
#[derive(Debug)]
struct Writer {
    rows: SyncSender<Rows>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Writer {
    fn begin(folder: &Folder) -> io::Result<Self> {
        // One file is written, one fills: no more are held.
        let (rows, coming) = mpsc::sync_channel::<Rows>(0);
        let folder = folder.clone();
        let write = move || {
            let mut coming = coming.into_iter();
            coming.try_for_each(|rows| rows.write(&folder).map(drop))
        };
        let named = thread::Builder::new().name("pack".to_owned());
        Ok(Self {
            thread: named.spawn(write)?,
            rows,
        })
    }

    fn end(self) -> Result<(), Error> {
        drop(self.rows);
        match self.thread.join() {
            Ok(written) => written,
            Err(panicked) => std::panic::resume_unwind(panicked),
        }
    }
}

/// What an attempt takes in memory, about.
pub(super) fn weight(attempt: &Attempt, texts: &Texts) -> usize {
    let command: usize = attempt.command.iter().map(|word| word.len() + 24).sum();
    let parents: usize = attempt.parents.iter().map(|word| word.len() + 24).sum();
    ROW_BYTES + command + parents + texts.bytes()
}
