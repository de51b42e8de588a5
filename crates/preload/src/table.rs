//! The table that this process shares with the monitor: its header, chunks of our own, and slots.

use crate::hot::HOT;
use crate::layout::{
    CHUNK_BYTES, CHUNKS, CHUNKS_OF_A_PROCESS, Chunk, Classes, HEADER_BYTES, Header, MAGIC,
    NAMES_SLOTS, NAMES_SLOTS_OF_A_PROCESS, Name, Names, Row, SLOT_BYTES, SLOTS, Socket, TABLE_AT,
    TIMES, slot,
};
use crate::state::{self, State};
use crate::system;
use core::sync::atomic::{
    AtomicBool,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// It was found that there is none.
static NONE: AtomicBool = AtomicBool::new(false);

/// The header, if it is mapped.
#[inline(always)]
pub(crate) fn header() -> Option<&'static Header> {
    let at = HOT.header.load(Acquire);
    if at == 0 {
        return None;
    }
    // SAFETY: `map_header` mapped it for as long as the process lives; all of it is atomic.
    Some(unsafe { &*(at as *const Header) })
}

/// Whether the time of calls is taken.
#[inline(always)]
pub(crate) fn takes_times() -> bool {
    HOT.times.load(Relaxed)
}

/// The header, mapped if need be.
pub(crate) fn find_header() -> Option<&'static Header> {
    if let Some(header) = header() {
        return Some(header);
    }
    if NONE.load(Relaxed) || state::is_quiet() {
        return None;
    }
    let fd = open()?;
    let header = map_header(fd);
    system::close(fd);
    header
}

/// The file that we were loaded from, to be changed. Never kept open: the program's descriptors are
/// its own.
fn open() -> Option<i32> {
    let fd = system::open(crate::start::own_path()?, system::TO_CHANGE);
    // In another /proc the same path may lead elsewhere.
    let ours = fd.filter(|fd| system::fstat(*fd).is_some_and(|it| crate::start::is_own_file(&it)));
    if ours.is_none() {
        if let Some(other) = fd {
            system::close(other);
        }
        NONE.store(header().is_none(), Relaxed);
    }
    ours
}

fn map_header(fd: i32) -> Option<&'static Header> {
    if let Some(header) = header() {
        return Some(header);
    }
    let mut magic = [0; 8];
    let is_whole = system::read_at(fd, &mut magic, TABLE_AT) == magic.len();
    if !is_whole || u64::from_ne_bytes(magic) != MAGIC {
        NONE.store(true, Relaxed);
        return None;
    }
    let at = system::map_shared(fd, TABLE_AT, HEADER_BYTES)?;
    if HOT.header.compare_exchange(0, at, AcqRel, Relaxed).is_err() {
        system::unmap(at, HEADER_BYTES);
    }
    let header = header()?;
    let times = header.asked.load(Relaxed) & TIMES != 0;
    HOT.times.store(times, Relaxed);
    Some(header)
}

/// The number of this process, as the /proc knows it in which the monitor is found.
fn pid_in_proc() -> u32 {
    let mut digits = [0; 12];
    let bytes = system::read_link(b"/proc/self\0", &mut digits);
    let digits = digits.get(..bytes).unwrap_or_default();
    digits.iter().fold(0, |number: u32, digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(u32::from(digit.wrapping_sub(b'0')))
    })
}

/// A free chunk of the table: one that an ended process had, else a new one.
fn claim(header: &Header) -> Option<u32> {
    loop {
        let head = header.head.load(Acquire);
        if head == header.tail.load(Acquire) {
            break;
        }
        let place = header.free.get((head % CHUNKS) as usize)?;
        let number = place.load(Relaxed);
        let next = head.wrapping_add(1);
        if header
            .head
            .compare_exchange(head, next, AcqRel, Relaxed)
            .is_ok()
        {
            return (number < CHUNKS).then_some(number);
        }
    }
    // Looked at first, so that it does not turn over.
    if header.next.load(Relaxed) >= CHUNKS {
        return None;
    }
    let number = header.next.fetch_add(1, Relaxed);
    (number < CHUNKS).then_some(number)
}

