//! Transfers that stop once: at their begin alone, which takes half of the time.
//!
//! A read that ends before the end of a regular file, and a write to one, move all that they are
//! asked for, but for rare failures. So once some of them did, the next are taken for whole, and
//! proven afterwards: what the kernel counted for the thread (`rchar`, `wchar` of its own
//! `/proc/PID/task/TID/io`) must have grown by what they were asked for together, and none can move
//! more than that. If it has not, their bytes are what the kernel counted, their sizes are not
//! known, and the file's transfers stop twice from then on.

use super::look::Look;
use super::row::Row;
use crate::interpose::kind::is_regular;
use std::collections::HashMap;

/// Whole transfers of a file after which the next are taken for whole.
const WHOLE_MIN: u32 = 4;
/// Sizes that are kept apart in one batch.
const SIZES_MAX: usize = 8;
/// Calls of one batch: what is not known then is bounded.
const CALLS_MAX: u64 = 1 << 16;

/// Transfers of one thread that are taken for whole, all of one file and in one direction.
#[derive(Debug)]
pub(super) struct Batch {
    pid: u32,
    row: usize,
    /// What the kernel had counted before.
    before: u64,
    calls: u64,
    asked: u64,
    /// Sizes, and how many transfers have each.
    sizes: Vec<(u64, u64)>,
}

/// The batches of all threads, reads and writes apart.
#[derive(Debug, Default)]
pub(super) struct Batches(HashMap<(u32, bool), Batch>);

/// A file, in a direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) row: usize,
    pub(super) is_read: bool,
}

/// Whether a transfer may be taken for whole; `end` is where a read ends, if that is known.
pub(super) fn may_be_whole(row: &Row, is_read: bool, bytes: u64, end: Option<u64>) -> bool {
    let within = !is_read || end.is_some_and(|end| end <= row.size_last);
    bytes > 0 && within && row.whole >= WHOLE_MIN && !row.deceived && is_regular(row.mode)
}

impl Batches {
    /// Whether a thread has a batch of this file that takes one more.
    pub(super) fn has_room(&self, whose: Whose, bytes: u64) -> bool {
        let batch = self.0.get(&(whose.tid, whose.is_read));
        batch.is_some_and(|batch| {
            let known = batch.sizes.iter().any(|(size, _)| *size == bytes);
            (batch.pid, batch.row) == (whose.pid, whose.row)
                && batch.calls < CALLS_MAX
                && (known || batch.sizes.len() < SIZES_MAX)
        })
    }

    /// Begins a batch; whether the kernel tells what is needed for that.
    pub(super) fn begin(&mut self, look: &mut Look, whose: Whose) -> bool {
        let Some(before) = look.moved(whose.tid, whose.is_read) else {
            return false;
        };
        let batch = Batch {
            pid: whose.pid,
            row: whose.row,
            before,
            calls: 0,
            asked: 0,
            sizes: Vec::new(),
        };
        self.0.insert((whose.tid, whose.is_read), batch);
        true
    }

    /// Takes one more transfer for whole.
    pub(super) fn add(&mut self, whose: Whose, bytes: u64) {
        let Some(batch) = self.0.get_mut(&(whose.tid, whose.is_read)) else {
            return;
        };
        batch.calls += 1;
        batch.asked += bytes;
        match batch.sizes.iter_mut().find(|(size, _)| *size == bytes) {
            Some((_, calls)) => *calls += 1,
            None => batch.sizes.push((bytes, 1)),
        }
    }

    /// The batch of a thread, whose transfers are over.
    pub(super) fn take(&mut self, tid: u32, is_read: bool) -> Option<Batch> {
        self.0.remove(&(tid, is_read))
    }

    /// Every thread with a batch, its direction, and its process.
    pub(super) fn threads(&self) -> Vec<(u32, bool, u32)> {
        let all = self.0.iter();
        all.map(|((tid, is_read), batch)| (*tid, *is_read, batch.pid))
            .collect()
    }
}

impl Batch {
    /// Counts its transfers in the rows of their process; how many of them were not whole after
    /// all, at most. After one of fewer than `calls_min` calls the file has to earn the next.
    pub(super) fn settle(
        self,
        is_read: bool,
        now: Option<u64>,
        calls_min: u64,
        rows: &mut [Row],
    ) -> u64 {
        let Some(row) = rows.get_mut(self.row) else {
            return 0;
        };
        if self.calls < calls_min {
            row.whole = 0;
        }
        let moved = now.map(|now| now.saturating_sub(self.before));
        if moved == Some(self.asked) {
            for (bytes, calls) in self.sizes {
                row.transfers(is_read, bytes, calls);
            }
            return 0;
        }
        row.deceived = true;
        // More than was asked for is somebody else's.
        let bytes = moved.unwrap_or(self.asked).min(self.asked);
        row.add_unsized(is_read, self.calls, bytes);
        self.calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn batch(bytes: &[u64]) -> (Batch, Whose) {
        let me = std::process::id();
        let whose = Whose {
            pid: me,
            tid: me,
            row: 0,
            is_read: true,
        };
        let (mut batches, mut look) = (Batches::default(), Look::new(Path::new("/proc")));
        assert!(batches.begin(&mut look, whose));
        for bytes in bytes {
            assert!(batches.has_room(whose, *bytes));
            batches.add(whose, *bytes);
        }
        let mut taken = batches.take(me, true).unwrap();
        taken.before = 1000;
        (taken, whose)
    }

    #[test]
    fn transfers_that_moved_all_are_exact() {
        let (batch, _) = batch(&[4096, 100, 4096]);
        let mut rows = [Row::default()];
        assert_eq!(batch.settle(true, Some(1000 + 8292), 0, &mut rows), 0);
        let row = &rows[0];
        assert_eq!((row.counts.reads, row.counts.bytes_read.0), (3, 8292));
        assert!(row.classes.is_none() && !row.deceived);
        assert_eq!((row.sizes[0].bytes.0, row.sizes[0].reads), (4096, 2));
    }

    #[test]
    fn one_that_did_not_is_noticed_and_the_bytes_are_the_kernels() {
        let (batch, _) = batch(&[4096, 4096]);
        let mut rows = [Row::default()];
        assert_eq!(batch.settle(true, Some(1000 + 5000), 0, &mut rows), 2);
        let row = &rows[0];
        assert_eq!((row.counts.reads, row.counts.bytes_read.0), (2, 5000));
        assert!(row.deceived && row.classes.is_some() && row.sizes.is_empty());
    }

    #[test]
    fn what_may_end_behind_the_file_is_not_taken_for_whole() {
        let mut row = Row {
            mode: 0o100_644,
            size_last: 8192,
            whole: WHOLE_MIN,
            ..Row::default()
        };
        assert!(may_be_whole(&row, true, 4096, Some(8192)));
        assert!(!may_be_whole(&row, true, 4096, Some(8193)));
        assert!(!may_be_whole(&row, true, 4096, None));
        assert!(may_be_whole(&row, false, 4096, None));
        row.mode = 0o010_000;
        assert!(!may_be_whole(&row, false, 4096, None));
    }
}
