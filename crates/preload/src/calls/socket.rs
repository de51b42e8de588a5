//! What goes through sockets by calls of their own, and what ends their connections.

use super::{Next, Opaque, wrap};
use crate::arch::{
    NR_RECVFROM, NR_RECVMMSG, NR_RECVMSG, NR_SENDMMSG, NR_SENDMSG, NR_SENDTO, NR_SHUTDOWN,
};
use crate::count::{Way, begun, transfer, transferred};
use crate::datagram::{self, Name};
use crate::socket::{leave_all, shutting_down};
use crate::system;

/// Only looks.
const MSG_PEEK: i32 = 2;
/// Tells how long a message is, whatever there is room for.
const MSG_TRUNC: i32 = 0x20;
/// Reads errors.
const MSG_ERRQUEUE: i32 = 0x2000;
/// `struct mmsghdr`, and where in there what was moved is.
const MESSAGE_BYTES: usize = 64;
const MOVED_AT: usize = 56;
/// Where a `struct msghdr` has the length of its name, its parts and their number, and how many
/// there can be.
const NAME_BYTES_AT: usize = 8;
const PARTS_AT: usize = 16;
const PARTS_COUNT_AT: usize = 24;
const PARTS_MAX: usize = 1024;
/// Messages of one call, at most.
const MESSAGES_MAX: usize = 1024;

