//! What goes through sockets by calls of their own, and what ends their connections.

use super::{Next, Opaque, wrap};
use crate::arch::{NR_RECVMMSG, NR_SENDMMSG, NR_SHUTDOWN};
use crate::count::{Way, begun, transfer, transferred};
use crate::socket::{leave_all, shutting_down};
use crate::system;

/// Only looks.
const MSG_PEEK: i32 = 2;
/// Reads errors.
const MSG_ERRQUEUE: i32 = 0x2000;
/// `struct mmsghdr`, and where in there what was moved is.
const MESSAGE_BYTES: usize = 64;
const MOVED_AT: usize = 56;
/// Messages of one call, at most.
const MESSAGES_MAX: usize = 1024;

wrap! {
    fn recv(fd: i32, to: *mut u8, bytes: usize, how: i32) -> isize
        => |next| receive(fd, how, next);
    fn __recv_chk(fd: i32, to: *mut u8, bytes: usize, room: usize, how: i32) -> isize
        => |next| receive(fd, how, next);
    fn recvfrom(fd: i32, to: *mut u8, bytes: usize, how: i32, who: Opaque, room: Opaque) -> isize
        => |next| receive(fd, how, next);
    fn __recvfrom_chk(
        fd: i32,
        to: *mut u8,
        bytes: usize,
        room: usize,
        how: i32,
        who: Opaque,
        who_room: Opaque,
    ) -> isize => |next| receive(fd, how, next);
    fn recvmsg(fd: i32, message: Opaque, how: i32) -> isize
        => |next| receive(fd, how, next);
    fn recvmmsg(fd: i32, list: Opaque, count: u32, how: i32, time: Opaque) -> i32,
        raw NR_RECVMMSG, [fd, list, count, how, time]
        => |next| if only_looks(how) { next() } else { messages(fd, list, Way::Received, next) };
    fn send(fd: i32, from: *const u8, bytes: usize, how: i32) -> isize
        => |next| transfer(fd, Way::Sent, next);
    fn sendto(fd: i32, from: *const u8, bytes: usize, how: i32, who: Opaque, room: u32) -> isize
        => |next| transfer(fd, Way::Sent, next);
    fn sendmsg(fd: i32, message: Opaque, how: i32) -> isize
        => |next| transfer(fd, Way::Sent, next);
    fn sendmmsg(fd: i32, list: Opaque, count: u32, how: i32) -> i32,
        raw NR_SENDMMSG, [fd, list, count, how] => |next| messages(fd, list, Way::Sent, next);

    fn shutdown(fd: i32, how: i32) -> i32, raw NR_SHUTDOWN, [fd, how] => |next| {
        shutting_down(fd);
        next()
    };
}

/// `_exit(2)`, after which nothing of the program runs.
#[cfg_attr(shared_object, unsafe(no_mangle))]
pub(crate) extern "C" fn _exit(code: i32) {
    static NEXT: Next = Next::new();
    leave(NEXT.find("_exit"), code)
}

/// The same by its other name.
#[allow(non_snake_case, reason = "the C function is called so")]
#[cfg_attr(shared_object, unsafe(no_mangle))]
pub(crate) extern "C" fn _Exit(code: i32) {
    static NEXT: Next = Next::new();
    leave(NEXT.find("_Exit"), code)
}

fn leave(next: usize, code: i32) -> ! {
    leave_all();
    // SAFETY: the address of the C function of either name, or 0, which is `None`.
    let next: Option<extern "C" fn(i32)> = unsafe { core::mem::transmute(next) };
    if let Some(next) = next {
        next(code);
    }
    system::exit(code)
}

fn only_looks(how: i32) -> bool {
    how & (MSG_PEEK | MSG_ERRQUEUE) != 0
}

#[inline(always)]
fn receive(fd: i32, how: i32, call: impl FnOnce() -> isize) -> isize {
    if only_looks(how) {
        return call();
    }
    transfer(fd, Way::Received, call)
}

/// Each message is a transfer of its own.
fn messages(fd: i32, list: Opaque, way: Way, call: impl FnOnce() -> i32) -> i32 {
    let begun = begun();
    let result = call();
    let Ok(count) = usize::try_from(result) else {
        transferred(fd, way, -1, begun);
        return result;
    };
    for i in 0..count.min(MESSAGES_MAX) {
        let at = list.wrapping_add(i * MESSAGE_BYTES + MOVED_AT);
        // SAFETY: the kernel just wrote so many of these headers, with what was moved in each.
        let moved = unsafe { at.cast::<u32>().read_unaligned() };
        transferred(fd, way, moved as isize, if i == 0 { begun } else { 0 });
    }
    result
}
