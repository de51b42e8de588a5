//! System calls of x86_64.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) const NR_READ: usize = 0;
pub(crate) const NR_WRITE: usize = 1;
pub(crate) const NR_CLOSE: usize = 3;
pub(crate) const NR_FSTAT: usize = 5;
pub(crate) const NR_LSEEK: usize = 8;
pub(crate) const NR_MMAP: usize = 9;
pub(crate) const NR_MPROTECT: usize = 10;
pub(crate) const NR_MUNMAP: usize = 11;
pub(crate) const NR_PREAD64: usize = 17;
pub(crate) const NR_PWRITE64: usize = 18;
pub(crate) const NR_READV: usize = 19;
pub(crate) const NR_WRITEV: usize = 20;
pub(crate) const NR_MADVISE: usize = 28;
pub(crate) const NR_GETPID: usize = 39;
pub(crate) const NR_GETEUID: usize = 107;
pub(crate) const NR_GETEGID: usize = 108;
pub(crate) const NR_SHUTDOWN: usize = 48;
pub(crate) const NR_GETSOCKNAME: usize = 51;
pub(crate) const NR_GETPEERNAME: usize = 52;
pub(crate) const NR_GETSOCKOPT: usize = 55;
pub(crate) const NR_RECVMMSG: usize = 299;
pub(crate) const NR_SENDMMSG: usize = 307;
pub(crate) const NR_FCNTL: usize = 72;
pub(crate) const NR_PRCTL: usize = 157;
pub(crate) const NR_TRUNCATE: usize = 76;
pub(crate) const NR_FTRUNCATE: usize = 77;
pub(crate) const NR_GETCWD: usize = 79;
pub(crate) const NR_CLOCK_GETTIME: usize = 228;
pub(crate) const NR_EXIT_GROUP: usize = 231;
pub(crate) const NR_OPENAT: usize = 257;
pub(crate) const NR_NEWFSTATAT: usize = 262;
pub(crate) const NR_UNLINKAT: usize = 263;
pub(crate) const NR_RENAMEAT2: usize = 316;
pub(crate) const NR_STATX: usize = 332;
pub(crate) const NR_READLINKAT: usize = 267;
pub(crate) const NR_FACCESSAT: usize = 269;
pub(crate) const NR_OPEN: usize = 2;
pub(crate) const NR_DUP: usize = 32;
pub(crate) const NR_DUP2: usize = 33;
pub(crate) const NR_EXECVE: usize = 59;
pub(crate) const NR_IO_SUBMIT: usize = 209;
pub(crate) const NR_UNSHARE: usize = 272;
pub(crate) const NR_DUP3: usize = 292;
pub(crate) const NR_SECCOMP: usize = 317;
pub(crate) const NR_CLOSE_RANGE: usize = 436;

/// `e_machine` of programs for this processor.
pub(crate) const MACHINE: u16 = 62;
/// The name of the clock in the kernel's own library.
pub(crate) const VDSO_CLOCK: &[u8] = b"__vdso_clock_gettime";

/// Where the fields of `struct stat` lie: mode, number of links, user (the group behind it), device
/// number of a device file.
pub(crate) const STAT_MODE: usize = 24;
pub(crate) const STAT_LINKS: usize = 16;
pub(crate) const STAT_USER: usize = 28;
pub(crate) const STAT_RDEV: usize = 40;

/// A system call; the kernel's answer, an error as its negative number.
///
/// # Safety
/// The arguments are what the call wants.
#[inline(always)]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the kernel keeps every register but these; memory it may write is the caller's to
    // promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => answer,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    answer
}

/// Puts `new` where `old` is; else what is there. `single`: no other thread does so, only a signal
/// handler may come between, and one instruction suffices without the lock on it.
#[inline(always)]
pub(crate) fn replace(place: &AtomicU64, old: u64, new: u64, single: bool) -> Result<u64, u64> {
    if !single {
        return place.compare_exchange(old, new, Relaxed, Relaxed);
    }
    let found: u64;
    // SAFETY: an aligned word that is only ever used as an atomic one.
    unsafe {
        asm!(
            "cmpxchg qword ptr [{place}], {new}",
            place = in(reg) place.as_ptr(),
            new = in(reg) new,
            inlateout("rax") old => found,
            options(nostack),
        );
    }
    if found == old { Ok(found) } else { Err(found) }
}
