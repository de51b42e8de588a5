//! What one process did with one file.

use record::file::{CLASSES, FileCounts, FileFlags, SizeClasses, SizeCount};
use record::unit::{Bytes, Nanos};
use sys::statx::Status;

/// Sizes that are counted exactly; the rarest gives place to another one.
const SIZES_MAX: usize = 8;

/// One file as one process used it.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) device: (u32, u32),
    /// The mount on which it was found.
    pub(super) mount: u64,
    pub(super) special: (u32, u32),
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) path: Vec<u8>,
    /// Its path could not be read.
    pub(super) cut: bool,
    pub(super) first: Nanos,
    pub(super) last: Nanos,
    pub(super) time: Nanos,
    pub(super) size_first: u64,
    pub(super) size_last: u64,
    /// It was written after its size was last looked at.
    pub(super) size_is_old: bool,
    pub(super) unlinked: bool,
    pub(super) counts: FileCounts,
    pub(super) flags: FileFlags,
    pub(super) sizes: Vec<SizeCount>,
    pub(super) classes: Option<Box<SizeClasses>>,
    /// How many transfers moved all that they were asked for, one after another; see
    /// [`super::ahead`].
    pub(super) whole: u32,
    /// A transfer was taken for whole that was not.
    pub(super) deceived: bool,
}

impl Row {
    /// Of a file that was never used before.
    pub(super) fn new(status: &Status, path: Option<Vec<u8>>, at: Nanos) -> Self {
        Self {
            device: status.device,
            mount: status.mount,
            special: status.special,
            inode: status.inode,
            mode: status.mode,
            cut: path.is_none(),
            path: path.unwrap_or_default(),
            first: at,
            last: at,
            size_first: status.size_bytes,
            size_last: status.size_bytes,
            unlinked: status.links_total == 0,
            ..Self::default()
        }
    }

    /// Takes down what the kernel just said of it.
    pub(super) fn looked_at(&mut self, status: &Status) {
        self.size_last = status.size_bytes;
        self.size_is_old = false;
        self.unlinked = status.links_total == 0;
    }

    /// Its end was moved; `status` is of what was behind the descriptor afterwards.
    pub(super) fn resized(&mut self, status: Option<&Status>) {
        self.flags.truncated = true;
        match status.filter(|it| (it.inode, it.device) == (self.inode, self.device)) {
            Some(status) => self.looked_at(status),
            None => self.size_is_old = true,
        }
    }

    /// A call moved so many bytes, or failed.
    pub(super) fn transfer(&mut self, is_read: bool, result: i64) {
        count(&mut self.counts, is_read, result);
        if let Ok(bytes) = u64::try_from(result) {
            self.sized(is_read, bytes, 1);
        }
    }

    /// So many calls moved so many bytes each.
    pub(super) fn transfers(&mut self, is_read: bool, bytes: u64, calls: u64) {
        let moved = bytes.saturating_mul(calls);
        self.add(is_read, calls, moved);
        self.sized(is_read, bytes, calls);
    }

    /// So many calls moved so many bytes together; how many each did, and whether some failed, is
    /// not known.
    pub(super) fn add_unsized(&mut self, is_read: bool, calls: u64, bytes: u64) {
        self.add(is_read, calls, bytes);
        self.size_is_old |= !is_read;
        self.classes.get_or_insert_default();
    }

    fn add(&mut self, is_read: bool, calls: u64, bytes: u64) {
        let mut more = FileCounts::default();
        if is_read {
            (more.reads, more.bytes_read) = (calls, Bytes(bytes));
        } else {
            (more.writes, more.bytes_written) = (calls, Bytes(bytes));
        }
        self.counts.add(&more);
    }

    fn sized(&mut self, is_read: bool, bytes: u64, calls: u64) {
        self.size_is_old |= !is_read;
        let size = SizeCount {
            bytes: Bytes(bytes),
            reads: if is_read { calls } else { 0 },
            writes: if is_read { 0 } else { calls },
        };
        if let Some(same) = self.sizes.iter_mut().find(|it| it.bytes == size.bytes) {
            same.reads += size.reads;
            same.writes += size.writes;
        } else if self.sizes.len() < SIZES_MAX {
            self.sizes.push(size);
        } else {
            self.replace_rarest(size);
        }
    }

    fn replace_rarest(&mut self, size: SizeCount) {
        let rarest = self.sizes.iter_mut().min_by_key(|it| it.reads + it.writes);
        let Some(rarest) = rarest else { return };
        let left = std::mem::replace(rarest, size);
        let classes = self.classes.get_or_insert_default();
        let class = (u64::BITS - left.bytes.0.leading_zeros()) as usize;
        let class = class.min(CLASSES - 1);
        if let Some(sum) = classes.reads.get_mut(class) {
            *sum += left.reads;
        }
        if let Some(sum) = classes.writes.get_mut(class) {
            *sum += left.writes;
        }
    }
}

/// Counts one transfer: the bytes that it moved, or an error number below zero.
pub(super) fn count(counts: &mut FileCounts, is_read: bool, result: i64) {
    let (calls, sum) = if is_read {
        (&mut counts.reads, &mut counts.bytes_read)
    } else {
        (&mut counts.writes, &mut counts.bytes_written)
    };
    *calls += 1;
    match u64::try_from(result) {
        Ok(bytes) => sum.0 = sum.0.saturating_add(bytes),
        Err(_) => {
            counts.failed += 1;
            counts.no_space += u64::from(!is_read && is_no_space(result));
        }
    }
}

/// There is no room, or no more by a quota (`errno(3)`).
const ENOSPC: i64 = 28;
const EDQUOT: i64 = 122;

/// Whether a call failed as there was no room, or no more by a quota.
fn is_no_space(result: i64) -> bool {
    matches!(-result, ENOSPC | EDQUOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sizes_leave_the_frequent_ones_and_lose_no_call() {
        let mut row = Row::default();
        for _ in 0..50 {
            row.transfer(true, 700);
        }
        for bytes in 0..40 {
            row.transfer(false, bytes);
        }
        row.transfer(true, -9);
        row.transfer(true, -28);
        row.transfer(false, -28);
        row.transfer(false, -122);
        assert_eq!((row.counts.failed, row.counts.no_space), (4, 2));
        row.counts.failed -= 3;
        row.counts.reads -= 1;
        row.counts.writes -= 2;
        assert_eq!((row.counts.reads, row.counts.writes), (51, 40));
        assert_eq!((row.counts.failed, row.counts.bytes_written.0), (1, 780));
        assert_eq!(row.sizes.len(), SIZES_MAX);
        let kept: u64 = row.sizes.iter().map(|it| it.reads + it.writes).sum();
        let classes = row.classes.unwrap();
        let left: u64 = classes.writes.iter().sum();
        assert_eq!(kept + left, 90);
        assert!(row.sizes.iter().any(|it| it.reads == 50));
        assert!(row.size_is_old);
    }
}
