//! A whole archive: asked, filled and packed.

use super::Texts;
use super::batch::{Batch, values_of};
use super::catalogue::{Catalogue, Damaged, Known};
use super::filter::Filter;
use super::folder::{Folder, Stored};
use super::intake::{FILE_BYTES, FILE_ROWS, Intake, weight};
use super::kept;
use super::newest::{self, Passed};
use super::pack::{Columns, Pack};
use super::sets::SetFile;
use super::write::Rows;
use crate::Error;
use record::attempt::Attempt;
use rusqlite::Transaction;
use std::cell::Cell;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

/// A file with fewer attempts is put together with others.
const SMALL_ROWS: u64 = 50_000;

/// Attempts with a file of their own are looked at so many at a time.
const LOOSE_ROWS: usize = 4096;

/// An archive with its catalogue.
#[derive(Debug)]
pub struct Archive {
    folder: Folder,
    catalogue: Catalogue,
    /// When it was looked at last.
    now: Cell<SystemTime>,
}

/// Files that others packed are looked for so often.
const TRIES: usize = 8;

/// What an archive held at one time: two that are alike answer every question alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    catalogue: (String, i64),
    sets: Vec<SetFile>,
}

/// What packing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packed {
    /// Attempts that are in another file now.
    pub attempts: u64,
    /// Files that were written.
    pub written: u64,
    /// Files that were removed.
    pub removed: u64,
}

/// Looks at some rows: which of them are wanted, and goes on or not.
pub type Each<'a> = dyn FnMut(&Batch<'_>, &[usize]) -> Result<ControlFlow<()>, Error> + 'a;

impl Archive {
    /// With the catalogue in this file, or made in memory.
    ///
    /// # Errors
    /// If the catalogue cannot be used.
    pub fn open(folder: Folder, catalogue: Option<&Path>) -> Result<Self, Error> {
        Ok(Self {
            catalogue: Catalogue::open(catalogue)?,
            folder,
            now: Cell::new(SystemTime::UNIX_EPOCH),
        })
    }

