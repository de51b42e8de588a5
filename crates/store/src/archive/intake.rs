//! Taking in many attempts at once: those that are there already are left out.

use super::Texts;
use super::folder::{Stored, is_id};
use super::whole::Archive;
use super::write::Rows;
use crate::Error;
use record::attempt::Attempt;
use std::collections::HashSet;
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
}

impl<'a> Intake<'a> {
    pub(super) fn new(archive: &'a mut Archive) -> Self {
        Self {
            archive,
            rows: Rows::default(),
            bytes: 0,
            seen: HashSet::new(),
            taken: Taken::default(),
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
        if !self.seen.insert(digits) || self.archive.has(&attempt.id)? {
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
            _ => {
                rows.write(folder)?;
            }
        }
        Ok(())
    }
}

/// What an attempt takes in memory, about.
pub(super) fn weight(attempt: &Attempt, texts: &Texts) -> usize {
    let command: usize = attempt.command.iter().map(|word| word.len() + 24).sum();
    let parents: usize = attempt.parents.iter().map(|word| word.len() + 24).sum();
    ROW_BYTES + command + parents + texts.bytes()
}
