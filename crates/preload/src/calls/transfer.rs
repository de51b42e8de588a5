//! Reading and writing: `read`, `write` and their many forms, and copies from file to file.

use super::{Opaque, wrap};
use crate::arch::{
    NR_COPY_FILE_RANGE, NR_PREAD64, NR_PREADV, NR_PREADV2, NR_PWRITE64, NR_PWRITEV, NR_PWRITEV2,
    NR_READ, NR_READV, NR_SENDFILE, NR_SPLICE, NR_TEE, NR_WRITE, NR_WRITEV,
};
use crate::count::{Way, begun, transfer, transfer_often, transferred};
use crate::descriptor::meet;

wrap! {
    fn read(fd: i32, to: *mut u8, bytes: usize) -> isize, raw NR_READ, [fd, to, bytes]
        => |next| transfer_often(fd, Way::In, next);
    fn __read_chk(fd: i32, to: *mut u8, bytes: usize, room: usize) -> isize,
        raw NR_READ, [fd, to, bytes] => |next| transfer(fd, Way::In, next);
    fn pread(fd: i32, to: *mut u8, bytes: usize, offset: i64) -> isize,
        raw NR_PREAD64, [fd, to, bytes, offset] => |next| transfer_often(fd, Way::In, next);
    fn pread64(fd: i32, to: *mut u8, bytes: usize, offset: i64) -> isize,
        raw NR_PREAD64, [fd, to, bytes, offset] => |next| transfer_often(fd, Way::In, next);
    fn __pread_chk(fd: i32, to: *mut u8, bytes: usize, offset: i64, room: usize) -> isize,
        raw NR_PREAD64, [fd, to, bytes, offset] => |next| transfer(fd, Way::In, next);
    fn __pread64_chk(fd: i32, to: *mut u8, bytes: usize, offset: i64, room: usize) -> isize,
        raw NR_PREAD64, [fd, to, bytes, offset] => |next| transfer(fd, Way::In, next);
    fn readv(fd: i32, parts: Opaque, count: i32) -> isize, raw NR_READV, [fd, parts, count]
        => |next| transfer(fd, Way::In, next);
    fn preadv(fd: i32, parts: Opaque, count: i32, offset: i64) -> isize,
        raw NR_PREADV, [fd, parts, count, offset]
        => |next| transfer(fd, Way::In, next);
    fn preadv64(fd: i32, parts: Opaque, count: i32, offset: i64) -> isize,
        raw NR_PREADV, [fd, parts, count, offset]
        => |next| transfer(fd, Way::In, next);
    fn preadv2(fd: i32, parts: Opaque, count: i32, offset: i64, how: i32) -> isize,
        raw NR_PREADV2, [fd, parts, count, offset, 0, how]
        => |next| transfer(fd, Way::In, next);
    fn preadv64v2(fd: i32, parts: Opaque, count: i32, offset: i64, how: i32) -> isize,
        raw NR_PREADV2, [fd, parts, count, offset, 0, how]
        => |next| transfer(fd, Way::In, next);

    fn write(fd: i32, from: *const u8, bytes: usize) -> isize, raw NR_WRITE, [fd, from, bytes]
        => |next| transfer_often(fd, Way::Out, next);
    fn pwrite(fd: i32, from: *const u8, bytes: usize, offset: i64) -> isize,
        raw NR_PWRITE64, [fd, from, bytes, offset] => |next| transfer_often(fd, Way::Out, next);
    fn pwrite64(fd: i32, from: *const u8, bytes: usize, offset: i64) -> isize,
        raw NR_PWRITE64, [fd, from, bytes, offset] => |next| transfer_often(fd, Way::Out, next);
    fn writev(fd: i32, parts: Opaque, count: i32) -> isize, raw NR_WRITEV, [fd, parts, count]
        => |next| transfer(fd, Way::Out, next);
    fn pwritev(fd: i32, parts: Opaque, count: i32, offset: i64) -> isize,
        raw NR_PWRITEV, [fd, parts, count, offset]
        => |next| transfer(fd, Way::Out, next);
    fn pwritev64(fd: i32, parts: Opaque, count: i32, offset: i64) -> isize,
        raw NR_PWRITEV, [fd, parts, count, offset]
        => |next| transfer(fd, Way::Out, next);
    fn pwritev2(fd: i32, parts: Opaque, count: i32, offset: i64, how: i32) -> isize,
        raw NR_PWRITEV2, [fd, parts, count, offset, 0, how]
        => |next| transfer(fd, Way::Out, next);
    fn pwritev64v2(fd: i32, parts: Opaque, count: i32, offset: i64, how: i32) -> isize,
        raw NR_PWRITEV2, [fd, parts, count, offset, 0, how]
        => |next| transfer(fd, Way::Out, next);

    fn sendfile(to: i32, from: i32, offset: Opaque, bytes: usize) -> isize,
        raw NR_SENDFILE, [to, from, offset, bytes] => |next| copy(from, to, next);
    fn sendfile64(to: i32, from: i32, offset: Opaque, bytes: usize) -> isize,
        raw NR_SENDFILE, [to, from, offset, bytes] => |next| copy(from, to, next);
    fn copy_file_range(
        from: i32,
        from_at: Opaque,
        to: i32,
        to_at: Opaque,
        bytes: usize,
        how: u32,
    ) -> isize,
        raw NR_COPY_FILE_RANGE, [from, from_at, to, to_at, bytes, how]
        => |next| copy(from, to, next);
    fn splice(
        from: i32,
        from_at: Opaque,
        to: i32,
        to_at: Opaque,
        bytes: usize,
        how: u32,
    ) -> isize,
        raw NR_SPLICE, [from, from_at, to, to_at, bytes, how] => |next| copy(from, to, next);
    fn tee(from: i32, to: i32, bytes: usize, how: u32) -> isize,
        raw NR_TEE, [from, to, bytes, how] => |next| copy(from, to, next);
}

/// A call that reads one file and writes another.
pub(super) fn copy(from: i32, to: i32, call: impl FnOnce() -> isize) -> isize {
    meet(to);
    let begun = begun();
    let result = call();
    transferred(from, Way::In, result, begun);
    transferred(to, Way::Out, result, begun);
    result
}
