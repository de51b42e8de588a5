//! Counting a call on a row.

use crate::arch;
use crate::calls::errno;
use crate::clock;
use crate::descriptor;
use crate::hot;
use crate::layout::{Others, Row, SIZE_WRITES, class};
use crate::table;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// There is no room, or no more by a quota.
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// To the program.
    In,
    /// From the program.
    Out,
    /// To the program, by `recv` and its like.
    Received,
    /// From the program, by `send` and its like.
    Sent,
}

impl Way {
    const fn writes(self) -> bool {
        matches!(self, Way::Out | Way::Sent)
    }
}

/// When a call began, if that is asked for.
#[inline(always)]
pub(crate) fn begun() -> u64 {
    if table::takes_times() {
        clock::precise()
    } else {
        0
    }
}

/// Makes a call that moves bytes and counts it: one of those that programs make most.
#[inline(always)]
pub(crate) fn transfer_often(fd: i32, way: Way, call: impl FnOnce() -> isize) -> isize {
    if way == Way::Out {
        descriptor::meet(fd);
    }
    let begun = begun();
    let result = call();
    count(fd, way, result, begun);
    result
}

/// Likewise, in fewer bytes of code.
#[inline(always)]
pub(crate) fn transfer(fd: i32, way: Way, call: impl FnOnce() -> isize) -> isize {
    if way == Way::Out {
        descriptor::meet(fd);
    }
    let begun = begun();
    let result = call();
    transferred(fd, way, result, begun);
    result
}

/// Counts a call that moved `result` bytes, or failed.
#[inline(never)]
pub(crate) fn transferred(fd: i32, way: Way, result: isize, begun: u64) {
    count(fd, way, result, begun);
}

#[inline(always)]
fn count(fd: i32, way: Way, result: isize, begun: u64) {
    match descriptor::row(fd) {
        Some(row) => add(row, way, result, begun),
        None => without_row(fd, |others| add_others(others, way, result)),
    }
}

#[inline(always)]
fn add(row: &Row, way: Way, result: isize, begun: u64) {
    used(row, begun);
    if result < 0 {
        let calls = if way.writes() {
            &row.writes
        } else {
            &row.reads
        };
        more(calls, 1);
        more(&row.failed, 1);
        if way.writes() && is_no_space(result) {
            let one_more = |count: u32| count.checked_add(1);
            let _ = row.no_space.fetch_update(Relaxed, Relaxed, one_more);
        }
        return;
    }
    let bytes = result as u64;
    match way {
        Way::Received => more(&row.received, bytes),
        Way::Sent => more(&row.sent, bytes),
        Way::In | Way::Out => {}
    }
    // Sizes have 31 bits; a call moves less.
    let size = (bytes & 0x7fff_ffff) << 32 | if way.writes() { SIZE_WRITES } else { 0 };
    let single = hot::is_single();
    for place in &row.sizes {
        let mut word = place.load(Relaxed);
        while word >> 32 << 32 == size && word as u32 != 0 && word as u32 != u32::MAX {
            match arch::replace(place, word, word + 1, single) {
                Ok(_) => return,
                Err(changed) => word = changed,
            }
        }
    }
    new_size(row, size);
}

/// Counts a size for which there is no place: a free one, else that of the rarest.
#[cold]
#[inline(never)]
fn new_size(row: &Row, size: u64) {
    loop {
        let places = row.sizes.iter().map(|place| (place, place.load(Relaxed)));
        let Some((place, old)) = places.min_by_key(|(_, word)| *word as u32) else {
            return;
        };
        // The most frequent ones stay; a full count makes room for itself.
        let full = row
            .sizes
            .iter()
            .map(|place| (place, place.load(Relaxed)))
            .find(|(_, word)| word >> 32 << 32 == size && *word as u32 == u32::MAX);
        let (place, old) = full.unwrap_or((place, old));
        if place
            .compare_exchange(old, size | 1, Relaxed, Relaxed)
            .is_ok()
        {
            spill(row, old);
            return;
        }
    }
}

/// Adds a size and its count to the sums.
fn spill(row: &Row, word: u64) {
    let count = word & 0xffff_ffff;
    if count == 0 {
        return;
    }
    let bytes = word >> 32 & 0x7fff_ffff;
    let writes = word & SIZE_WRITES != 0;
    let (calls, sum) = if writes {
        (&row.writes, &row.bytes_written)
    } else {
        (&row.reads, &row.bytes_read)
    };
    more(calls, count);
    more(sum, count.wrapping_mul(bytes));
    if let Some(classes) = table::classes(row) {
        let sums = if writes {
            &classes.writes
        } else {
            &classes.reads
        };
        if let Some(place) = sums.get(class(bytes)) {
            more(place, count);
        }
    }
}

/// Notes the time of a call on a row.
#[inline(always)]
pub(crate) fn used(row: &Row, begun: u64) {
    row.last.store(clock::tick(), Relaxed);
    if begun != 0 {
        spent(row, begun);
    }
}

#[cold]
#[inline(never)]
fn spent(row: &Row, begun: u64) {
    more(&row.time, clock::precise().saturating_sub(begun));
}

/// Counts in the sum of what has no row, if `fd` is a file at all.
#[cold]
#[inline(never)]
pub(crate) fn without_row(fd: i32, count: impl FnOnce(&Others)) {
    if let Some(header) = table::find_header()
        && (crate::state::is_quiet() || crate::system::fstat(fd).is_some())
    {
        count(&header.others);
        if crate::state::is_quiet() {
            more(&header.blind_calls, 1);
            // At least one.
            header.others.rows.fetch_max(1, Relaxed);
        }
    }
}

/// Calls of `io_submit` that were counted in this process.
static SUBMISSIONS: AtomicU64 = AtomicU64::new(0);

pub(crate) fn submissions() -> u64 {
    SUBMISSIONS.load(Relaxed)
}

/// A call of `io_submit`, whatever it asks for.
pub(crate) fn submitted() {
    more(&SUBMISSIONS, 1);
    if let Some(header) = table::find_header() {
        more(&header.libaio_calls, 1);
    }
}

/// A ring of io_uring was made.
pub(crate) fn ringed() {
    if let Some(header) = table::find_header() {
        more(&header.rings, 1);
    }
}

/// A request of POSIX aio was made (`by` 1), or its result asked for (-1).
pub(crate) fn requested(by: i64) {
    if let Some(header) = table::find_header() {
        more(&header.aio_requests, by as u64);
    }
}

/// A program was executed into which the library is not loaded, or was not after all.
pub(crate) fn left_out(by: i64) {
    if let Some(header) = table::find_header() {
        more(&header.left_out, by as u64);
    }
}

fn add_others(others: &Others, way: Way, result: isize) {
    let (calls, sum) = if way.writes() {
        (&others.writes, &others.bytes_written)
    } else {
        (&others.reads, &others.bytes_read)
    };
    more(calls, 1);
    match u64::try_from(result) {
        Ok(bytes) => more(sum, bytes),
        Err(_) => {
            more(&others.failed, 1);
            if way.writes() && is_no_space(result) {
                more(&others.no_space, 1);
            }
        }
    }
}

/// Whether a call failed as there was no room, or no more by a quota: by the kernel's own answer,
/// or by what the C library made of it.
#[cold]
#[inline(never)]
fn is_no_space(result: isize) -> bool {
    let error = match result {
        -1 => errno(),
        answer => -answer as i32,
    };
    matches!(error, ENOSPC | EDQUOT)
}

#[inline(always)]
pub(crate) fn more(sum: &AtomicU64, by: u64) {
    sum.fetch_add(by, Relaxed);
}
