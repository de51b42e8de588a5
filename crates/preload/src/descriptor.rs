//! From a descriptor to the row of its file: asked of the kernel once, at the first use of a
//! descriptor, so that it does not matter how the process came by it.

use crate::clock;
use crate::count::{self, more};
use crate::hot;
use crate::layout::{PATH_MAX, Row, flag};
use crate::socket;
use crate::state::{self, State};
use crate::system::{self, Stat};
use crate::table;
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

const O_ACCESS: i32 = 3;
const O_WRONLY: i32 = 1;
const O_CREAT: i32 = 0o100;
const O_TRUNC: i32 = 0o1000;
const O_APPEND: i32 = 0o2000;
#[cfg(target_arch = "x86_64")]
const O_DIRECT: i32 = 0o40000;
#[cfg(target_arch = "aarch64")]
const O_DIRECT: i32 = 0o200_000;
const O_PATH: i32 = 0o10_000_000;

const FORMAT: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// The row of a descriptor's file.
#[inline(always)]
pub(crate) fn row(fd: i32) -> Option<&'static Row> {
    let state = state::get()?;
    match state.known(fd) {
        Some(row) => Some(row),
        None => resolve(state, fd, 0),
    }
}

/// Asks the kernel what a descriptor is; `asked` is the hash of the path that opened it, or 0.
#[inline(always)]
pub(crate) fn resolve(state: &'static State, fd: i32, asked: u64) -> Option<&'static Row> {
    resolve_new(state, fd, asked, false)
}

/// The same of one whose file may just have been created, if `is_new`.
#[cold]
#[inline(never)]
pub(crate) fn resolve_new(
    state: &'static State,
    fd: i32,
    asked: u64,
    is_new: bool,
) -> Option<&'static Row> {
    if fd < 0 || state::is_quiet() {
        return None;
    }
    let stat = system::fstat(fd)?;
    let row = find(state, fd, asked, is_new, &stat)?;
    looked_at(row, &stat);
    if asked == 0
        && let Some(how) = system::opened_with(fd)
    {
        row.flags
            .fetch_or(opened(how & !(O_CREAT | O_TRUNC)), Relaxed);
    }
    // Who borrows our memory has descriptors of his own.
    if state.is_ours() {
        state.know(fd, row);
        if socket::is_socket(stat.mode) {
            state.sockets_end.fetch_max(fd as u32 + 1, Relaxed);
        }
    }
    Some(row)
}

fn find(
    state: &'static State,
    fd: i32,
    asked: u64,
    is_new: bool,
    stat: &Stat,
) -> Option<&'static Row> {
    let (device, inode) = (stat.device, stat.inode);
    // A socket has no path, and one path by which the same file was opened leads to it again.
    let socket = socket::is_socket(stat.mode);
    let same = |row: &Row| socket || (asked != 0 && row.asked.load(Relaxed) == asked);
    let found = state.find(device, inode, |row| !is_former(row) && same(row));
    if let Some(row) = found
        && !leaves(state, row, is_new)
    {
        return Some(row);
    }
    if socket {
        return new(state, fd, asked, stat, b"");
    }
    state.with_path(|room| {
        let path = path_of(fd, stat, room);
        let same = |row: &Row| !is_former(row) && has_path(row, path);
        match state.find(device, inode, same) {
            Some(row) if !leaves(state, row, is_new) => {
                if asked != 0 {
                    row.asked.store(asked, Relaxed);
                }
                Some(row)
            }
            _ => new(state, fd, asked, stat, path),
        }
    })?
}

/// Rows of a process that are left to files whose number another one got.
const FORMER_MAX: u32 = 128;

fn is_former(row: &Row) -> bool {
    row.flags.load(Relaxed) & flag::FORMER != 0
}

/// Leaves a row to the file that it is of, if a new one has its number and path, and the former one
/// may have got another name before it was removed.
fn leaves(state: &State, row: &Row, is_new: bool) -> bool {
    let moves = || table::find_header().is_some_and(|it| it.moves.load(Relaxed) > 0);
    let is_another = is_new
        && is_regular(row.mode.load(Relaxed).into())
        && row.opens.load(Relaxed) > 0
        && moves()
        && state.former.load(Relaxed) < FORMER_MAX
        && state.former.fetch_add(1, Relaxed) < FORMER_MAX;
    if is_another {
        row.flags.fetch_or(flag::FORMER, Relaxed);
    }
    is_another
}

