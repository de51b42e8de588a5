//! POSIX aio: the C library reads and writes for these in threads of its own, by calls within
//! itself.
//!
//! What a request moved is known when its result is asked for, and counted then; of requests whose
//! result nobody asks for it is told how many they are.

use super::{Opaque, wrap};
use crate::count::{Way, requested, transferred};
use crate::descriptor;

/// Where `struct aiocb` has its descriptor, and what is asked for.
const FD_AT: usize = 0;
const WISH_AT: usize = 4;
/// What is asked for, without the bit of those that have 64 in their name.
const WISHES: i32 = 127;
const LIO_WAIT: i32 = 0;
const LIO_NOWAIT: i32 = 1;
const LIO_READ: i32 = 0;
const LIO_WRITE: i32 = 1;
/// Requests of one list, at most.
const LIST_MAX: usize = 1 << 16;

wrap! {
    fn aio_read(request: Opaque) -> i32 => |next| begin(next);
    fn aio_read64(request: Opaque) -> i32 => |next| begin(next);
    fn aio_write(request: Opaque) -> i32 => |next| begin_write(request, next);
    fn aio_write64(request: Opaque) -> i32 => |next| begin_write(request, next);
    fn lio_listio(waits: i32, list: *const Opaque, count: i32, event: Opaque) -> i32
        => |next| begin_list(waits, list, count, next);
    fn lio_listio64(waits: i32, list: *const Opaque, count: i32, event: Opaque) -> i32
        => |next| begin_list(waits, list, count, next);
    fn aio_return(request: Opaque) -> isize => |next| end(request, next);
    fn aio_return64(request: Opaque) -> isize => |next| end(request, next);
}

fn number(request: Opaque, at: usize) -> i32 {
    // SAFETY: a `struct aiocb` that the C library just read, or will.
    unsafe { request.wrapping_add(at).cast::<i32>().read_unaligned() }
}

/// Which way a request moves bytes, if it does.
fn way(request: Opaque) -> Option<Way> {
    match number(request, WISH_AT) & WISHES {
        LIO_READ => Some(Way::In),
        LIO_WRITE => Some(Way::Out),
        _ => None,
    }
}

fn begin_write(request: Opaque, call: impl FnOnce() -> i32) -> i32 {
    descriptor::meet(number(request, FD_AT));
    begin(call)
}

fn begin(call: impl FnOnce() -> i32) -> i32 {
    let result = call();
    if result == 0 {
        requested(1);
    }
    result
}

/// Of a list that failed some requests may have been made all the same.
fn begin_list(waits: i32, list: *const Opaque, count: i32, call: impl FnOnce() -> i32) -> i32 {
    let count = usize::try_from(count).unwrap_or(0).min(LIST_MAX);
    let taken = waits == LIO_WAIT || waits == LIO_NOWAIT;
    for i in (0..count).filter(|_| taken) {
        // SAFETY: within the list, which the C library is about to read.
        let request = unsafe { list.wrapping_add(i).read() };
        if request.is_null() {
            continue;
        }
        let way = way(request);
        if way == Some(Way::Out) {
            descriptor::meet(number(request, FD_AT));
        }
        if way.is_some() {
            requested(1);
        }
    }
    call()
}

fn end(request: Opaque, call: impl FnOnce() -> isize) -> isize {
    let (fd, way) = (number(request, FD_AT), way(request));
    let result = call();
    if let Some(way) = way
        && descriptor::is_open(fd)
    {
        requested(-1);
        transferred(fd, way, result, 0);
    }
    result
}