    /// The same, with all that came until now. A catalogue that cannot be used, for it is spoiled,
    /// in use all the time or on a full disk, is made anew or done without: it is a cache.
    ///
    /// # Errors
    /// If files cannot be listed or read; [`Error::Interrupted`].
    pub fn open_refreshed(
        folder: &Folder,
        catalogue: Option<&Path>,
        now: SystemTime,
        heed: &dyn Fn(u64) -> bool,
    ) -> Result<Self, Error> {
        let open = |catalogue| {
            let archive = Self::open(folder.clone(), catalogue)?;
            archive.refresh(now, heed)?;
            Ok(archive)
        };
        let Some(path) = catalogue else {
            return open(None);
        };
        let opened = match open(Some(path)) {
            Err(error) if kept::is_spoiled(&error) => {
                kept::renew(path).and_then(|()| open(Some(path)))
            }
            opened => opened,
        };
        match opened {
            Err(Error::Interrupted) => Err(Error::Interrupted),
            // What is wrong with the archive itself is wrong without a catalogue too.
            Err(_) => open(None),
            Ok(archive) => Ok(archive),
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Learns what came and went; `heed` is told how many attempts were looked at, and says whether
    /// to go on.
    ///
    /// # Errors
    /// If files cannot be listed or read; [`Error::Interrupted`].
    pub fn refresh(&self, now: SystemTime, heed: &dyn Fn(u64) -> bool) -> Result<(), Error> {
        self.now.set(now);
        self.catalogue.refresh(&self.folder, now, heed)
    }

    /// The same after something was written: what a catalogue cannot take then, as on a full disk,
    /// is learned by whoever asks next.
    pub(super) fn learn(&self, now: SystemTime) -> Result<(), Error> {
        match self.refresh(now, &|_| true) {
            Err(Error::Catalogue { .. }) => Ok(()),
            learned => learned,
        }
    }

    /// What it holds, as far as it was learned.
    ///
    /// # Errors
    /// If the catalogue cannot be used or the sets cannot be listed.
    pub fn revision(&self) -> Result<Revision, Error> {
        Ok(Revision {
            catalogue: self.catalogue.revision()?,
            sets: self.folder.set_files()?,
        })
    }

    /// How many attempts are in files of many, and how many have one of their own.
    ///
    /// # Errors
    /// If the catalogue cannot be used.
    pub fn count(&self) -> Result<(u64, u64), Error> {
        self.catalogue.count()
    }

    /// Files that cannot be understood: nothing in them is counted.
    ///
    /// # Errors
    /// If the catalogue cannot be used.
    pub fn damaged(&self) -> Result<Vec<Damaged>, Error> {
        let mut damaged = self.catalogue.damaged()?;
        let sets = self.folder.damaged_sets()?.into_iter();
        damaged.extend(sets.map(|(path, error)| Damaged::of(&path, &error)));
        Ok(damaged)
    }

    /// What was learned.
    pub(super) fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Begins to take in many attempts.
    pub fn intake(&mut self) -> Intake<'_> {
        Intake::new(self)
    }

    /// Gives the rows that are wanted, with these columns, in pieces.
    ///
    /// # Errors
    /// If files cannot be read, and what `each` fails with.
    pub fn scan(
        &self,
        columns: &[&str],
        filter: &Filter,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let (_held, packs) = self.hold_packs()?;
        self.scan_held(&packs, &[], columns, filter, each)
    }

    /// Gives of the rows that are wanted at least the `newest` ones, by their end, else their
    /// beginning, in the same order as [`Archive::scan`]; how many there are of all.
    ///
    /// # Errors
    /// If files cannot be read, and what `each` fails with.
    pub fn scan_newest(
        &self,
        columns: &[&str],
        filter: &Filter,
        newest: usize,
        each: &mut Each<'_>,
    ) -> Result<u64, Error> {
        let (_held, packs) = self.hold_packs()?;
        let files = packs.iter().map(|(pack, known)| (pack, &known.again));
        let passed = match filter.category_alone() {
            Some(category) => newest::passed(files, category, newest),
            None => Passed::default(),
        };
        let mut rows_all = passed.rows;
        self.scan_held(
            &packs,
            &passed.groups,
            columns,
            filter,
            &mut |batch, rows| {
                rows_all += rows.len() as u64;
                each(batch, rows)
            },
        )?;
        Ok(rows_all)
    }

    /// The same of files that are held, but for the row groups that are passed over in each.
    fn scan_held(
        &self,
        packs: &[(Pack, Known)],
        passed: &[Vec<usize>],
        columns: &[&str],
        filter: &Filter,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        let mut names: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let tests = filter.tests(&mut names);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let columns = Columns::named(&names);
        let categories = filter.category_range();
        for (place, (pack, known)) in packs.iter().enumerate() {
            let passed = passed.get(place).map_or(&[][..], Vec::as_slice);
            let done = pack.scan(&columns, categories, passed, &mut |batch| {
                let is_wanted = |row: &usize| {
                    let again = known.again.contains(&(batch.first + *row as u64));
                    !again && tests.hold(batch, *row)
                };
                let rows: Vec<usize> = (0..batch.rows()).filter(is_wanted).collect();
                match rows.is_empty() {
                    true => Ok(ControlFlow::Continue(())),
                    false => each(batch, &rows),
                }
            })?;
            if done.is_break() {
                return Ok(());
            }
        }
        let mut give = |rows: &mut Vec<(Attempt, Texts)>| {
            let values = values_of(&columns, rows);
            let batch = Batch::new(&columns, &values, rows.len(), 0);
            let wanted: Vec<usize> = (0..rows.len())
                .filter(|row| tests.hold(&batch, *row))
                .collect();
            rows.clear();
            match wanted.is_empty() {
                true => Ok(ControlFlow::Continue(())),
                false => each(&batch, &wanted),
            }
        };
        let mut rows = Vec::new();
        let done = self
            .catalogue
            .loose(filter.category.as_deref(), &mut |attempt| {
                rows.push((attempt, Texts::default()));
                match rows.len() >= LOOSE_ROWS {
                    true => give(&mut rows),
                    false => Ok(ControlFlow::Continue(())),
                }
            })?;
        if done.is_continue() {
            let _ = give(&mut rows)?;
        }
        Ok(())
    }

    /// The catalogue as it is now, and its files: all are open, so that one that another packs
    /// meanwhile is still there.
    fn hold_packs(&self) -> Result<(Transaction<'_>, Vec<(Pack, Known)>), Error> {
        for _ in 1..TRIES {
            match self.try_hold_packs() {
                // It was packed after the catalogue was made: there is a new one.
                Err(error) if is_gone(&error) => self.refresh(self.now.get(), &|_| true)?,
                held => return held,
            }
        }
        self.try_hold_packs()
    }

    fn try_hold_packs(&self) -> Result<(Transaction<'_>, Vec<(Pack, Known)>), Error> {
        let held = self.catalogue.hold()?;
        let mut packs = Vec::new();
        for known in self.catalogue.packs()? {
            packs.push((self.open_pack(&known)?, known));
        }
        Ok((held, packs))
    }

    fn open_pack(&self, known: &Known) -> Result<Pack, Error> {
        Pack::open(&self.folder.packed().join(&known.name))
    }

    /// The attempts whose ids begin so, at most so many, with their reports.
    ///
    /// # Errors
    /// If files cannot be read.
    pub fn find(&self, prefix: &str, most: usize) -> Result<Vec<Stored>, Error> {
        for _ in 1..TRIES {
            match self.try_find(prefix, most)? {
                // Another packs them.
                None => self.refresh(self.now.get(), &|_| true)?,
                Some(found) => return Ok(found),
            }
        }
        Ok(self.try_find(prefix, most)?.unwrap_or_default())
    }

    /// None where one of them is no longer where it was.
    fn try_find(&self, prefix: &str, most: usize) -> Result<Option<Vec<Stored>>, Error> {
        let mut found = Vec::new();
        for one in self.catalogue.find(prefix, most)? {
            let stored = match one.packed {
                None => self.folder.read(&one.id)?,
                Some((name, row)) => match Pack::open(&self.folder.packed().join(name)) {
                    Err(error) if is_gone(&error) => None,
                    pack => row_of(&pack?, row, &one.id)?,
                },
            };
            match stored {
                None => return Ok(None),
                Some(stored) => found.push(stored),
            }
        }
        Ok(Some(found))
    }

    /// Puts attempts with files of their own together, and small files of many; whoever adds
    /// meanwhile loses nothing. `heed` is told how many attempts were written.
    ///
    /// # Errors
    /// If files cannot be read, written or removed; [`Error::Interrupted`], at which point all that
    /// was written stays.
    pub fn pack(&mut self, now: SystemTime, heed: &dyn Fn(u64) -> bool) -> Result<Packed, Error> {
        self.refresh(now, &|_| heed(0))?;
        let small = self.small_packs()?;
        let mut packing = Packing {
            folder: &self.folder,
            rows: Rows::default(),
            bytes: 0,
            singles: Vec::new(),
            names: Vec::new(),
            seen: HashSet::new(),
            packed: Packed::default(),
            heed,
        };
        for known in &small {
            let pack = match self.open_pack(known) {
                // Another packed it meanwhile.
                Err(error) if is_gone(&error) => continue,
                pack => pack?,
            };
            pack.all(&Columns::all(), &mut |batch| {
                for row in 0..batch.rows() {
                    packing.push(batch.attempt(row), batch.brought(row))?;
                }
                Ok(())
            })?;
        }
        let packed = self.packed_ids()?;
        for id in self.catalogue.loose_ids()? {
            if packed.contains(&id) {
                packing.singles.push(id);
            } else if let Some(stored) = self.folder.read(&id)? {
                packing.singles.push(id);
                let (attempt, texts) = stored.parts();
                packing.push(attempt, texts)?;
            }
        }
        packing.flush()?;
        let (mut packed, written) = (packing.packed, packing.names);
        for known in &small {
            // The same attempts make a file of the same name.
            if !written.contains(&known.name) {
                super::folder::remove(&self.folder.packed().join(&known.name))?;
                packed.removed += 1;
            }
        }
        self.folder.sweep(now)?;
        self.learn(now)?;
        Ok(packed)
    }

    /// The attempts with a file of their own that are in one of many too, by what is in that: their
    /// own files are removed for it, so that the word of a cache is not enough.
    fn packed_ids(&self) -> Result<HashSet<String>, Error> {
        let mut packed = HashSet::new();
        for (name, ids) in self.catalogue.in_both()? {
            let pack = match Pack::open(&self.folder.packed().join(name)) {
                Err(error) if is_gone(&error) => continue,
                pack => pack?,
            };
            let mut wanted: HashSet<String> = ids.into_iter().collect();
            pack.all(&Columns::named(&["id"]), &mut |batch| {
                let there = (0..batch.rows()).filter_map(|row| batch.text(0, row));
                packed.extend(there.filter_map(|id| wanted.take(id)));
                Ok(())
            })?;
        }
        Ok(packed)
    }

    /// Those that are put together: small ones, unless one is alone, and those that have attempts
    /// in common.
    fn small_packs(&self) -> Result<Vec<Known>, Error> {
        let all = self.catalogue.packs()?;
        let has_loose = self.catalogue.count()?.1 > 0;
        let small = |known: &Known| known.rows < SMALL_ROWS;
        let together = all.iter().filter(|known| small(known)).count() + usize::from(has_loose) > 1;
        let common = self.catalogue.packs_in_common()?;
        let chosen = all
            .into_iter()
            .filter(|known| common.contains(&known.number) || (together && small(known)));
        Ok(chosen.collect())
    }
}

/// Attempts on their way into files of many.
struct Packing<'a> {
    folder: &'a Folder,
    rows: Rows,
    bytes: usize,
    /// Attempts whose own files go when the file is there.
    singles: Vec<String>,
    names: Vec<String>,
    /// Whose attempts are in it. What another file has is no reason to leave one out: whoever packs
    /// at the same time may leave out that one.
    seen: HashSet<String>,
    packed: Packed,
    heed: &'a dyn Fn(u64) -> bool,
}

