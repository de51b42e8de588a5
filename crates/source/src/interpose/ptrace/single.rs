//! Transfers of one buffer: how many bytes they are asked for is known when they begin, so some of
//! them need no second stop ([`super::ahead`]).

use super::ahead::{Whose, may_be_whole};
use super::process::Slot;
use super::watch::{Watch, What};
use record::unit::Nanos;
use sys::seccomp::FileCall;

/// A batch of fewer calls than this was not worth its while.
const CALLS_MIN: u64 = 3;
const SEEK_SET: u64 = 0;

/// A transfer of one buffer that is to stop at its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Single {
    slot: Slot,
    /// The descriptor that a read moves on.
    moves: Option<i32>,
    asked: u64,
    is_read: bool,
}

impl Watch {
    /// A thread begins a transfer; what is to be done at its end, if it needs a stop there.
    pub(super) fn single(
        &mut self,
        (pid, tid): (u32, u32),
        call: FileCall,
        arguments: &[u64; 6],
        at: Nanos,
    ) -> Option<What> {
        let [first, _, bytes, offset, ..] = *arguments;
        let slot = self.slot(pid, tid, first, at)?;
        let fd = first as i32;
        let process = self.processes.entry(pid).or_default();
        let (is_read, from) = match call {
            FileCall::Read => (true, process.place(fd)),
            FileCall::ReadAt => (true, Some(offset)),
            _ => (false, None),
        };
        let end = from.and_then(|from| from.checked_add(bytes));
        let moves = (call == FileCall::Read).then_some(fd);
        if call == FileCall::Write {
            process.stands(fd, None);
        }
        if let Slot::Row(row) = slot {
            let whose = Whose {
                pid,
                tid,
                row,
                is_read,
            };
            if self.take_for_whole(whose, bytes, end) {
                let process = self.processes.entry(pid).or_default();
                if let Some(fd) = moves {
                    process.stands(fd, end);
                }
                self.used(pid, slot, at, Nanos(0), |_| ());
                return None;
            }
        }
        self.settle(pid, tid, is_read);
        Some(What::Single(Single {
            slot,
            moves,
            asked: bytes,
            is_read,
        }))
    }

    fn take_for_whole(&mut self, whose: Whose, bytes: u64, end: Option<u64>) -> bool {
        let process = self.processes.entry(whose.pid).or_default();
        let row = process.rows.get(whose.row);
        if self.times || !row.is_some_and(|row| may_be_whole(row, whose.is_read, bytes, end)) {
            return false;
        }
        if !self.batches.has_room(whose, bytes) {
            self.settle(whose.pid, whose.tid, whose.is_read);
            if !self.batches.begin(&mut self.look, whose) {
                return false;
            }
        }
        self.batches.add(whose, bytes);
        true
    }

    /// A transfer that was to stop at its end is over.
    pub(super) fn single_returned(
        &mut self,
        pid: u32,
        single: &Single,
        result: i64,
        (at, time): (Nanos, Nanos),
    ) {
        self.transfer(pid, single.slot, single.is_read, result, (at, time));
        let process = self.processes.entry(pid).or_default();
        let moved = u64::try_from(result).ok();
        if let Some(fd) = single.moves {
            let place = process.place(fd);
            let place = place.and_then(|place| place.checked_add(moved.unwrap_or(0)));
            process.stands(fd, place);
        }
        if let Some(row) = process.row(single.slot) {
            let whole = moved == Some(single.asked);
            row.whole = if whole {
                row.whole.saturating_add(1)
            } else {
                0
            };
        }
    }

    /// A call of `lseek`, which is counted whatever comes of it.
    pub(super) fn seek(
        &mut self,
        (pid, tid): (u32, u32),
        arguments: &[u64; 6],
        at: Nanos,
    ) -> Option<What> {
        let [first, offset, from, ..] = *arguments;
        let slot = self.slot(pid, tid, first, at)?;
        let process = self.processes.entry(pid).or_default();
        // One below zero is refused, and the place is not known to us then.
        let place = (from == SEEK_SET && offset <= i64::MAX as u64).then_some(offset);
        process.stands(first as i32, place);
        if self.times {
            return Some(What::Seek(slot));
        }
        self.used(pid, slot, at, Nanos(0), |counts| counts.seeks += 1);
        None
    }

    /// Counts what a thread's transfers in one direction were taken for; they are over.
    fn settle(&mut self, pid: u32, tid: u32, is_read: bool) {
        let Some(batch) = self.batches.take(tid, is_read) else {
            return;
        };
        let now = self.look.moved(tid, is_read);
        let process = self.processes.entry(pid).or_default();
        self.unproven += batch.settle(is_read, now, CALLS_MIN, &mut process.rows);
    }

    /// Counts what the transfers of a thread were taken for.
    pub(super) fn settle_thread(&mut self, pid: u32, tid: u32) {
        self.settle(pid, tid, true);
        self.settle(pid, tid, false);
    }

    /// Counts what the transfers of all threads were taken for.
    pub(super) fn settle_all(&mut self) {
        for (tid, is_read, pid) in self.batches.threads() {
            self.settle(pid, tid, is_read);
        }
    }
}
