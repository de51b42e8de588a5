//! The files that were at one path one after another, a row each.

use crate::file_row::{Row, busyness};
use record::file::{FileCounts, FileId, FileKind, FileUse, PageCache};
use record::unit::Nanos;

/// Rows of one path; of more the two that were used longest ago become one.
const FILES_MAX: usize = 64;

/// The files of one path: never none.
#[derive(Debug, Clone, Default)]
pub(crate) struct AtPath {
    rows: Vec<Row>,
}

/// What tells files apart.
pub(crate) type Number = ((u32, u32), u64, Option<u32>);

/// That of one of them.
pub(crate) const fn number(file: &FileId) -> Number {
    (file.device, file.inode, file.generation)
}

impl AtPath {
    /// Of one file.
    pub(crate) fn new(row: Row) -> Self {
        Self { rows: vec![row] }
    }

    /// One of them was used; whether there is one row more. Only regular files have rows apart,
    /// and only while `may_grow`.
    pub(crate) fn add(&mut self, used: FileUse, may_grow: bool) -> bool {
        let of = number(&used.file);
        let apart = may_grow && used.kind == FileKind::File;
        let is_later = |row: &Row| apart && used.flags.created && used.first > row.last;
        let same = |row: &&mut Row| row.is_of(of) && !is_later(row);
        if let Some(row) = self.rows.iter_mut().rev().find(same) {
            row.add(used);
            return false;
        }
        match self.rows.first_mut() {
            Some(first) if !apart || first.kind != FileKind::File => {
                first.mixed = true;
                first.add(used);
                false
            }
            _ => self.push(Row::new(used)),
        }
    }

    /// Takes a row from elsewhere.
    pub(crate) fn put(&mut self, row: Row) {
        let same = |it: &&mut Row| {
            let alone = !it.mixed && !row.mixed;
            alone && it.is_of(number(&row.file)) && !is_later(it, &row) && !is_later(&row, it)
        };
        match self.rows.iter_mut().find(same) {
            Some(same) => same.merge(row),
            None => _ = self.push(row),
        }
    }

    fn push(&mut self, row: Row) -> bool {
        let full = self.rows.len() >= FILES_MAX;
        if full {
            self.rows.sort_by_key(|row| row.last);
            let oldest = self.rows.remove(0);
            if let Some(next) = self.rows.first_mut() {
                next.after(oldest);
            }
        }
        self.rows.push(row);
        !full
    }

    /// Gives up the row of a file that was first used then, if there is one.
    pub(crate) fn take_out(&mut self, of: Number, first: Nanos) -> Option<Row> {
        let is_it = |row: &Row| row.is_only(of) && row.first == first;
        let place = self.rows.iter().position(is_it)?;
        Some(self.rows.remove(place))
    }

    /// The row of a file that was there at `at`, if it is of that alone.
    pub(crate) fn of(&mut self, of: Number, at: Nanos) -> Option<&mut Row> {
        let those = self.rows.iter_mut().filter(|row| row.is_only(of));
        those.max_by_key(|row| (row.first <= at, row.first))
    }

    /// Sorts its rows, and joins those of one number where `is_one` says, by when both were first
    /// used, that it is one file.
    pub(crate) fn join(&mut self, is_one: impl Fn(Nanos, Nanos) -> bool) {
        self.sort();
        let mut joined: Vec<Row> = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            match joined.last_mut() {
                Some(last)
                    if !row.mixed
                        && last.is_only(number(&row.file))
                        && is_one(last.first, row.first) =>
                {
                    last.merge(row);
                }
                _ => joined.push(row),
            }
        }
        self.rows = joined;
    }

    /// Its rows, in the order in which the files came.
    pub(crate) fn sort(&mut self) {
        self.rows
            .sort_by_key(|row| (row.first, !row.unlinked, row.last, row.size_last));
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn into_rows(self) -> Vec<Row> {
        self.rows
    }

    /// Of all of them.
    pub(crate) fn busyness(&self) -> (u64, u64) {
        if let [row] = &self.rows[..] {
            return row.busyness();
        }
        let (mut counts, mut pages) = (FileCounts::default(), PageCache::default());
        for row in &self.rows {
            counts.add(&row.counts);
            pages.add(&row.page_cache.unwrap_or_default());
        }
        busyness(&counts, Some(pages))
    }

    /// All of them in one row: which file it was, and how large at last, says the last one; how
    /// large at first the first one.
    pub(crate) fn into_row(mut self) -> Option<Box<Row>> {
        self.sort();
        let places = 0..self.rows.len();
        let last =
            places.reduce(
                |last, other| match (self.rows.get(last), self.rows.get(other)) {
                    (Some(row), Some(next)) if has_it_after(row, next) => last,
                    _ => other,
                },
            )?;
        let mut last = self.rows.remove(last);
        for row in self.rows.into_iter().rev() {
            last.after(row);
        }
        Some(Box::new(last))
    }
}

/// Whether a row is of a file that was created after the other one was last used, whose number it
/// may have.
fn is_later(row: &Row, than: &Row) -> bool {
    row.created_first && row.first > than.last
}

/// Whether the file of one row had the path after that of the other one, which came later. It may
/// be that a number was given to one file after another.
fn has_it_after(row: &Row, next: &Row) -> bool {
    let opened = |row: &Row| match row.counts.opens {
        0 | 1 => row.first,
        _ => row.opened_last,
    };
    let end = |row: &Row| (!row.unlinked, opened(row), row.last);
    row.last > next.first && end(row) > end(next)
}
