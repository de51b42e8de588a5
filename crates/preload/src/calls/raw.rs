//! `syscall(2)`, the C function: what goes through it is counted as by the functions of its own, a
//! line for each call that one of them stands for.

use super::close::{control, end, fresh, over, pair, range};
use super::exec::{execve, execveat};
use super::name::{cut, one, removed, renamed, two};
use super::open::{O_WRONLY_CREAT_TRUNC, ask, ask_how};
use super::other::{before_filter, before_unshare, chroot, map, ring, seek};
use super::socket::{messages, name_of, named, receive, room_of, send_to};
use super::transfer::copy;
use super::{Opaque, wrap};
use crate::arch::*;
use crate::count::{Way, submitted, transfer};
use crate::datagram::Name;
use crate::layout::name::{FOLDER_REMOVED, REMOVED, RENAMED, TRUNCATED};
use crate::socket::shutting_down;
use crate::state;
use crate::system::HERE;

wrap! {
    fn syscall(
        number: usize,
        first: usize,
        second: usize,
        third: usize,
        fourth: usize,
        fifth: usize,
        sixth: usize,
    ) -> isize, raw number, [first, second, third, fourth, fifth, sixth]
        => |next| by_number(number, [first, second, third, fourth, fifth, sixth], next);
}

/// Counts a call by its number: one that moves bytes here, the others where they are named.
#[inline(always)]
fn by_number(number: usize, words: [usize; 6], next: impl FnOnce() -> isize + Copy) -> isize {
    let [first, second, third, fourth, fifth, sixth] = words;
    let (fd, list) = (first as i32, second as Opaque);
    let short = || next() as i32;
    match number {
        NR_READ | NR_PREAD64 | NR_READV | NR_PREADV | NR_PREADV2 => transfer(fd, Way::In, next),
        NR_WRITE | NR_PWRITE64 | NR_WRITEV | NR_PWRITEV | NR_PWRITEV2 => {
            transfer(fd, Way::Out, next)
        }
        NR_SENDTO => {
            let bytes = sixth as u32 as usize;
            send_to(
                fd,
                || Name {
                    at: fifth as _,
                    bytes,
                },
                next,
            )
        }
        NR_SENDMSG => send_to(fd, || name_of(list), next),
        NR_RECVFROM => {
            let name = || named(fifth as _, sixth as _);
            receive(fd, fourth as i32, || third, name, next)
        }
        NR_RECVMSG => receive(fd, third as i32, || room_of(list), || name_of(list), next),
        NR_SENDMMSG => messages(fd, list, (Way::Sent, 0), short) as isize,
        NR_RECVMMSG => messages(fd, list, (Way::Received, fourth as i32), short) as isize,
        NR_SENDFILE => copy(second as i32, fd, next),
        NR_COPY_FILE_RANGE | NR_SPLICE => copy(fd, third as i32, next),
        NR_TEE => copy(fd, second as i32, next),
        NR_MMAP => map(fourth as i32, fifth as i32, next),
        NR_LSEEK => seek(fd, || next() as i64) as isize,
        _ => of_descriptor(number, words, next),
    }
}

/// Calls that make, share and close descriptors.
#[inline(always)]
fn of_descriptor(number: usize, words: [usize; 6], next: impl FnOnce() -> isize + Copy) -> isize {
    let [first, second, third, fourth, ..] = words;
    let fd = first as i32;
    let short = || next() as i32;
    let result = match number {
        NR_OPEN => ask(HERE, first as _, second as i32, short),
        NR_CREAT => ask(HERE, first as _, O_WRONLY_CREAT_TRUNC, short),
        NR_OPENAT => ask(fd, second as _, third as i32, short),
        NR_OPENAT2 => ask_how(fd, second as _, third as _, short),
        NR_CLOSE => end(fd, short),
        NR_CLOSE_RANGE => range(first as u32, second as u32, third as i32, short),
        NR_DUP2 | NR_DUP3 => over(fd, second as i32, short),
        NR_FCNTL => control(second as i32, short),
        NR_PIPE | NR_PIPE2 => pair(first as _, short),
        NR_SOCKETPAIR => pair(fourth as _, short),
        NR_DUP | NR_SOCKET | NR_ACCEPT | NR_ACCEPT4 | NR_MEMFD_CREATE | NR_EVENTFD
        | NR_EVENTFD2 | NR_SIGNALFD | NR_SIGNALFD4 | NR_TIMERFD_CREATE | NR_EPOLL_CREATE
        | NR_EPOLL_CREATE1 | NR_INOTIFY_INIT | NR_INOTIFY_INIT1 | NR_PIDFD_OPEN => fresh(short),
        NR_IO_URING_SETUP => ring(short),
        _ => return of_name(number, words, next),
    };
    result as isize
}

/// Calls that change names or cut files.
#[inline(always)]
fn of_name(number: usize, words: [usize; 6], next: impl FnOnce() -> isize + Copy) -> isize {
    let [first, second, third, fourth, fifth, _] = words;
    let (fd, third_fd) = (first as i32, third as i32);
    let short = || next() as i32;
    let result = match number {
        NR_UNLINK => one(REMOVED, HERE, first as _, short),
        NR_RMDIR => one(FOLDER_REMOVED, HERE, first as _, short),
        NR_UNLINKAT => one(removed(third as i32), fd, second as _, short),
        NR_RENAME => two(RENAMED, (HERE, first as _), (HERE, second as _), short),
        NR_RENAMEAT => two(RENAMED, (fd, second as _), (third_fd, fourth as _), short),
        NR_RENAMEAT2 => {
            let change = renamed(fifth as u32);
            two(change, (fd, second as _), (third_fd, fourth as _), short)
        }
        NR_TRUNCATE => one(TRUNCATED, HERE, first as _, short),
        NR_FTRUNCATE => cut(fd, short),
        _ => return of_process(number, words, next),
    };
    result as isize
}

/// Calls after which the library must behave otherwise.
#[inline(always)]
fn of_process(number: usize, words: [usize; 6], next: impl FnOnce() -> isize) -> isize {
    let [first, second, third, fourth, fifth, _] = words;
    match number {
        NR_EXECVE => return execve(first as _, second as _, third as _) as isize,
        NR_EXECVEAT => {
            let how = fifth as i32;
            return execveat(first as i32, second as _, third as _, fourth as _, how) as isize;
        }
        NR_CHROOT => return chroot(first as _) as isize,
        NR_IO_SUBMIT => submitted(),
        NR_UNSHARE => before_unshare(first as i32),
        NR_SHUTDOWN => shutting_down(first as i32),
        NR_PRCTL => before_filter(first as i32),
        NR_SECCOMP => state::be_quiet(),
        _ => {}
    }
    next()
}
