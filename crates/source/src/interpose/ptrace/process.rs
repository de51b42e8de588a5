//! One process: the files behind its descriptors, each asked of the kernel at its first use, so
//! that it does not matter how the process came by it; and what it did with them.

use super::look::{self, Behind, Look};
use super::row::{Row, count};
use crate::interpose::kind::is_regular;
use record::file::FileCounts;
use record::unit::Nanos;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use sys::statx::Status;

/// Rows of one process; what it does with more files is counted without a name.
const ROWS_MAX: usize = 32_000;
/// Rows of all processes that live at one time.
const ROWS_MAX_TOTAL: u64 = 500_000;

/// Rows of a process that are left to files whose number another one got.
const FORMER_MAX: u32 = 128;

/// Where a file is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// In this row of its process.
    Row(usize),
    /// Among those without a row.
    Rest,
}

/// What tells files apart.
type Key = (Vec<u8>, u64, (u32, u32));

/// What found no row.
#[derive(Debug, Default)]
pub(super) struct Rest {
    pub(super) counts: FileCounts,
    pub(super) rows: u64,
    /// Of these without a row how many this user may not look at.
    pub(super) hidden: u64,
    /// Rows that there are.
    pub(super) kept: u64,
}

/// One process.
#[derive(Debug, Default)]
pub(super) struct Process {
    slots: HashMap<i32, Slot>,
    known: HashMap<Key, usize>,
    pub(super) rows: Vec<Row>,
    /// Rows that were left to files whose number another one got.
    former: u32,
    /// Its descriptors may change unseen, by others that have the same table or by a ring of
    /// `io_uring`: none is remembered.
    pub(super) changes_unseen: bool,
    /// Where in its file each descriptor stands that has the place to itself, as far as known: it
    /// was opened by this process, and shared with nobody since.
    places: HashMap<i32, Option<u64>>,
    /// Descriptors that a thread of it is closing or replacing.
    closing: Vec<(u32, RangeInclusive<i32>)>,
}

impl Process {
    /// Where the file behind a descriptor is counted; `None` if there is none.
    pub(super) fn slot(
        &mut self,
        look: &mut Look,
        rest: &mut Rest,
        (tid, fd): (u32, i32),
        at: Nanos,
    ) -> Option<Slot> {
        if let Some(slot) = self.slots.get(&fd) {
            return Some(*slot);
        }
        let status = match look.behind(tid, fd) {
            Behind::File(status) => status,
            Behind::Nothing => return None,
            Behind::Hidden => return Some(self.hidden(rest, fd)),
        };
        let slot = self.find(look, rest, (tid, fd), &status, at);
        if let Slot::Row(index) = slot
            && let Some(row) = self.rows.get_mut(index)
        {
            let (reads, writes) = look.access(tid, fd);
            row.flags.opened_to_read |= reads;
            row.flags.opened_to_write |= writes;
        }
        Some(slot)
    }

    /// As [`Process::slot`], for a descriptor that was just opened; `is_new`: its file was not
    /// there before, and one that was may have got another name.
    pub(super) fn opened(
        &mut self,
        look: &mut Look,
        rest: &mut Rest,
        (tid, fd): (u32, i32),
        is_new: bool,
        at: Nanos,
    ) -> Option<Slot> {
        self.slots.remove(&fd);
        let status = match look.behind(tid, fd) {
            Behind::File(status) => status,
            Behind::Nothing => return None,
            Behind::Hidden => return Some(self.hidden(rest, fd)),
        };
        if is_new {
            self.leave(look, (tid, fd), &status);
        }
        let slot = self.find(look, rest, (tid, fd), &status, at);
        if let Slot::Row(index) = slot
            && let Some(row) = self.rows.get_mut(index)
        {
            row.looked_at(&status);
        }
        if self.slots.contains_key(&fd) {
            self.places.insert(fd, Some(0));
        }
        Some(slot)
    }

    /// Leaves a row to the file that it is of, if it has the number and the path of a new one.
    fn leave(&mut self, look: &mut Look, (tid, fd): (u32, i32), status: &Status) {
        let path = look.path(tid, fd, status).unwrap_or_default();
        let key = (path, status.inode, status.device);
        let row = self.known.get(&key).and_then(|index| self.rows.get(*index));
        if row.is_some_and(|row| row.counts.opens > 0) && self.former < FORMER_MAX {
            self.former += 1;
            self.known.remove(&key);
        }
    }

    /// Where a descriptor stands in its file, if that is known.
    pub(super) fn place(&self, fd: i32) -> Option<u64> {
        self.places.get(&fd).copied().flatten()
    }

    /// A descriptor stands elsewhere now.
    pub(super) fn stands(&mut self, fd: i32, place: Option<u64>) {
        if let Some(known) = self.places.get_mut(&fd) {
            *known = place;
        }
    }

    /// Others may move a descriptor from now on.
    pub(super) fn share(&mut self, fd: i32) {
        self.places.remove(&fd);
    }

    /// As [`Process::share`], for all of them.
    pub(super) fn share_all(&mut self) {
        self.places.clear();
    }

