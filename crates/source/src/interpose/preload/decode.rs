//! Rows of the table as records.

use super::socket;
use super::table::{Table, half, quarter, word};
use crate::interpose::kind::is_socket;
use preload::layout::{
    CLASSES, Classes, PATH_BYTES, PATH_MAX, Row, SIZE_WRITES, SIZES, flag, slot,
};
use record::file::{FileCounts, FileFlags, SizeClasses, SizeCount};
use record::unit::Bytes;
use std::mem::offset_of;

/// A row as it is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Raw {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) special: u64,
    pub(super) mount: u32,
    pub(super) mode: u32,
    pub(super) path: Vec<u8>,
    pub(super) cut: bool,
    pub(super) unlinked: bool,
    /// It is of all files of the process that found no room.
    pub(super) others: bool,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) time_ns: u64,
    pub(super) size_first: u64,
    pub(super) size_last: u64,
    /// It was written after its size was last looked at.
    pub(super) size_is_old: bool,
    pub(super) counts: FileCounts,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) flags: FileFlags,
    pub(super) sizes: Vec<SizeCount>,
    pub(super) classes: Option<Box<SizeClasses>>,
    pub(super) socket: Option<socket::Raw>,
}

/// The row in these bytes of a slot; none if there is none.
pub(super) fn row(table: &Table, bytes: &[u8]) -> Option<Raw> {
    if half(bytes, offset_of!(Row, state)) != slot::ROW {
        return None;
    }
    let at = |offset: usize| word(bytes, offset);
    let flags = half(bytes, offset_of!(Row, flags));
    let mut row = Raw {
        device: at(offset_of!(Row, device)),
        inode: at(offset_of!(Row, inode)),
        special: half(bytes, offset_of!(Row, special)).into(),
        mount: half(bytes, offset_of!(Row, mount)),
        mode: quarter(bytes, offset_of!(Row, mode)).into(),
        cut: flags & flag::CUT != 0,
        unlinked: flags & flag::UNLINKED != 0,
        others: flags & flag::OTHERS != 0,
        first_ns: at(offset_of!(Row, first)),
        last_ns: at(offset_of!(Row, last)),
        time_ns: at(offset_of!(Row, time)),
        size_first: at(offset_of!(Row, size_first)),
        size_last: at(offset_of!(Row, size_last)),
        counts: FileCounts {
            opens: at(offset_of!(Row, opens)),
            closes: at(offset_of!(Row, closes)),
            reads: at(offset_of!(Row, reads)),
            writes: at(offset_of!(Row, writes)),
            bytes_read: Bytes(at(offset_of!(Row, bytes_read))),
            bytes_written: Bytes(at(offset_of!(Row, bytes_written))),
            seeks: at(offset_of!(Row, seeks)),
            failed: at(offset_of!(Row, failed)),
            no_space: half(bytes, offset_of!(Row, no_space)).into(),
            // A program that a process becomes has rows of its own.
            executions: u64::from(flags & flag::EXECUTED != 0),
        },
        received: at(offset_of!(Row, received)),
        sent: at(offset_of!(Row, sent)),
        flags: flags_of(flags),
        ..Raw::default()
    };
    for i in 0..SIZES {
        row.add_size(at(offset_of!(Row, sizes) + 8 * i));
    }
    row.size_is_old = row.counts.writes != at(offset_of!(Row, size_writes));
    row.classes = classes(table, half(bytes, offset_of!(Row, classes)));
    if is_socket(row.mode) {
        let told = bytes.get(offset_of!(Row, path)..).unwrap_or_default();
        row.socket = socket::socket(row.inode, told);
    } else {
        row.read_path(table, bytes);
    }
    Some(row)
}

fn flags_of(flags: u32) -> FileFlags {
    let has = |bit: u32| flags & bit != 0;
    FileFlags {
        opened_to_read: has(flag::READS),
        opened_to_write: has(flag::WRITES),
        created: has(flag::CREATED),
        truncated: has(flag::TRUNCATED),
        appended: has(flag::APPENDED),
        direct: has(flag::DIRECT),
        mapped: has(flag::MAPPED),
    }
}

impl Raw {
    fn add_size(&mut self, word: u64) {
        let count = word & 0xffff_ffff;
        if count == 0 {
            return;
        }
        let bytes = word >> 32 & 0x7fff_ffff;
        // Whoever filled the table with nonsense gets nonsense, and no overflow.
        let moved = bytes.saturating_mul(count);
        let (mut reads, mut writes) = (0, 0);
        if word & SIZE_WRITES != 0 {
            writes = count;
            let sum = &mut self.counts.bytes_written.0;
            *sum = sum.saturating_add(moved);
        } else {
            reads = count;
            let sum = &mut self.counts.bytes_read.0;
            *sum = sum.saturating_add(moved);
        }
        self.counts.reads = self.counts.reads.saturating_add(reads);
        self.counts.writes = self.counts.writes.saturating_add(writes);
        match self.sizes.iter_mut().find(|it| it.bytes.0 == bytes) {
            Some(size) => {
                size.reads = size.reads.saturating_add(reads);
                size.writes = size.writes.saturating_add(writes);
            }
            None => self.sizes.push(SizeCount {
                bytes: Bytes(bytes),
                reads,
                writes,
            }),
        }
    }

    fn read_path(&mut self, table: &Table, bytes: &[u8]) {
        let length = usize::from(quarter(bytes, offset_of!(Row, path_bytes)));
        let length = length.min(PATH_MAX);
        let start = offset_of!(Row, path);
        let head = bytes.get(start..start + length.min(PATH_BYTES));
        self.path.extend_from_slice(head.unwrap_or_default());
        let rest = length - self.path.len();
        if rest > 0 {
            match table.slot(half(bytes, offset_of!(Row, more)), rest) {
                Some(tail) => self.path.extend_from_slice(&tail),
                None => self.cut = true,
            }
        }
    }
}

fn classes(table: &Table, number: u32) -> Option<Box<SizeClasses>> {
    if number == 0 {
        return None;
    }
    let bytes = table.slot(number, size_of::<Classes>())?;
    let sums =
        |start: usize| -> [u64; CLASSES] { std::array::from_fn(|i| word(&bytes, start + 8 * i)) };
    Some(Box::new(SizeClasses {
        reads: sums(offset_of!(Classes, reads)),
        writes: sums(offset_of!(Classes, writes)),
    }))
}
