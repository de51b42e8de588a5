//! The system calls that the library makes by itself; none of them touches `errno`.

use crate::arch::{self, call};

/// `AT_FDCWD`.
pub(crate) const HERE: i32 = -100;
const O_CLOEXEC: i32 = 0o2_000_000;
/// To open for reading, and again not across an exec.
pub(crate) const TO_READ: i32 = O_CLOEXEC;
/// Likewise for both.
pub(crate) const TO_CHANGE: i32 = O_CLOEXEC | 2;
/// To ask what it is, without reading it (`O_PATH`).
pub(crate) const TO_NAME: i32 = O_CLOEXEC | 0o10_000_000;
const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
const MADV_DONTFORK: usize = 10;
const MADV_WIPEONFORK: usize = 18;
const PR_GET_AUXV: usize = 0x4155_5856;
const ENOSYS: isize = 38;
/// Answers from here on are errors.
const ERRORS: isize = -4095;

/// What the kernel says of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) special: u64,
    pub(crate) mode: u32,
    pub(crate) links: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) size: u64,
}

/// Room for `struct stat`.
type StatBytes = [u64; 18];

fn decode(bytes: &StatBytes) -> Stat {
    let word = |at: usize| bytes.get(at / 8).copied().unwrap_or_default();
    let half = |at: usize| (word(at) >> (at % 8 * 8)) as u32;
    Stat {
        device: word(0),
        inode: word(8),
        special: word(arch::STAT_RDEV),
        mode: half(arch::STAT_MODE),
        links: half(arch::STAT_LINKS),
        user: half(arch::STAT_USER),
        group: half(arch::STAT_USER + 4),
        size: word(48),
    }
}