    /// A file of which nothing may be known but that it is used.
    fn hidden(&mut self, rest: &mut Rest, fd: i32) -> Slot {
        rest.rows += 1;
        rest.hidden += 1;
        self.remember(fd, Slot::Rest);
        Slot::Rest
    }

    fn remember(&mut self, fd: i32, slot: Slot) {
        let closing = self.closing.iter().any(|(_, fds)| fds.contains(&fd));
        if !self.changes_unseen && !closing {
            self.slots.insert(fd, slot);
        }
    }

    fn find(
        &mut self,
        look: &mut Look,
        rest: &mut Rest,
        (tid, fd): (u32, i32),
        status: &Status,
        at: Nanos,
    ) -> Slot {
        let path = look.path(tid, fd, status);
        let slot = self.slot_of(rest, status, path, at);
        self.remember(fd, slot);
        slot
    }

    /// Where a file is counted that was found at `path`.
    pub(super) fn slot_of(
        &mut self,
        rest: &mut Rest,
        status: &Status,
        path: Option<Vec<u8>>,
        at: Nanos,
    ) -> Slot {
        let key = (
            path.clone().unwrap_or_default(),
            status.inode,
            status.device,
        );
        match self.known.get(&key) {
            Some(index) => Slot::Row(*index),
            None if self.rows.len() >= ROWS_MAX || rest.kept >= ROWS_MAX_TOTAL => {
                rest.rows += 1;
                Slot::Rest
            }
            None => {
                let index = self.rows.len();
                self.rows.push(Row::new(status, path, at));
                self.known.insert(key, index);
                rest.kept += 1;
                Slot::Row(index)
            }
        }
    }

    /// The counts of a slot, used at `at` for so long.
    pub(super) fn used<'a>(
        &'a mut self,
        rest: &'a mut Rest,
        slot: Slot,
        at: Nanos,
        time: Nanos,
    ) -> &'a mut FileCounts {
        match slot {
            Slot::Row(index) => match self.rows.get_mut(index) {
                Some(row) => {
                    row.last = at;
                    row.time = row.time.plus(time);
                    &mut row.counts
                }
                None => &mut rest.counts,
            },
            Slot::Rest => &mut rest.counts,
        }
    }

    /// A call moved bytes from or to a file, or failed.
    pub(super) fn transfer(&mut self, rest: &mut Rest, slot: Slot, is_read: bool, result: i64) {
        let row = match slot {
            Slot::Row(index) => self.rows.get_mut(index),
            Slot::Rest => None,
        };
        match row {
            Some(row) => row.transfer(is_read, result),
            None => count(&mut rest.counts, is_read, result),
        }
    }

    /// The row of a slot.
    pub(super) fn row(&mut self, slot: Slot) -> Option<&mut Row> {
        match slot {
            Slot::Row(index) => self.rows.get_mut(index),
            Slot::Rest => None,
        }
    }

    /// A thread is about to close these descriptors, or to make other files of them: what was
    /// written through them is looked at now.
    pub(super) fn close(&mut self, look: &mut Look, tid: u32, fds: RangeInclusive<i32>) {
        if fds.start() == fds.end() {
            self.look_again(look, tid, *fds.start());
            self.slots.remove(fds.start());
            self.places.remove(fds.start());
        } else {
            let known: Vec<i32> = self.slots.keys().copied().collect();
            for fd in known.into_iter().filter(|fd| fds.contains(fd)) {
                self.look_again(look, tid, fd);
                self.slots.remove(&fd);
                self.places.remove(&fd);
            }
        }
        self.closing.push((tid, fds));
    }

    /// Every call that a thread made before is over.
    pub(super) fn calls_are_over(&mut self, tid: u32) {
        if !self.closing.is_empty() {
            self.closing.retain(|(of, _)| *of != tid);
        }
    }

    /// It became another program: its descriptors are in a table of their own, and some are closed.
    pub(super) fn exec(&mut self) {
        self.slots.clear();
        self.places.clear();
        self.closing.clear();
        self.changes_unseen = false;
    }

    /// Nothing is remembered of its descriptors from now on.
    pub(super) fn stop_remembering(&mut self) {
        self.slots.clear();
        self.places.clear();
        self.changes_unseen = true;
    }

    /// Looks at what was written through descriptors that are still open.
    pub(super) fn look_at_written(&mut self, look: &mut Look, tid: u32) {
        let known: Vec<i32> = self.slots.keys().copied().collect();
        for fd in known {
            self.look_again(look, tid, fd);
        }
    }

    fn look_again(&mut self, look: &mut Look, tid: u32, fd: i32) {
        if let Some(Slot::Row(index)) = self.slots.get(&fd)
            && let Some(row) = self.rows.get_mut(*index)
            && row.size_is_old
            && let Some(status) = look.status(tid, fd)
        {
            row.looked_at(&status);
        }
    }
}

/// The last look at a file that was written and not looked at since: by its path, if it is still
/// that file.
pub(super) fn look_by_path(row: &mut Row) {
    if !row.size_is_old || row.cut || row.unlinked || !is_regular(row.mode) {
        return;
    }
    if let Some(status) = look::at_path(&row.path)
        && (status.inode, status.device) == (row.inode, row.device)
    {
        row.looked_at(&status);
    }
}