/// The path of a descriptor as /proc shows it, without the word that says it is gone.
fn path_of<'a>(fd: i32, stat: &Stat, room: &'a mut [u8; PATH_MAX]) -> &'a [u8] {
    const GONE: &[u8] = b" (deleted)";
    if LED.load(Relaxed) == led::UNKNOWN {
        let there = system::stat(link_of(fd).as_ptr());
        let right = there.is_some_and(|it| (it.device, it.inode) == (stat.device, stat.inode));
        LED.store(if right { led::RIGHT } else { led::WRONG }, Relaxed);
    }
    let bytes = read_link(fd, room);
    let path = room.get(..bytes).unwrap_or_default();
    match path.strip_suffix(GONE) {
        Some(path) if stat.links == 0 => path,
        _ => path,
    }
}

/// What /proc shows of a descriptor; its length.
pub(crate) fn read_link(fd: i32, room: &mut [u8; PATH_MAX]) -> usize {
    system::read_link(&link_of(fd), room)
}

/// Whether the thread's own descriptors in /proc are those that it has: to a program that runs
/// within a tracer which follows links in its place (proot) they are the tracer's.
static LED: AtomicU8 = AtomicU8::new(led::UNKNOWN);

/// Values of [`LED`].
mod led {
    pub(super) const UNKNOWN: u8 = 0;
    pub(super) const RIGHT: u8 = 1;
    pub(super) const WRONG: u8 = 2;
}

/// The path by which /proc leads to what is behind a descriptor, with a NUL.
pub(crate) fn link_of(fd: i32) -> [u8; 33] {
    // Of the thread: it may have descriptors of its own.
    let folder: &[u8] = match LED.load(Relaxed) {
        led::WRONG => b"/proc/self/fd/",
        _ => b"/proc/thread-self/fd/",
    };
    let mut link = [0; 33];
    for (place, byte) in link.iter_mut().zip(folder) {
        *place = *byte;
    }
    write_number(
        link.get_mut(folder.len()..).unwrap_or_default(),
        fd.max(0) as u32,
    );
    link
}

/// Writes a number in decimal digits.
fn write_number(to: &mut [u8], number: u32) {
    let mut count = 1;
    let mut rest = number / 10;
    while rest > 0 {
        count += 1;
        rest /= 10;
    }
    let mut rest = number;
    for place in to.iter_mut().take(count).rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Whether the path of a row is this one; of a long one its length and its beginning.
fn has_path(row: &Row, path: &[u8]) -> bool {
    let cut = row.flags.load(Relaxed) & flag::CUT != 0;
    let length = usize::from(row.path_bytes.load(Relaxed));
    (cut || length == path.len())
        && (row.path.iter().zip(path)).all(|(place, byte)| place.load(Relaxed) == *byte)
}

fn new(
    state: &'static State,
    fd: i32,
    asked: u64,
    stat: &Stat,
    path: &[u8],
) -> Option<&'static Row> {
    let Some(row) = table::new_row(state) else {
        let spare = table::spare_row(state);
        // Where not even that is there, each call comes here: the first one opened it.
        if (spare.is_some() || asked != 0)
            && let Some(header) = table::find_header()
        {
            more(&header.others.rows, 1);
        }
        return spare;
    };
    row.device.store(stat.device, Relaxed);
    row.inode.store(stat.inode, Relaxed);
    row.special.store(stat.special as u32, Relaxed);
    row.mode.store(stat.mode as u16, Relaxed);
    row.size_first.store(stat.size, Relaxed);
    row.asked.store(asked, Relaxed);
    // Names are changed at such times too: which of two files had one first is told by them.
    row.first.store(clock::precise(), Relaxed);
    row.last.store(clock::tick(), Relaxed);
    if socket::is_socket(stat.mode) {
        socket::describe(row, fd);
    } else {
        table::write_path(state, row, path);
    }
    // Some file systems show other device numbers than those of their mounts.
    if path.starts_with(b"/") {
        row.mount.store(system::mount_of(fd).unwrap_or(0), Relaxed);
    }
    table::show(row);
    state.keep(row);
    Some(row)
}

/// Takes down what the kernel just said of a file.
fn looked_at(row: &Row, stat: &Stat) {
    row.size_last.store(stat.size, Relaxed);
    row.size_writes.store(writes(row), Relaxed);
    if stat.links == 0 {
        row.flags.fetch_or(flag::UNLINKED, Relaxed);
    } else {
        row.flags.fetch_and(!flag::UNLINKED, Relaxed);
    }
}

/// Calls that wrote.
fn writes(row: &Row) -> u64 {
    let words = row.sizes.iter().map(|place| place.load(Relaxed));
    let kept = words.filter(|word| word & crate::layout::SIZE_WRITES != 0);
    let kept: u64 = kept.map(|word| word & 0xffff_ffff).sum();
    kept.wrapping_add(row.writes.load(Relaxed))
}

