//! Seeks, mappings, and calls after which the library must behave otherwise.

use super::close::fresh;
use super::{Answer, Opaque, wrap};
use crate::arch::{
    NR_CHROOT, NR_IO_SUBMIT, NR_IO_URING_SETUP, NR_LSEEK, NR_MMAP, NR_PRCTL, NR_UNSHARE,
};
use crate::count::{begun, ringed, submissions, submitted};
use crate::descriptor::{mapped, part, sought};
use crate::environment;
use crate::names;
use crate::state;

const MAP_ANONYMOUS: i32 = 0x20;
const CLONE_VM: i32 = 0x100;
const CLONE_FILES: i32 = 0x400;
const CLONE_VFORK: i32 = 0x4000;
const PR_SET_SECCOMP: i32 = 22;
/// What comes before a filter of system calls.
const PR_SET_NO_NEW_PRIVS: i32 = 38;

wrap! {
    fn lseek(fd: i32, offset: i64, from: i32) -> i64, raw NR_LSEEK, [fd, offset, from]
        => |next| seek(fd, next);
    fn lseek64(fd: i32, offset: i64, from: i32) -> i64, raw NR_LSEEK, [fd, offset, from]
        => |next| seek(fd, next);
    fn mmap(at: Opaque, bytes: usize, may: i32, how: i32, fd: i32, offset: i64) -> isize,
        raw NR_MMAP, [at, bytes, may, how, fd, offset] => |next| map(how, fd, next);
    fn mmap64(at: Opaque, bytes: usize, may: i32, how: i32, fd: i32, offset: i64) -> isize,
        raw NR_MMAP, [at, bytes, may, how, fd, offset] => |next| map(how, fd, next);

    fn prctl(what: i32, a: usize, b: usize, c: usize, d: usize) -> i32,
        raw NR_PRCTL, [what, a, b, c, d] => |next| {
        before_filter(what);
        next()
    };
    fn unshare(how: i32) -> i32, raw NR_UNSHARE, [how] => |next| {
        before_unshare(how);
        next()
    };
    fn clone(
        start: Opaque,
        stack: Opaque,
        how: i32,
        word: Opaque,
        parent: Opaque,
        tls: Opaque,
        child: Opaque,
    ) -> i32 => |next| {
        // Who borrows our memory with descriptors of his own, beside us.
        if how & (CLONE_VM | CLONE_FILES | CLONE_VFORK) == CLONE_VM {
            part();
        }
        next()
    };
    fn io_submit(context: usize, count: isize, list: Opaque) -> Answer,
        raw NR_IO_SUBMIT, [context, count, list] => |next| {
        let before = submissions();
        let result = next();
        // Some libraries make it by `syscall(2)`, which counts it.
        if submissions() == before {
            submitted();
        }
        result
    };
    // What liburing has for the making of a ring.
    fn io_uring_setup(entries: u32, wishes: Opaque) -> Answer,
        raw NR_IO_URING_SETUP, [entries, wishes] => |next| with_ring(next);
    fn io_uring_queue_init(entries: u32, ring: Opaque, how: u32) -> Answer
        => |next| with_ring(next);
    fn io_uring_queue_init_params(entries: u32, ring: Opaque, wishes: Opaque) -> Answer
        => |next| with_ring(next);
    fn io_uring_queue_init_mem(
        entries: u32,
        ring: Opaque,
        wishes: Opaque,
        room: Opaque,
        bytes: usize,
    ) -> Answer => |next| with_ring(next);
    fn chroot(path: *const u8) -> i32, raw NR_CHROOT, [path] => |next| {
        let result = next();
        if result == 0 {
            names::lose_root();
            environment::leave_if_out_of_reach();
        }
        result
    };
}

/// What `prctl` asks for may be a filter that calls of our own do not pass, or what comes before
/// one.
pub(super) fn before_filter(what: i32) {
    match what {
        PR_SET_SECCOMP => state::be_quiet(),
        PR_SET_NO_NEW_PRIVS => state::expect_filter(),
        _ => {}
    }
}

pub(super) fn before_unshare(how: i32) {
    if how & CLONE_FILES != 0 {
        part();
    }
}

/// `io_uring_setup(2)`: a descriptor of what moves bytes past every function here.
pub(super) fn ring(call: impl FnOnce() -> i32) -> i32 {
    let fd = fresh(call);
    if fd >= 0 {
        ringed();
    }
    fd
}

fn with_ring(call: impl FnOnce() -> Answer) -> Answer {
    Answer(ring(|| call().0))
}

pub(super) fn seek(fd: i32, call: impl FnOnce() -> i64) -> i64 {
    let begun = begun();
    let result = call();
    sought(fd, begun);
    result
}

/// The address, or -1.
pub(super) fn map(how: i32, fd: i32, call: impl FnOnce() -> isize) -> isize {
    let result = call();
    if how & MAP_ANONYMOUS == 0 && result != -1 {
        mapped(fd);
    }
    result
}
