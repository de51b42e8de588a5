//! Buffered streams (`stdio.h`): the C library reads and writes for them within itself, through
//! tables of functions whose entries are replaced by functions that count.
//!
//! Only where the tables are what they have been since glibc 2.1: `_IO_file_jumps` holds the
//! exported `_IO_file_read` and `_IO_file_write`. Else streams are not seen, and that is said.

use crate::calls::Next;
use crate::count::{Way, begun, transferred};
use crate::descriptor::{closing, forget, meet, sought};
use crate::link;
use crate::system;
use crate::vector;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Whether streams are not seen.
static UNSEEN: AtomicBool = AtomicBool::new(true);

/// A function of the tables, and what stands in its place.
struct Entry {
    own: AtomicUsize,
}

impl Entry {
    const fn new() -> Self {
        Self {
            own: AtomicUsize::new(0),
        }
    }

    fn find(&self, name: &str) {
        self.own.store(link::next(name.as_bytes()), Relaxed);
    }
}

static READ: Entry = Entry::new();
static WRITE: Entry = Entry::new();
static SEEK: Entry = Entry::new();
static CLOSE: Entry = Entry::new();
/// Words of a table of functions.
const TABLE_WORDS: usize = 21;

/// Whether streams are not seen in this process.
pub(crate) fn is_unseen() -> bool {
    UNSEEN.load(Relaxed)
}

/// Replaces the entries.
pub(crate) fn begin() {
    let jumps = link::next(b"_IO_file_jumps");
    if jumps == 0 {
        return;
    }
    READ.find("_IO_file_read");
    WRITE.find("_IO_file_write");
    SEEK.find("_IO_file_seek");
    CLOSE.find("_IO_file_close");
    let own = |entry: &Entry| entry.own.load(Relaxed);
    let holds = |wanted| wanted != 0 && (0..TABLE_WORDS).any(|i| word(jumps + 8 * i) == wanted);
    if !holds(own(&READ)) || !holds(own(&WRITE)) {
        return;
    }
    let pairs = [
        (own(&READ), read as *const () as usize),
        (own(&WRITE), write as *const () as usize),
        (own(&SEEK), seek as *const () as usize),
        (own(&CLOSE), close as *const () as usize),
    ];
    let Some((start, end)) = link::sealed_around(jumps) else {
        return;
    };
    // The tables of plain, of wide and of piped streams are all in there.
    let found = |at: &usize| pairs.iter().any(|(own, _)| *own != 0 && *own == word(*at));
    let mut places = (start.next_multiple_of(8)..end.saturating_sub(7))
        .step_by(8)
        .filter(found);
    let Some(first) = places.next() else { return };
    let last = places.next_back().unwrap_or(first);
    // The dynamic linker sealed whole pages only.
    let page = vector::page();
    let sealed_end = end & !(page - 1);
    let from = first & !(page - 1);
    let until = ((last | (page - 1)) + 1).min(sealed_end);
    let sealed = until > from;
    if sealed && !system::protect(from, until - from, true) {
        return;
    }
    for at in (first..=last).step_by(8) {
        let held = word(at);
        if let Some((_, new)) = pairs.iter().find(|(own, _)| *own != 0 && *own == held) {
            store(at, *new);
        }
    }
    if sealed {
        system::protect(from, until - from, false);
    }
    UNSEEN.store(false, Relaxed);
}

fn word(at: usize) -> usize {
    // SAFETY: an aligned word of the C library's own data.
    unsafe { (*(at as *const AtomicUsize)).load(Relaxed) }
}

fn store(at: usize, value: usize) {
    // SAFETY: an aligned word of the C library's own data, which `begin` made writable.
    unsafe { (*(at as *const AtomicUsize)).store(value, Relaxed) };
}

/// The descriptor of a stream.
pub(crate) fn descriptor_of(stream: *mut u8) -> i32 {
    static FILENO: Next = Next::new();
    // SAFETY: the address of that function, or 0, which is `None`.
    let fileno: Option<extern "C" fn(*mut u8) -> i32> =
        unsafe { core::mem::transmute(FILENO.find("fileno")) };
    fileno.map_or(-1, |fileno| fileno(stream))
}

/// `_IO_file_read`.
extern "C" fn read(stream: *mut u8, to: *mut u8, bytes: isize) -> isize {
    // SAFETY: `begin` stored the address of that function before it put this in its place.
    let own: extern "C" fn(*mut u8, *mut u8, isize) -> isize =
        unsafe { core::mem::transmute(READ.own.load(Relaxed)) };
    let begun = begun();
    let result = own(stream, to, bytes);
    transferred(descriptor_of(stream), Way::In, result, begun);
    result
}

/// `_IO_file_write`, which gives back what it could write, 0 if it failed.
extern "C" fn write(stream: *mut u8, from: *const u8, bytes: isize) -> isize {
    // SAFETY: as in `read`.
    let own: extern "C" fn(*mut u8, *const u8, isize) -> isize =
        unsafe { core::mem::transmute(WRITE.own.load(Relaxed)) };
    meet(descriptor_of(stream));
    let begun = begun();
    let result = own(stream, from, bytes);
    let moved = if result <= 0 && bytes > 0 { -1 } else { result };
    transferred(descriptor_of(stream), Way::Out, moved, begun);
    result
}

/// `_IO_file_seek`.
extern "C" fn seek(stream: *mut u8, offset: i64, from: i32) -> i64 {
    // SAFETY: as in `read`.
    let own: extern "C" fn(*mut u8, i64, i32) -> i64 =
        unsafe { core::mem::transmute(SEEK.own.load(Relaxed)) };
    let begun = begun();
    let result = own(stream, offset, from);
    sought(descriptor_of(stream), begun);
    result
}

/// `_IO_file_close`.
extern "C" fn close(stream: *mut u8) -> i32 {
    // SAFETY: as in `read`.
    let own: extern "C" fn(*mut u8) -> i32 =
        unsafe { core::mem::transmute(CLOSE.own.load(Relaxed)) };
    let fd = descriptor_of(stream);
    closing(fd);
    let result = own(stream);
    forget(fd);
    result
}
