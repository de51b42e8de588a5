//! The last rows of processes, ends and jobs, for whoever has not had them yet.
//!
//! Bounded: what is old goes first, and who comes too late for it is told how many rows he missed.

use super::picture::Key;
use record::table::Table;
use std::collections::VecDeque;

const ENTRIES_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 8 << 20;
/// What a row takes beside its bytes, about.
const ENTRY_BYTES: usize = 128;

/// What a row is of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Of {
    /// The process; nothing for a job.
    pub(super) key: Option<Key>,
    /// Its real user.
    pub(super) uid: Option<i64>,
    /// Who has it to himself.
    pub(super) own: Option<u32>,
    /// The job that it is of.
    pub(super) identifier: Option<Box<[u8]>>,
}

/// One row.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) table: &'static Table,
    /// When, nanoseconds since boot, and what to add for the time of day.
    pub(super) at: (u64, i64),
    pub(super) of: Of,
    pub(super) row: Box<[u8]>,
}

/// The rows.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// How many were given up.
    gone: u64,
    /// From this one on they may be of processes that are known better by now.
    fresh: u64,
}

impl Log {
    pub(super) fn push(&mut self, entry: Entry) {
        self.bytes += entry.row.len() + ENTRY_BYTES;
        self.entries.push_back(entry);
        while self.entries.len() > ENTRIES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.entries.pop_front() else {
                return;
            };
            self.bytes -= oldest.row.len() + ENTRY_BYTES;
            self.gone += 1;
        }
    }

    /// Where the next row will be.
    pub(super) fn end(&self) -> u64 {
        self.gone + self.entries.len() as u64
    }

    /// The rows from `cursor` on, and how many of them are gone.
    pub(super) fn since(&self, cursor: u64) -> (u64, impl Iterator<Item = &Entry>) {
        let lost = self.gone.saturating_sub(cursor);
        let skipped = usize::try_from(cursor.saturating_sub(self.gone)).unwrap_or(usize::MAX);
        (lost, self.entries.iter().skip(skipped))
    }

    /// Shows the rows since the last call to `fill`, once.
    pub(super) fn settle(&mut self, mut fill: impl FnMut(&mut Of)) {
        let known = usize::try_from(self.fresh.saturating_sub(self.gone)).unwrap_or(usize::MAX);
        let fresh = self.entries.iter_mut().skip(known);
        fresh.for_each(|entry| fill(&mut entry.of));
        self.fresh = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::table::exit;

    fn entry(number: u64, bytes: usize) -> Entry {
        Entry {
            table: &exit::TABLE,
            at: (number, 0),
            of: Of::default(),
            row: vec![0; bytes].into(),
        }
    }

    #[test]
    fn who_comes_too_late_is_told_what_is_gone() {
        let mut log = Log::default();
        for number in 0..10 {
            log.push(entry(number, 1 << 20));
        }
        assert_eq!(log.end(), 10);
        let (lost, rest) = log.since(1);
        let kept: Vec<u64> = rest.map(|entry| entry.at.0).collect();
        assert_eq!(kept.first(), Some(&(1 + lost)));
        assert_eq!((kept.last(), kept.len() as u64), (Some(&9), 9 - lost));
        assert!(lost > 0);
        let (lost, rest) = log.since(9);
        assert_eq!((lost, rest.count()), (0, 1));
        let (lost, rest) = log.since(10);
        assert_eq!((lost, rest.count()), (0, 0));
        for number in 0..2 * ENTRIES_MAX as u64 {
            log.push(entry(number, 0));
        }
        assert!(log.since(0).1.count() <= ENTRIES_MAX);
    }

    #[test]
    fn each_row_is_settled_once() {
        let mut log = Log::default();
        let settle = |log: &mut Log| {
            let mut count = 0;
            log.settle(|_| count += 1);
            count
        };
        log.push(entry(1, 1));
        log.push(entry(2, 1));
        assert_eq!((settle(&mut log), settle(&mut log)), (2, 0));
        log.push(entry(3, 1));
        assert_eq!(settle(&mut log), 1);
    }
}
