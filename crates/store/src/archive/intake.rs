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
    /// Attempts that are new, and on the device.
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
    /// Whether a file of many was written, or will be.
    is_many: bool,
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
            is_many: false,
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
        match rows.0.len() {
            0 => {}
            // An end of many goes with them.
            1..=SINGLE_MAX if !self.is_many => {
                for (attempt, texts) in rows.0 {
                    self.archive.folder().add(&Stored::new(attempt, texts))?;
                    self.taken.new += 1;
                }
            }
            _ => self.write(rows)?,
        }
        Ok(())
    }

    /// Hands a file on to be written meanwhile.
    fn write(&mut self, rows: Rows) -> Result<(), Error> {
        self.is_many = true;
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
                let done = Done::default().and(rows, self.archive.folder());
                self.count(done)
            }
        }
    }

    /// Waits until all is written that was handed on.
    fn written(&mut self) -> Result<(), Error> {
        match self.writer.take() {
            Some(writer) => self.count(writer.end()),
            None => Ok(()),
        }
    }

    fn count(&mut self, done: Done) -> Result<(), Error> {
        self.taken.new += done.attempts;
        match done.failed {
            None => Ok(()),
            Some(error) => {
                // Some of these are not there: who tells them again is to be heard.
                self.seen.clear();
                Err(error)
            }
        }
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
    thread: JoinHandle<Done>,
}

/// How many attempts were written, and why no more were.
#[derive(Debug, Default)]
struct Done {
    attempts: u64,
    failed: Option<Error>,
}

impl Done {
    fn and(mut self, rows: Rows, folder: &Folder) -> Self {
        let attempts = rows.0.len() as u64;
        match rows.write(folder) {
            Ok(_) => self.attempts += attempts,
            Err(error) => self.failed = Some(error),
        }
        self
    }
}

impl Writer {
    fn begin(folder: &Folder) -> io::Result<Self> {
        // One file is written, one fills: no more are held.
        let (rows, coming) = mpsc::sync_channel::<Rows>(0);
        let folder = folder.clone();
        let write = move || {
            let mut done = Done::default();
            while done.failed.is_none()
                && let Ok(rows) = coming.recv()
            {
                done = done.and(rows, &folder);
            }
            done
        };
        let named = thread::Builder::new().name("pack".to_owned());
        Ok(Self {
            thread: named.spawn(write)?,
            rows,
        })
    }

    fn end(self) -> Done {
        drop(self.rows);
        match self.thread.join() {
            Ok(done) => done,
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::ops::Range;

    fn take(intake: &mut Intake<'_>, numbers: Range<u64>) -> usize {
        let mut new = 0;
        for number in numbers {
            let attempt = Attempt {
                id: format!("{number:032x}"),
                ..Attempt::default()
            };
            new += usize::from(intake.take(attempt, Texts::default()).unwrap());
        }
        new
    }

    #[test]
    fn what_could_not_be_written_is_not_counted_and_may_come_again() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::create(home.path()).unwrap();
        let packed = folder.packed();
        let mut archive = Archive::open(folder, None).unwrap();
        let mut intake = archive.intake();
        assert_eq!(take(&mut intake, 0..100), 100);
        intake.flush().unwrap();
        intake.written().unwrap();
        assert_eq!(intake.taken, Taken { new: 100, known: 0 });
        let aside = home.path().join("aside");
        fs::rename(&packed, &aside).unwrap();
        fs::write(&packed, "in the way").unwrap();
        assert_eq!(take(&mut intake, 100..200), 100);
        intake.flush().unwrap();
        intake.written().unwrap_err();
        assert_eq!(intake.taken, Taken { new: 100, known: 0 });
        fs::remove_file(&packed).unwrap();
        fs::rename(&aside, &packed).unwrap();
        assert_eq!(take(&mut intake, 100..200), 100);
        let taken = intake.end(SystemTime::now()).unwrap();
        assert_eq!(taken, Taken { new: 200, known: 0 });
        assert_eq!(archive.count().unwrap(), (200, 0));
    }
}
