//! `syscall(2)`, the C function: what goes through it is counted as by the functions of its own.

use super::close::{control, end, fresh, over, range};
use super::exec::execve;
use super::open::ask;
use super::other::{before_filter, before_unshare, seek};
use super::wrap;
use crate::arch::{
    NR_CLOSE, NR_CLOSE_RANGE, NR_DUP, NR_DUP2, NR_DUP3, NR_EXECVE, NR_FCNTL, NR_IO_SUBMIT,
    NR_LSEEK, NR_OPEN, NR_OPENAT, NR_PRCTL, NR_PREAD64, NR_PWRITE64, NR_READ, NR_READV, NR_SECCOMP,
    NR_UNSHARE, NR_WRITE, NR_WRITEV,
};
use crate::count::{Way, submitted, transfer};
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
    ) -> isize, raw number, [first, second, third, fourth, fifth, sixth] => |next| {
        let fd = first as i32;
        let short = || next() as i32;
        match number {
            NR_READ | NR_PREAD64 | NR_READV => transfer(fd, Way::In, next),
            NR_WRITE | NR_PWRITE64 | NR_WRITEV => transfer(fd, Way::Out, next),
            NR_CLOSE => end(fd, short) as isize,
            NR_CLOSE_RANGE => {
                range(first as u32, second as u32, third as i32, short) as isize
            }
            NR_OPEN => ask(HERE, first as *const u8, second as i32, short) as isize,
            NR_OPENAT => ask(fd, second as *const u8, third as i32, short) as isize,
            NR_DUP => fresh(short) as isize,
            NR_DUP2 | NR_DUP3 => over(fd, second as i32, short) as isize,
            NR_FCNTL => control(second as i32, short) as isize,
            NR_LSEEK => seek(fd, || next() as i64) as isize,
            NR_EXECVE => execve(first as *const u8, second as _, third as _) as isize,
            NR_IO_SUBMIT => {
                submitted();
                next()
            }
            NR_UNSHARE => {
                before_unshare(fd);
                next()
            }
            NR_PRCTL => {
                before_filter(fd);
                next()
            }
            NR_SECCOMP => {
                state::be_quiet();
                next()
            }
            _ => next(),
        }
    };
}