impl Packing<'_> {
    fn push(&mut self, attempt: Attempt, texts: Texts) -> Result<(), Error> {
        if !(self.heed)(self.packed.attempts + self.rows.0.len() as u64) {
            return Err(Error::Interrupted);
        }
        if !self.seen.insert(attempt.id.clone()) {
            return Ok(());
        }
        self.bytes += weight(&attempt, &texts);
        self.rows.0.push((attempt, texts));
        if self.rows.0.len() >= FILE_ROWS || self.bytes >= FILE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        if !rows.0.is_empty() {
            self.packed.attempts += rows.0.len() as u64;
            self.packed.written += 1;
            self.names.push(rows.write(self.folder)?);
        }
        for id in self.singles.drain(..) {
            self.folder.remove(&id)?;
            self.packed.removed += 1;
        }
        Ok(())
    }
}

fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Read { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// The attempt of an id in a file, where the catalogue has it in this row.
fn row_of(pack: &Pack, row: u64, id: &str) -> Result<Option<Stored>, Error> {
    let known = pack.row(row)?.filter(|(attempt, _)| attempt.id == id);
    if let Some((attempt, texts)) = known {
        return Ok(Some(Stored::new(attempt, texts)));
    }
    // Another wrote the same attempts in another order.
    let mut found = None;
    let _ = pack.scan(&Columns::all(), None, &[], &mut |batch| {
        let row = (0..batch.rows()).find(|row| batch.text(0, *row) == Some(id));
        found = row.map(|row| Stored::new(batch.attempt(row), batch.brought(row)));
        Ok(match found.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
