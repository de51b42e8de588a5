//! Streams and folders: what opens and closes them; what they move is counted in `stdio.rs`.

use super::wrap;
use crate::descriptor::{closing, doubled_over, forget};
use crate::environment;
use crate::opening::{Asking, opened_elsewhere};
use crate::stdio::descriptor_of;
use crate::system::HERE;

const O_WRONLY: i32 = 1;
const O_RDWR: i32 = 2;
const O_CREAT: i32 = 0o100;
const O_EXCL: i32 = 0o200;
const O_TRUNC: i32 = 0o1000;
const O_APPEND: i32 = 0o2000;

wrap! {
    fn fopen(path: *const u8, mode: *const u8) -> *mut u8 => |next| open(path, mode, next);
    fn fopen64(path: *const u8, mode: *const u8) -> *mut u8 => |next| open(path, mode, next);
    fn freopen(path: *const u8, mode: *const u8, stream: *mut u8) -> *mut u8
        => |next| reopen(path, mode, stream, next);
    fn freopen64(path: *const u8, mode: *const u8, stream: *mut u8) -> *mut u8
        => |next| reopen(path, mode, stream, next);
    fn tmpfile() -> *mut u8 => |next| temporary(next);
    fn tmpfile64() -> *mut u8 => |next| temporary(next);
    fn popen(command: *const u8, mode: *const u8) -> *mut u8 => |next| {
        let stream = environment::fit_shell(next);
        if !stream.is_null() {
            forget(descriptor_of(stream));
        }
        stream
    };
    fn pclose(stream: *mut u8) -> i32 => |next| {
        let fd = descriptor_of(stream);
        let result = next();
        forget(fd);
        result
    };
    fn system(command: *const u8) -> i32 => |next| environment::fit_shell(next);
    fn opendir(path: *const u8) -> *mut u8 => |next| {
        let asking = Asking::begin(HERE, path, 0);
        let folder = next();
        if !folder.is_null() {
            asking.end(dirfd(folder));
        }
        folder
    };
    fn closedir(folder: *mut u8) -> i32 => |next| {
        let fd = if folder.is_null() { -1 } else { dirfd(folder) };
        closing(fd);
        let result = next();
        forget(fd);
        result
    };
    fn dirfd(folder: *mut u8) -> i32 => |next| next();
}

/// How a stream's mode opens a file.
fn how(mode: *const u8) -> i32 {
    let mut how = 0;
    for i in 0..16 {
        // SAFETY: the C library just read the mode up to its NUL, or will.
        let byte = unsafe { mode.wrapping_add(i).read() };
        how = match byte {
            0 | b',' => break,
            b'w' => O_WRONLY | O_CREAT | O_TRUNC,
            b'a' => O_WRONLY | O_CREAT | O_APPEND,
            b'+' => how & !O_WRONLY | O_RDWR,
            b'x' => how | O_EXCL,
            _ => how,
        };
    }
    how
}

fn open(path: *const u8, mode: *const u8, call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let asking = Asking::begin(HERE, path, how(mode));
    let stream = call();
    if !stream.is_null() {
        asking.end(descriptor_of(stream));
    }
    stream
}

/// What is opened takes the number that the stream had (`dup3`), its own is closed.
fn reopen(
    path: *const u8,
    mode: *const u8,
    stream: *mut u8,
    call: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    let was_open = descriptor_of(stream) >= 0;
    let asking = (!path.is_null()).then(|| Asking::begin(HERE, path, how(mode)));
    let stream = call();
    if stream.is_null() {
        return stream;
    }
    let fd = descriptor_of(stream);
    match asking {
        Some(asking) => asking.end(fd),
        // Without a path the same file is opened once more.
        None => opened_elsewhere(fd, how(mode) & !O_CREAT),
    }
    if was_open {
        doubled_over(fd);
    }
    stream
}

fn temporary(call: impl FnOnce() -> *mut u8) -> *mut u8 {
    let stream = call();
    if !stream.is_null() {
        opened_elsewhere(descriptor_of(stream), O_RDWR);
    }
    stream
}
