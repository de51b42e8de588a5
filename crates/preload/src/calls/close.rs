//! Closing, and calls that give a number to something else.

use super::{Opaque, wrap};
use crate::arch::{
    NR_ACCEPT, NR_ACCEPT4, NR_CLOSE, NR_CLOSE_RANGE, NR_DUP, NR_DUP2, NR_DUP3, NR_EPOLL_CREATE1,
    NR_EVENTFD2, NR_FCNTL, NR_INOTIFY_INIT1, NR_MEMFD_CREATE, NR_PIDFD_OPEN, NR_PIPE2,
    NR_SIGNALFD4, NR_SOCKET, NR_SOCKETPAIR, NR_TIMERFD_CREATE,
};
use crate::descriptor::{closing, forget, forget_from, part};
use crate::system;

/// A set of signals as the kernel takes it.
const SIGNALS_BYTES: usize = 8;

wrap! {
    fn close(fd: i32) -> i32, raw NR_CLOSE, [fd] => |next| end(fd, next);
    fn __close(fd: i32) -> i32, raw NR_CLOSE, [fd] => |next| end(fd, next);
    fn close_range(first: u32, last: u32, how: i32) -> i32,
        raw NR_CLOSE_RANGE, [first, last, how] => |next| range(first, last, how, next);

    fn dup(fd: i32) -> i32,
        raw NR_DUP, [fd] => |next| fresh(next);
    fn dup2(fd: i32, second: i32) -> i32,
        raw NR_DUP2, [fd, second] => |next| over(fd, second, next);
    fn __dup2(fd: i32, second: i32) -> i32,
        raw NR_DUP2, [fd, second] => |next| over(fd, second, next);
    fn dup3(fd: i32, second: i32, how: i32) -> i32,
        raw NR_DUP3, [fd, second, how] => |next| over(fd, second, next);
    fn fcntl(fd: i32, what: i32, word: usize) -> i32, raw NR_FCNTL, [fd, what, word]
        => |next| control(what, next);
    fn fcntl64(fd: i32, what: i32, word: usize) -> i32, raw NR_FCNTL, [fd, what, word]
        => |next| control(what, next);
    fn __fcntl(fd: i32, what: i32, word: usize) -> i32, raw NR_FCNTL, [fd, what, word]
        => |next| control(what, next);

    fn pipe(ends: *mut [i32; 2]) -> i32,
        raw NR_PIPE2, [ends, 0] => |next| pair(ends, next);
    fn pipe2(ends: *mut [i32; 2], how: i32) -> i32,
        raw NR_PIPE2, [ends, how] => |next| pair(ends, next);
    fn socketpair(family: i32, kind: i32, protocol: i32, ends: *mut [i32; 2]) -> i32,
        raw NR_SOCKETPAIR, [family, kind, protocol, ends] => |next| pair(ends, next);
    fn socket(family: i32, kind: i32, protocol: i32) -> i32,
        raw NR_SOCKET, [family, kind, protocol] => |next| fresh(next);
    fn accept(fd: i32, who: Opaque, room: Opaque) -> i32,
        raw NR_ACCEPT, [fd, who, room] => |next| fresh(next);
    fn accept4(fd: i32, who: Opaque, room: Opaque, how: i32) -> i32,
        raw NR_ACCEPT4, [fd, who, room, how] => |next| fresh(next);
    fn memfd_create(name: *const u8, how: u32) -> i32,
        raw NR_MEMFD_CREATE, [name, how] => |next| fresh(next);
    fn eventfd(first: u32, how: i32) -> i32,
        raw NR_EVENTFD2, [first, how] => |next| fresh(next);
    fn signalfd(fd: i32, mask: Opaque, how: i32) -> i32,
        raw NR_SIGNALFD4, [fd, mask, SIGNALS_BYTES, how] => |next| fresh(next);
    fn timerfd_create(clock: i32, how: i32) -> i32,
        raw NR_TIMERFD_CREATE, [clock, how] => |next| fresh(next);
    fn epoll_create(size: i32) -> i32,
        raw NR_EPOLL_CREATE1, [0] => |next| fresh(next);
    fn epoll_create1(how: i32) -> i32,
        raw NR_EPOLL_CREATE1, [how] => |next| fresh(next);
    fn inotify_init() -> i32,
        raw NR_INOTIFY_INIT1, [0] => |next| fresh(next);
    fn inotify_init1(how: i32) -> i32,
        raw NR_INOTIFY_INIT1, [how] => |next| fresh(next);
    fn pidfd_open(pid: i32, how: u32) -> i32,
        raw NR_PIDFD_OPEN, [pid, how] => |next| fresh(next);
}

/// `closefrom(3)`, which gives nothing back.
#[cfg_attr(shared_object, unsafe(no_mangle))]
pub(crate) extern "C" fn closefrom(first: i32) {
    static NEXT: super::Next = super::Next::new();
    // SAFETY: the address of the C function of this name, or 0, which is `None`.
    let next: Option<extern "C" fn(i32)> = unsafe { core::mem::transmute(NEXT.find("closefrom")) };
    let from = first.max(0) as u32;
    match next {
        Some(next) => next(first),
        // Nothing can be told of its failure.
        None => {
            system::pass(
                NR_CLOSE_RANGE,
                super::six(&[from as usize, u32::MAX as usize]),
            );
        }
    }
    forget_from(from, u32::MAX);
}

/// Closes all of them, in a table of the thread's own if it asks for that.
pub(super) fn range(first: u32, last: u32, how: i32, call: impl FnOnce() -> i32) -> i32 {
    const CLOSE_RANGE_UNSHARE: i32 = 2;
    if how & CLOSE_RANGE_UNSHARE != 0 {
        part();
    }
    let result = call();
    forget_from(first, last);
    result
}

pub(super) fn end(fd: i32, call: impl FnOnce() -> i32) -> i32 {
    closing(fd);
    let result = call();
    // Another thread may have asked meanwhile what it is.
    forget(fd);
    result
}

/// A number that had no file until now.
pub(super) fn fresh(call: impl FnOnce() -> i32) -> i32 {
    let fd = call();
    forget(fd);
    fd
}

pub(super) fn over(fd: i32, second: i32, call: impl FnOnce() -> i32) -> i32 {
    let result = call();
    if fd != second {
        forget(second);
    }
    result
}

pub(super) fn pair(ends: *mut [i32; 2], call: impl FnOnce() -> i32) -> i32 {
    let result = call();
    if result == 0 {
        // SAFETY: the kernel just wrote two descriptors there.
        let [first, second] = unsafe { ends.read_unaligned() };
        forget(first);
        forget(second);
    }
    result
}

pub(super) fn control(what: i32, call: impl FnOnce() -> i32) -> i32 {
    const F_DUPFD: i32 = 0;
    const F_DUPFD_CLOEXEC: i32 = 1030;
    let result = call();
    if what == F_DUPFD || what == F_DUPFD_CLOEXEC {
        forget(result);
    }
    result
}