/// `fstat(2)`.
pub(crate) fn fstat(fd: i32) -> Option<Stat> {
    let mut bytes: StatBytes = [0; 18];
    let arguments = [fd as usize, bytes.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel writes one `struct stat`, which has 18 words or fewer.
    let answer = unsafe { call(arch::NR_FSTAT, arguments) };
    (answer == 0).then(|| decode(&bytes))
}

/// `stat(2)` of a path that ends with a NUL.
pub(crate) fn stat(path: *const u8) -> Option<Stat> {
    stat_at(path, 0)
}

/// `lstat(2)` of a path that ends with a NUL.
pub(crate) fn stat_link(path: *const u8) -> Option<Stat> {
    const AT_SYMLINK_NOFOLLOW: usize = 0x100;
    stat_at(path, AT_SYMLINK_NOFOLLOW)
}

/// `fstatat(2)` of a path that ends with a NUL.
pub(crate) fn stat_from(folder: i32, path: *const u8) -> Option<Stat> {
    stat_with(folder, path, 0)
}

fn stat_at(path: *const u8, how: usize) -> Option<Stat> {
    stat_with(HERE, path, how)
}

fn stat_with(folder: i32, path: *const u8, how: usize) -> Option<Stat> {
    let mut bytes: StatBytes = [0; 18];
    let to = bytes.as_mut_ptr() as usize;
    let arguments = [folder as usize, path as usize, to, how, 0, 0];
    // SAFETY: the kernel writes one `struct stat`, and refuses a path that cannot be read.
    let answer = unsafe { call(arch::NR_NEWFSTATAT, arguments) };
    (answer == 0).then(|| decode(&bytes))
}

/// The mount that a descriptor's file lies on, as `/proc/self/mountinfo` calls it (Linux 5.8).
pub(crate) fn mount_of(fd: i32) -> Option<u32> {
    const AT_EMPTY_PATH: usize = 0x1000;
    const STATX_MNT_ID: usize = 0x1000;
    // `struct statx`: its first word has the mask in its lower half.
    const WORDS: usize = 32;
    const MNT_ID_AT: usize = 18;
    let mut bytes = [0u64; WORDS];
    let to = bytes.as_mut_ptr() as usize;
    let empty = c"".as_ptr() as usize;
    let arguments = [fd as usize, empty, AT_EMPTY_PATH, STATX_MNT_ID, to, 0];
    // SAFETY: the kernel writes one `struct statx`, which has 32 words.
    let answer = unsafe { call(arch::NR_STATX, arguments) };
    let [mask, ..] = bytes;
    let told = answer == 0 && mask as u32 as usize & STATX_MNT_ID != 0;
    let id = bytes.get(MNT_ID_AT).filter(|_| told)?;
    u32::try_from(*id).ok()
}

/// Whether there is a file of this path, seen from `folder`.
pub(crate) fn exists(folder: i32, path: *const u8) -> bool {
    let arguments = [folder as usize, path as usize, 0, 0, 0, 0];
    // SAFETY: nothing is written, and the kernel refuses a path that cannot be read.
    unsafe { call(arch::NR_FACCESSAT, arguments) == 0 }
}

/// `open(2)` of a path that ends with a NUL.
pub(crate) fn open(path: *const u8, flags: i32) -> Option<i32> {
    let arguments = [HERE as usize, path as usize, flags as usize, 0, 0, 0];
    // SAFETY: nothing is written, and the kernel refuses a path that cannot be read.
    let answer = unsafe { call(arch::NR_OPENAT, arguments) };
    (answer >= 0).then_some(answer as i32)
}

/// `close(2)` of a descriptor of our own.
pub(crate) fn close(fd: i32) {
    // SAFETY: whoever calls this opened it.
    unsafe { call(arch::NR_CLOSE, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// `pread(2)`; how many bytes came.
pub(crate) fn read_at(fd: i32, to: &mut [u8], offset: u64) -> usize {
    let (at, bytes) = (to.as_mut_ptr() as usize, to.len());
    let arguments = [fd as usize, at, bytes, offset as usize, 0, 0];
    // SAFETY: the kernel writes no more than the length of `to`.
    let answer = unsafe { call(arch::NR_PREAD64, arguments) };
    usize::try_from(answer).unwrap_or(0)
}

/// `readlink(2)`; the length of the target, cut to that of `to`.
pub(crate) fn read_link(path: &[u8], to: &mut [u8]) -> usize {
    let (at, bytes) = (to.as_mut_ptr() as usize, to.len());
    let arguments = [HERE as usize, path.as_ptr() as usize, at, bytes, 0, 0];
    // SAFETY: `path` ends with a NUL by those who call this; the kernel writes no more than the
    // length of `to`.
    let answer = unsafe { call(arch::NR_READLINKAT, arguments) };
    usize::try_from(answer).unwrap_or(0)
}

/// `getcwd(2)`; the length of the path, nothing if it is longer than `to` or there is none.
pub(crate) fn working_folder(to: &mut [u8]) -> Option<usize> {
    let (at, bytes) = (to.as_mut_ptr() as usize, to.len());
    // SAFETY: the kernel writes no more than the length of `to`.
    let answer = unsafe { call(arch::NR_GETCWD, [at, bytes, 0, 0, 0, 0]) };
    // With its NUL.
    usize::try_from(answer).ok()?.checked_sub(1)
}

/// How a descriptor was opened (`F_GETFL`).
pub(crate) fn opened_with(fd: i32) -> Option<i32> {
    const F_GETFL: usize = 3;
    // SAFETY: nothing is written.
    let answer = unsafe { call(arch::NR_FCNTL, [fd as usize, F_GETFL, 0, 0, 0, 0]) };
    (answer >= 0).then_some(answer as i32)
}

/// An option of a socket, into `to`; how many bytes it has.
pub(crate) fn socket_option(fd: i32, level: usize, name: usize, to: &mut [u8]) -> Option<usize> {
    let mut bytes = to.len() as u32;
    let length = (&raw mut bytes) as usize;
    let arguments = [
        fd as usize,
        level,
        name,
        to.as_mut_ptr() as usize,
        length,
        0,
    ];
    // SAFETY: the kernel writes no more than the length of `to`, and how much it was.
    let answer = unsafe { call(arch::NR_GETSOCKOPT, arguments) };
    (answer == 0).then_some(to.len().min(bytes as usize))
}

/// Likewise, of one that is a number.
pub(crate) fn socket_number(fd: i32, level: usize, name: usize) -> Option<u32> {
    let mut bytes = [0; 4];
    let length = socket_option(fd, level, name, &mut bytes)?;
    (length == bytes.len()).then(|| u32::from_ne_bytes(bytes))
}

/// `getsockname(2)`, into `to`; the length of the address.
pub(crate) fn socket_name(fd: i32, to: &mut [u8]) -> Option<usize> {
    address(arch::NR_GETSOCKNAME, fd, to)
}

/// `getpeername(2)`, likewise.
pub(crate) fn peer_name(fd: i32, to: &mut [u8]) -> Option<usize> {
    address(arch::NR_GETPEERNAME, fd, to)
}

fn address(number: usize, fd: i32, to: &mut [u8]) -> Option<usize> {
    let mut bytes = to.len() as u32;
    let length = (&raw mut bytes) as usize;
    let arguments = [fd as usize, to.as_mut_ptr() as usize, length, 0, 0, 0];
    // SAFETY: the kernel writes no more than the length of `to`, and how much it was.
    let answer = unsafe { call(number, arguments) };
    (answer == 0).then_some(to.len().min(bytes as usize))
}

/// Fills `to` with what lies at `from` in this process; whether all of it could be read.
#[cold]
#[inline(never)]
pub(crate) fn read_own(from: *const u8, to: &mut [u8]) -> bool {
    let local = [to.as_mut_ptr() as usize, to.len()];
    let remote = [from as usize, to.len()];
    let (local, remote) = (local.as_ptr() as usize, remote.as_ptr() as usize);
    let arguments = [pid() as usize, local, 1, remote, 1, 0];
    // SAFETY: the kernel writes no more than the length of `to`, and refuses to read what is not
    // there.
    let answer = unsafe { call(arch::NR_PROCESS_VM_READV, arguments) };
    usize::try_from(answer) == Ok(to.len())
}

/// The process's number in its own namespace.
pub(crate) fn pid() -> u32 {
    // SAFETY: nothing is written.
    unsafe { call(arch::NR_GETPID, [0; 6]) as u32 }
}

/// The user and the group that count.
pub(crate) fn user_and_group() -> (u32, u32) {
    // SAFETY: nothing is written.
    let user = unsafe { call(arch::NR_GETEUID, [0; 6]) };
    // SAFETY: nothing is written.
    let group = unsafe { call(arch::NR_GETEGID, [0; 6]) };
    (user as u32, group as u32)
}

fn mapped(answer: isize) -> Option<usize> {
    (!(ERRORS..0).contains(&answer)).then_some(answer as usize)
}

/// Maps a part of a file, to be shared with everybody who maps it.
pub(crate) fn map_shared(fd: i32, offset: u64, bytes: usize) -> Option<usize> {
    let arguments = [
        0,
        bytes,
        PROT_READ_WRITE,
        MAP_SHARED,
        fd as usize,
        offset as usize,
    ];
    // SAFETY: a new mapping where the kernel has room touches no other memory.
    mapped(unsafe { call(arch::NR_MMAP, arguments) })
}

/// Memory of zeros.
pub(crate) fn map_private(bytes: usize) -> Option<usize> {
    let arguments = [
        0,
        bytes,
        PROT_READ_WRITE,
        MAP_PRIVATE_ANONYMOUS,
        usize::MAX,
        0,
    ];
    // SAFETY: a new mapping where the kernel has room touches no other memory.
    mapped(unsafe { call(arch::NR_MMAP, arguments) })
}

/// Gives back what [`map_private`] or [`map_shared`] gave.
pub(crate) fn unmap(at: usize, bytes: usize) {
    // SAFETY: whoever calls this mapped it and uses it no more.
    unsafe { call(arch::NR_MUNMAP, [at, bytes, 0, 0, 0, 0]) };
}

/// A forked child does not have this mapping of ours.
pub(crate) fn keep_from_children(at: usize, bytes: usize) -> bool {
    // SAFETY: this process's memory stays as it is.
    unsafe { call(arch::NR_MADVISE, [at, bytes, MADV_DONTFORK, 0, 0, 0]) == 0 }
}

/// A forked child finds zeros in this mapping of ours.
pub(crate) fn wipe_in_children(at: usize, bytes: usize) -> bool {
    // SAFETY: this process's memory stays as it is.
    unsafe { call(arch::NR_MADVISE, [at, bytes, MADV_WIPEONFORK, 0, 0, 0]) == 0 }
}

/// Lets pages be written, or not.
pub(crate) fn protect(at: usize, bytes: usize, writable: bool) -> bool {
    let how = if writable { PROT_READ_WRITE } else { PROT_READ };
    // SAFETY: whoever calls this knows that the pages are data, and gives them back as they were.
    unsafe { call(arch::NR_MPROTECT, [at, bytes, how, 0, 0, 0]) == 0 }
}

/// The auxiliary vector, into `to`: from the kernel (Linux 6.4), else from /proc, where the kernel
/// has to make files for it first.
pub(crate) fn auxiliary(to: &mut [u64]) -> usize {
    let (at, bytes) = (to.as_mut_ptr() as usize, size_of_val(to));
    // SAFETY: the kernel writes no more than the length of `to`.
    let mut answer = unsafe { call(arch::NR_PRCTL, [PR_GET_AUXV, at, bytes, 0, 0, 0]) };
    if answer <= 0
        && let Some(fd) = open(c"/proc/self/auxv".as_ptr().cast(), TO_READ)
    {
        // SAFETY: the kernel writes no more than the length of `to`.
        answer = unsafe { call(arch::NR_PREAD64, [fd as usize, at, bytes, 0, 0, 0]) };
        close(fd);
    }
    to.len().min(usize::try_from(answer).unwrap_or(0) / 8)
}

/// A time of the kernel's own clock, ns; the long way.
#[cold]
#[inline(never)]
pub(crate) fn clock(which: usize) -> u64 {
    let mut time = [0u64; 2];
    let to = time.as_mut_ptr() as usize;
    // SAFETY: the kernel writes two words.
    unsafe { call(arch::NR_CLOCK_GETTIME, [which, to, 0, 0, 0, 0]) };
    let [seconds, nanos] = time;
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
}

/// A call that a C function of the program stands for, where that function cannot be found.
#[cold]
#[inline(never)]
pub(crate) fn pass(number: usize, arguments: [usize; 6]) -> isize {
    // SAFETY: as good as the program's own call, whose arguments these are.
    unsafe { call(number, arguments) }
}

/// A call of the program that nothing here can make.
pub(crate) const fn refuse() -> isize {
    -ENOSYS
}

/// Ends the process as `abort(3)` does.
#[cfg(shared_object)]
pub(crate) fn abort() -> ! {
    exit(134)
}

/// Ends the process as `_exit(2)` does.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(arch::NR_EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]) };
    }
}