wrap! {
    fn recv(fd: i32, to: *mut u8, bytes: usize, how: i32) -> isize,
        raw NR_RECVFROM, [fd, to, bytes, how]
        => |next| receive(fd, how, || bytes, || Name::NONE, next);
    fn __recv_chk(fd: i32, to: *mut u8, bytes: usize, room: usize, how: i32) -> isize,
        raw NR_RECVFROM, [fd, to, bytes, how]
        => |next| receive(fd, how, || bytes, || Name::NONE, next);
    fn recvfrom(fd: i32, to: *mut u8, bytes: usize, how: i32, who: Opaque, room: Opaque) -> isize,
        raw NR_RECVFROM, [fd, to, bytes, how, who, room]
        => |next| receive(fd, how, || bytes, || named(who, room), next);
    fn __recvfrom_chk(
        fd: i32,
        to: *mut u8,
        bytes: usize,
        room: usize,
        how: i32,
        who: Opaque,
        who_room: Opaque,
    ) -> isize, raw NR_RECVFROM, [fd, to, bytes, how, who, who_room]
        => |next| receive(fd, how, || bytes, || named(who, who_room), next);
    fn recvmsg(fd: i32, message: Opaque, how: i32) -> isize,
        raw NR_RECVMSG, [fd, message, how]
        => |next| receive(fd, how, || room_of(message), || name_of(message), next);
    fn recvmmsg(fd: i32, list: Opaque, count: u32, how: i32, time: Opaque) -> i32,
        raw NR_RECVMMSG, [fd, list, count, how, time]
        => |next| messages(fd, list, (Way::Received, how), next);
    fn send(fd: i32, from: *const u8, bytes: usize, how: i32) -> isize,
        raw NR_SENDTO, [fd, from, bytes, how] => |next| transfer(fd, Way::Sent, next);
    fn sendto(fd: i32, from: *const u8, bytes: usize, how: i32, who: Opaque, room: u32) -> isize,
        raw NR_SENDTO, [fd, from, bytes, how, who, room] => |next| {
            send_to(fd, || Name { at: who, bytes: room as usize }, next)
        };
    fn sendmsg(fd: i32, message: Opaque, how: i32) -> isize,
        raw NR_SENDMSG, [fd, message, how] => |next| send_to(fd, || name_of(message), next);
    fn sendmmsg(fd: i32, list: Opaque, count: u32, how: i32) -> i32,
        raw NR_SENDMMSG, [fd, list, count, how]
        => |next| messages(fd, list, (Way::Sent, how), next);

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

/// Counts what went out of the program, to the name that the call has for the other end.
#[inline(always)]
pub(super) fn send_to(fd: i32, name: impl FnOnce() -> Name, call: impl FnOnce() -> isize) -> isize {
    let result = transfer(fd, Way::Sent, call);
    if result > 0 {
        datagram::moved(fd, Way::Sent, name(), result);
    }
    result
}

/// Counts what came into the program, which has `room` for it, from the name that the call has for
/// the other end.
#[inline(always)]
pub(super) fn receive(
    fd: i32,
    how: i32,
    room: impl FnOnce() -> usize,
    name: impl FnOnce() -> Name,
    call: impl FnOnce() -> isize,
) -> isize {
    if only_looks(how) {
        return call();
    }
    let begun = begun();
    let result = call();
    let bytes = moved(result, how, room);
    transferred(fd, Way::Received, bytes, begun);
    if bytes > 0 {
        datagram::moved(fd, Way::Received, name(), bytes);
    }
    result
}

/// What of a call's result was moved: some tell how long a message is that had no room.
fn moved(result: isize, how: i32, room: impl FnOnce() -> usize) -> isize {
    if how & MSG_TRUNC == 0 || result <= 0 {
        return result;
    }
    result.min(isize::try_from(room()).unwrap_or(isize::MAX))
}

/// The name that the kernel just wrote to `at`, and how long it is to `bytes`.
pub(super) fn named(at: Opaque, bytes: Opaque) -> Name {
    if at.is_null() || bytes.is_null() {
        return Name::NONE;
    }
    // SAFETY: the kernel just wrote there.
    let bytes = unsafe { bytes.cast::<u32>().read_unaligned() };
    Name {
        at,
        bytes: bytes as usize,
    }
}

/// The name in a `struct msghdr` that the kernel just took.
pub(super) fn name_of(message: Opaque) -> Name {
    // SAFETY: the kernel just read this structure, whose first member is the address of the name.
    let at = unsafe { message.cast::<Opaque>().read_unaligned() };
    let bytes = message.wrapping_add(NAME_BYTES_AT).cast::<u32>();
    // SAFETY: likewise.
    let bytes = unsafe { bytes.read_unaligned() } as usize;
    Name { at, bytes }
}

/// How much there is room for in the parts of a `struct msghdr` that the kernel just took.
pub(super) fn room_of(message: Opaque) -> usize {
    let word = |at: Opaque| {
        // SAFETY: the kernel just read these structures.
        unsafe { at.cast::<usize>().read_unaligned() }
    };
    let parts = word(message.wrapping_add(PARTS_AT)) as Opaque;
    let count = word(message.wrapping_add(PARTS_COUNT_AT)).min(PARTS_MAX);
    let lengths = (0..count).map(|i| word(parts.wrapping_add(16 * i + 8)));
    lengths.fold(0, usize::saturating_add)
}

/// Each message is a transfer of its own.
pub(super) fn messages(
    fd: i32,
    list: Opaque,
    (way, how): (Way, i32),
    call: impl FnOnce() -> i32,
) -> i32 {
    if way == Way::Received && only_looks(how) {
        return call();
    }
    let begun = begun();
    let result = call();
    let Ok(count) = usize::try_from(result) else {
        transferred(fd, way, -1, begun);
        return result;
    };
    for i in 0..count.min(MESSAGES_MAX) {
        let message = list.wrapping_add(i * MESSAGE_BYTES);
        let at = message.wrapping_add(MOVED_AT);
        // SAFETY: the kernel just wrote so many of these headers, with what was moved in each.
        let told = unsafe { at.cast::<u32>().read_unaligned() };
        let bytes = match way {
            Way::Received => moved(told as isize, how, || room_of(message)),
            _ => told as isize,
        };
        transferred(fd, way, bytes, if i == 0 { begun } else { 0 });
        datagram::moved(fd, way, name_of(message), bytes);
    }
    result
}
