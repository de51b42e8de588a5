//! Opening by path.

use super::wrap;
use crate::arch::NR_OPENAT;
use crate::opening::{Asking, opened_elsewhere};
use crate::system::HERE;

const O_CREAT: i32 = 0o100;
const O_TRUNC: i32 = 0o1000;
pub(super) const O_WRONLY_CREAT_TRUNC: i32 = 0o1101;
const O_RDWR_CREAT_EXCL: i32 = 0o302;

wrap! {
    fn open(path: *const u8, how: i32, mode: u32) -> i32, raw NR_OPENAT, [HERE, path, how, mode]
        => |next| ask(HERE, path, how, next);
    fn open64(path: *const u8, how: i32, mode: u32) -> i32, raw NR_OPENAT, [HERE, path, how, mode]
        => |next| ask(HERE, path, how, next);
    fn __open(path: *const u8, how: i32, mode: u32) -> i32, raw NR_OPENAT, [HERE, path, how, mode]
        => |next| ask(HERE, path, how, next);
    fn __open64(path: *const u8, how: i32, mode: u32) -> i32,
        raw NR_OPENAT, [HERE, path, how, mode] => |next| ask(HERE, path, how, next);
    fn __open_2(path: *const u8, how: i32) -> i32, raw NR_OPENAT, [HERE, path, how]
        => |next| ask(HERE, path, how, next);
    fn __open64_2(path: *const u8, how: i32) -> i32, raw NR_OPENAT, [HERE, path, how]
        => |next| ask(HERE, path, how, next);
    fn openat(folder: i32, path: *const u8, how: i32, mode: u32) -> i32,
        raw NR_OPENAT, [folder, path, how, mode] => |next| ask(folder, path, how, next);
    fn openat64(folder: i32, path: *const u8, how: i32, mode: u32) -> i32,
        raw NR_OPENAT, [folder, path, how, mode] => |next| ask(folder, path, how, next);
    fn __openat_2(folder: i32, path: *const u8, how: i32) -> i32,
        raw NR_OPENAT, [folder, path, how] => |next| ask(folder, path, how, next);
    fn __openat64_2(folder: i32, path: *const u8, how: i32) -> i32,
        raw NR_OPENAT, [folder, path, how] => |next| ask(folder, path, how, next);
    fn creat(path: *const u8, mode: u32) -> i32,
        raw NR_OPENAT, [HERE, path, O_WRONLY_CREAT_TRUNC, mode]
        => |next| ask(HERE, path, O_WRONLY_CREAT_TRUNC, next);
    fn creat64(path: *const u8, mode: u32) -> i32,
        raw NR_OPENAT, [HERE, path, O_WRONLY_CREAT_TRUNC, mode]
        => |next| ask(HERE, path, O_WRONLY_CREAT_TRUNC, next);

    fn mkstemp(path: *mut u8) -> i32 => |next| made(O_RDWR_CREAT_EXCL, next);
    fn mkstemp64(path: *mut u8) -> i32 => |next| made(O_RDWR_CREAT_EXCL, next);
    fn mkostemp(path: *mut u8, how: i32) -> i32 => |next| made(O_RDWR_CREAT_EXCL | how, next);
    fn mkostemp64(path: *mut u8, how: i32) -> i32 => |next| made(O_RDWR_CREAT_EXCL | how, next);
    fn mkstemps(path: *mut u8, end: i32) -> i32 => |next| made(O_RDWR_CREAT_EXCL, next);
    fn mkstemps64(path: *mut u8, end: i32) -> i32 => |next| made(O_RDWR_CREAT_EXCL, next);
    fn mkostemps(path: *mut u8, end: i32, how: i32) -> i32
        => |next| made(O_RDWR_CREAT_EXCL | how, next);
    fn mkostemps64(path: *mut u8, end: i32, how: i32) -> i32
        => |next| made(O_RDWR_CREAT_EXCL | how, next);
    fn shm_open(name: *const u8, how: i32, mode: u32) -> i32 => |next| made(how & !O_CREAT, next);
    fn posix_openpt(how: i32) -> i32 => |next| made(how, next);
}

pub(super) fn ask(folder: i32, path: *const u8, how: i32, call: impl FnOnce() -> i32) -> i32 {
    let asking = Asking::begin(folder, path, how);
    let fd = call();
    asking.end(fd);
    fd
}

/// `openat2(2)`, whose flags begin a structure: read when the kernel has taken it.
pub(super) fn ask_how(
    folder: i32,
    path: *const u8,
    asked: *const u64,
    call: impl FnOnce() -> i32,
) -> i32 {
    let asking = Asking::begin(folder, path, O_CREAT | O_TRUNC);
    let fd = call();
    if fd >= 0 {
        // SAFETY: the kernel just read the structure.
        let how = unsafe { asked.read_unaligned() };
        asking.with(how as i32).end(fd);
    }
    fd
}

/// An open whose path is not told.
fn made(how: i32, call: impl FnOnce() -> i32) -> i32 {
    let fd = call();
    opened_elsewhere(fd, how);
    fd
}