/// Takes one more chunk for this process.
fn take_chunk(state: &State) -> Option<&'static Chunk> {
    if state.full.load(Relaxed) || state::is_quiet() || !state.is_ours() {
        return None;
    }
    let fd = open()?;
    let chunk = map_header(fd).and_then(|header| map_chunk(state, header, fd));
    system::close(fd);
    if chunk.is_none() {
        state.full.store(true, Relaxed);
    }
    chunk
}

fn map_chunk(state: &State, header: &Header, fd: i32) -> Option<&'static Chunk> {
    if state.chunks.fetch_add(1, Relaxed) >= CHUNKS_OF_A_PROCESS {
        return None;
    }
    let pid = pid_in_proc();
    let number = claim(header)?;
    let offset = TABLE_AT + HEADER_BYTES as u64 + u64::from(number) * CHUNK_BYTES as u64;
    let at = system::map_shared(fd, offset, CHUNK_BYTES)?;
    if !system::keep_from_children(at, CHUNK_BYTES) {
        system::unmap(at, CHUNK_BYTES);
        return None;
    }
    let chunk = chunk_at(at);
    chunk.number.store(number, Relaxed);
    // The first one keeps a row for what will find no room.
    let is_first = state.spare.load(Relaxed) == 0;
    chunk.used.store(if is_first { 2 } else { 1 }, Relaxed);
    if is_first {
        state.spare.store(at + SLOT_BYTES, Release);
    }
    chunk.pid.store(pid, Release);
    if state.chunk.swap(at, AcqRel) == 0 {
        header.attached.fetch_add(1, Relaxed);
        if crate::stdio::is_unseen() {
            header.without_stdio.fetch_add(1, Relaxed);
        }
    }
    Some(chunk)
}

fn chunk_at(at: usize) -> &'static Chunk {
    // SAFETY: only addresses of chunks that this process mapped come here; they stay mapped as long
    // as the process lives, and all of a chunk is atomic.
    unsafe { &*(at as *const Chunk) }
}

/// A slot of this process: its number in the whole table, and where it is.
pub(crate) struct Slot {
    number: u32,
    at: usize,
}

/// Takes `count` slots in a row.
fn take_slots(state: &State, count: u32) -> Option<Slot> {
    let here = state.chunk.load(Acquire);
    let mut chunk = if here == 0 {
        take_chunk(state)?
    } else {
        chunk_at(here)
    };
    // A chunk that another thread fills at once is passed over.
    for _ in 0..4 {
        let first = chunk.used.fetch_add(count, Relaxed);
        if first.saturating_add(count) <= SLOTS {
            let number = chunk
                .number
                .load(Relaxed)
                .wrapping_mul(SLOTS)
                .wrapping_add(first);
            let at = core::ptr::from_ref(chunk) as usize + first as usize * SLOT_BYTES;
            return Some(Slot { number, at });
        }
        // Kept from turning over.
        chunk.used.store(SLOTS, Relaxed);
        chunk = take_chunk(state)?;
    }
    None
}

/// A new row, to be filled and then shown with [`show`].
pub(crate) fn new_row(state: &State) -> Option<&'static Row> {
    let slot = take_slots(state, 1)?;
    // SAFETY: a slot of a chunk of ours, which stays mapped; all of a row is atomic.
    Some(unsafe { &*(slot.at as *const Row) })
}

/// The row of this process for all files that find no room.
pub(crate) fn spare_row(state: &State) -> Option<&'static Row> {
    let at = state.spare.load(Acquire);
    if at == 0 {
        return None;
    }
    // SAFETY: a slot of a chunk of ours, which stays mapped; all of a row is atomic.
    let row = unsafe { &*(at as *const Row) };
    row.flags.fetch_or(crate::layout::flag::OTHERS, Relaxed);
    show(row);
    Some(row)
}

