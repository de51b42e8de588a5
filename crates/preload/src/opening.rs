//! Opens: what is looked at before one, and what is counted after it.

use crate::count::{self, more};
use crate::descriptor::{looks, opened, resolve, resolve_new};
use crate::layout::{PATH_MAX, Row, flag};
use crate::state::{self, mix};
use crate::system;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

const O_CREAT: i32 = 0o100;
const O_EXCL: i32 = 0o200;
const O_TRUNC: i32 = 0o1000;
/// What `O_TMPFILE` has beside `O_DIRECTORY`.
const O_TMPFILE: i32 = 0o20_000_000;

/// A path that a program is about to open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asking {
    folder: i32,
    path: *const u8,
    how: i32,
    /// It will be the one that creates the file.
    creates: bool,
    /// How large the file is that it will cut.
    before: Option<u64>,
    begun: u64,
}

impl Asking {
    /// Before the open.
    pub(crate) fn begin(folder: i32, path: *const u8, how: i32) -> Self {
        let may_create = how & (O_CREAT | O_TMPFILE) != 0;
        let sure = how & (O_EXCL | O_TMPFILE) != 0;
        let cuts = how & O_TRUNC != 0;
        let looks = ((may_create && !sure) || cuts) && looks();
        let found = if looks && cuts {
            system::stat_from(folder, path)
        } else {
            None
        };
        let is_there = || found.is_some() || (!cuts && system::exists(folder, path));
        Self {
            folder,
            path,
            how,
            creates: may_create && (sure || (looks && !is_there())),
            before: found.map(|it| it.size),
            begun: count::begun(),
        }
    }

    /// With the flags that the open really had, where [`Asking::begin`] was told that it may
    /// create.
    pub(crate) fn with(self, how: i32) -> Self {
        let creates = match how & (O_CREAT | O_TMPFILE) {
            0 => false,
            O_CREAT => self.creates,
            _ => true,
        };
        Self {
            how,
            creates,
            before: self.before.filter(|_| how & O_TRUNC != 0),
            ..self
        }
    }

    /// After it: counts it and remembers what the descriptor is.
    pub(crate) fn end(self, fd: i32) {
        let Some(state) = state::get() else { return };
        if fd < 0 {
            return;
        }
        state.forget(fd);
        let Some(row) = resolve_new(state, fd, self.hash(), self.creates) else {
            count::without_row(fd, |others| more(&others.opens, 1));
            return;
        };
        // The first use of the file cut it.
        if let Some(before) = self.before
            && is_unused(row)
        {
            row.size_first.store(before, Relaxed);
        }
        let created = if self.creates { flag::CREATED } else { 0 };
        row.flags.fetch_or(opened(self.how) | created, Relaxed);
        more(&row.opens, 1);
        count::used(row, self.begun);
    }

    /// Of the path and of where it was looked up; never 0.
    fn hash(&self) -> u64 {
        let mut hash = mix(self.folder as u32 as u64 | 1 << 40);
        if self.path.is_null() {
            return hash | 1;
        }
        for i in 0..PATH_MAX {
            // SAFETY: the kernel just took this path, so it is readable up to its NUL.
            let byte = unsafe { self.path.wrapping_add(i).read() };
            if byte == 0 {
                break;
            }
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        mix(hash) | 1
    }
}

/// A descriptor came to be by other means than an open by path, which is counted.
pub(crate) fn opened_elsewhere(fd: i32, how: i32) {
    Asking {
        folder: fd,
        path: core::ptr::null(),
        how,
        creates: false,
        before: None,
        begun: 0,
    }
    .end_unasked();
}

impl Asking {
    /// As [`Asking::end`] where the path is not known.
    fn end_unasked(self) {
        let Some(state) = state::get() else { return };
        if self.folder < 0 {
            return;
        }
        state.forget(self.folder);
        match resolve(state, self.folder, 0) {
            Some(row) => {
                row.flags.fetch_or(opened(self.how), Relaxed);
                more(&row.opens, 1);
                count::used(row, 0);
            }
            None => count::without_row(self.folder, |others| more(&others.opens, 1)),
        }
    }
}

/// Whether nothing was counted on a row yet.
fn is_unused(row: &Row) -> bool {
    let sums = [&row.opens, &row.closes, &row.reads, &row.writes, &row.seeks];
    let none = |sum: &AtomicU64| sum.load(Relaxed) == 0;
    sums.into_iter().all(none) && row.sizes.iter().all(none)
}