/// The flags of a row for those of an open.
pub(crate) const fn opened(how: i32) -> u32 {
    let mut flags = match how & O_ACCESS {
        0 => flag::READS,
        O_WRONLY => flag::WRITES,
        _ => flag::READS | flag::WRITES,
    };
    if how & O_PATH == O_PATH {
        return 0;
    }
    if how & O_TRUNC != 0 {
        flags |= flag::TRUNCATED;
    }
    if how & O_APPEND != 0 {
        flags |= flag::APPENDED;
    }
    if how & O_DIRECT != 0 {
        flags |= flag::DIRECT;
    }
    flags
}

/// Whether files may be looked at by calls of our own.
pub(crate) fn looks() -> bool {
    state::get().is_some() && !state::is_quiet()
}

/// A child created the file of this path before it became another program.
pub(crate) fn created(path: *const u8) {
    let Some(state) = state::get() else { return };
    let Some(fd) = system::open(path, system::TO_NAME) else {
        return;
    };
    if let Some(stat) = system::fstat(fd)
        && let Some(row) = find(state, fd, 0, false, &stat)
    {
        looked_at(row, &stat);
        row.flags.fetch_or(flag::CREATED, Relaxed);
    }
    system::close(fd);
}

/// A descriptor is about to be closed, which counts.
pub(crate) fn closing(fd: i32) {
    let Some(state) = state::get() else { return };
    match row(fd) {
        Some(row) => {
            more(&row.closes, 1);
            count::used(row, 0);
            let mode = u32::from(row.mode.load(Relaxed));
            if socket::is_socket(mode) {
                socket::renew(row, fd);
            }
            // One that only read too: others may have written to the file since it was opened.
            if is_regular(mode)
                && !state::is_quiet()
                && let Some(stat) = system::fstat(fd)
            {
                looked_at(row, &stat);
            }
        }
        None => count::without_row(fd, |others| more(&others.closes, 1)),
    }
    state.forget(fd);
}

/// A descriptor took the place of another one, which was closed and of the same file.
pub(crate) fn doubled_over(fd: i32) {
    match row(fd) {
        Some(row) => more(&row.closes, 1),
        None => count::without_row(fd, |others| more(&others.closes, 1)),
    }
}

/// A number may mean another file from now on.
#[inline(always)]
pub(crate) fn forget(fd: i32) {
    if let Some(state) = state::known() {
        state.forget(fd);
    }
}

/// So may all of these.
pub(crate) fn forget_from(first: u32, last: u32) {
    if let Some(state) = state::known() {
        state.forget_from(first, last);
    }
}

/// A thread is about to have descriptors of its own, if there are others.
pub(crate) fn part() {
    if let Some(state) = state::get()
        && !hot::is_single()
    {
        state.part();
    }
}

/// A file that is met first by a call that may change its size is looked at before.
#[inline(always)]
pub(crate) fn meet(fd: i32) {
    let Some(state) = state::get() else { return };
    if state.known(fd).is_none() {
        resolve(state, fd, 0);
    }
}

/// Whether a number still means a file.
pub(crate) fn is_open(fd: i32) -> bool {
    let known = state::known().is_some_and(|state| state.known(fd).is_some());
    known || state::is_quiet() || system::fstat(fd).is_some()
}

/// A seek.
pub(crate) fn sought(fd: i32, begun: u64) {
    match row(fd) {
        Some(row) => {
            more(&row.seeks, 1);
            count::used(row, begun);
        }
        None => count::without_row(fd, |others| more(&others.seeks, 1)),
    }
}

/// A file was cut or extended.
pub(crate) fn truncated(fd: i32, begun: u64) {
    if let Some(row) = row(fd) {
        row.flags.fetch_or(flag::TRUNCATED, Relaxed);
        count::used(row, begun);
        if !state::is_quiet()
            && let Some(stat) = system::fstat(fd)
        {
            looked_at(row, &stat);
        }
    }
}

/// The exec by which the process became this program ran the file that is behind a descriptor of
/// ours.
pub(crate) fn executed(fd: i32, stat: &Stat) {
    let Some(state) = state::get() else { return };
    match find(state, fd, 0, false, stat) {
        Some(row) => {
            looked_at(row, stat);
            row.flags.fetch_or(flag::EXECUTED, Relaxed);
        }
        None => count::without_row(fd, |others| more(&others.executions, 1)),
    }
}

/// Whether a file is a regular one.
pub(crate) const fn is_regular(mode: u32) -> bool {
    mode & FORMAT == REGULAR
}

/// A file was mapped.
pub(crate) fn mapped(fd: i32) {
    if let Some(row) = row(fd) {
        row.flags.fetch_or(flag::MAPPED, Relaxed);
        count::used(row, 0);
    }
}