/// What is known of the socket of a row.
pub(crate) fn socket(row: &Row) -> &Socket {
    // SAFETY: the row of a socket has no path, in whose place there is room for this; all of it is
    // atomic.
    unsafe { &*row.path.as_ptr().cast() }
}

/// Lets the monitor see a row.
pub(crate) fn show(row: &Row) {
    row.state.store(slot::ROW, Release);
}

/// Keeps the path of a row.
pub(crate) fn write_path(state: &State, row: &Row, path: &[u8]) {
    let (head, tail) = path.split_at(path.len().min(row.path.len()));
    for (place, byte) in row.path.iter().zip(head) {
        place.store(*byte, Relaxed);
    }
    let mut kept = head.len();
    if !tail.is_empty() {
        let slots = tail.len().div_ceil(SLOT_BYTES) as u32;
        if let Some(slot) = take_slots(state, slots) {
            // SAFETY: slots of a chunk of ours, enough of them, which nobody else has.
            let room = unsafe { core::slice::from_raw_parts_mut(slot.at as *mut u8, tail.len()) };
            room.copy_from_slice(tail);
            row.more.store(slot.number, Relaxed);
            kept = path.len();
        }
    }
    if kept < path.len() {
        row.flags.fetch_or(crate::layout::flag::CUT, Relaxed);
    }
    row.path_bytes.store(kept as u16, Relaxed);
}

/// Room for `bytes` in a block of names.
pub(crate) fn take_name(state: &State, bytes: usize) -> Option<&'static Name> {
    // A block that another thread fills at once is passed over.
    for _ in 0..4 {
        let here = state.names.load(Acquire);
        if here != 0
            && let Some(name) = take_of(names_at(here), bytes)
        {
            return Some(name);
        }
        let block = new_names(state, bytes)?;
        state.names.store(block, Release);
    }
    None
}

fn take_of(names: &'static Names, bytes: usize) -> Option<&'static Name> {
    let room = names.slots.load(Relaxed) as usize * SLOT_BYTES;
    let more = |used: u32| {
        let end = used as usize + bytes;
        (end <= room).then_some(end as u32)
    };
    let first = names.used.fetch_update(Relaxed, Relaxed, more).ok()?;
    let at = core::ptr::from_ref(names) as usize + first as usize;
    // SAFETY: within the slots of the block, in front of its end; all of a name is atomic.
    Some(unsafe { &*(at as *const Name) })
}

fn new_names(state: &State, bytes: usize) -> Option<usize> {
    let least = (size_of::<Names>() + bytes).div_ceil(SLOT_BYTES) as u32;
    let slots = least.max(NAMES_SLOTS);
    // Looked at first, so that it does not turn over.
    if state.names_slots.load(Relaxed) >= NAMES_SLOTS_OF_A_PROCESS {
        return None;
    }
    let taken = take_slots(state, slots)?;
    state.names_slots.fetch_add(slots, Relaxed);
    let names = names_at(taken.at);
    names.used.store(size_of::<Names>() as u32, Relaxed);
    names.slots.store(slots, Relaxed);
    names.state.store(slot::NAMES, Release);
    Some(taken.at)
}

fn names_at(at: usize) -> &'static Names {
    // SAFETY: only addresses of slots of this process come here; they stay mapped, and all of the
    // head of a block is atomic.
    unsafe { &*(at as *const Names) }
}

/// Where a row counts sizes that it does not keep exactly.
pub(crate) fn classes(row: &Row) -> Option<&'static Classes> {
    let mut at = row.classes_here.load(Acquire) as usize;
    if at == 0 {
        let slot = take_slots(state::get()?, 1)?;
        at = match row
            .classes_here
            .compare_exchange(0, slot.at as u64, AcqRel, Acquire)
        {
            Ok(_) => {
                row.classes.store(slot.number, Relaxed);
                slot.at
            }
            Err(other) => other as usize,
        };
    }
    // SAFETY: a slot of a chunk of ours, which stays mapped; all of it is atomic.
    Some(unsafe { &*(at as *const Classes) })
}
