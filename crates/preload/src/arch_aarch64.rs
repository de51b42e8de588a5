//! System calls of aarch64.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) const NR_READ: usize = 63;
pub(crate) const NR_WRITE: usize = 64;
pub(crate) const NR_CLOSE: usize = 57;
pub(crate) const NR_FSTAT: usize = 80;
pub(crate) const NR_LSEEK: usize = 62;
pub(crate) const NR_MMAP: usize = 222;
pub(crate) const NR_MPROTECT: usize = 226;
pub(crate) const NR_MUNMAP: usize = 215;
pub(crate) const NR_PREAD64: usize = 67;
pub(crate) const NR_PWRITE64: usize = 68;
pub(crate) const NR_READV: usize = 65;
pub(crate) const NR_WRITEV: usize = 66;
pub(crate) const NR_MADVISE: usize = 233;
pub(crate) const NR_GETPID: usize = 172;
pub(crate) const NR_GETEUID: usize = 175;
pub(crate) const NR_GETEGID: usize = 177;
pub(crate) const NR_SHUTDOWN: usize = 210;
pub(crate) const NR_GETSOCKNAME: usize = 204;
pub(crate) const NR_GETPEERNAME: usize = 205;
pub(crate) const NR_GETSOCKOPT: usize = 209;
pub(crate) const NR_PROCESS_VM_READV: usize = 270;
pub(crate) const NR_RECVMMSG: usize = 243;
pub(crate) const NR_SENDMMSG: usize = 269;
pub(crate) const NR_FCNTL: usize = 25;
pub(crate) const NR_PRCTL: usize = 167;
pub(crate) const NR_TRUNCATE: usize = 45;
pub(crate) const NR_FTRUNCATE: usize = 46;
pub(crate) const NR_GETCWD: usize = 17;
pub(crate) const NR_CLOCK_GETTIME: usize = 113;
pub(crate) const NR_EXIT_GROUP: usize = 94;
pub(crate) const NR_OPENAT: usize = 56;
pub(crate) const NR_NEWFSTATAT: usize = 79;
pub(crate) const NR_UNLINKAT: usize = 35;
pub(crate) const NR_RENAMEAT2: usize = 276;
pub(crate) const NR_STATX: usize = 291;
pub(crate) const NR_READLINKAT: usize = 78;
pub(crate) const NR_FACCESSAT: usize = 48;
pub(crate) const NR_IO_SUBMIT: usize = 2;
pub(crate) const NR_DUP: usize = 23;
pub(crate) const NR_DUP3: usize = 24;
pub(crate) const NR_UNSHARE: usize = 97;
pub(crate) const NR_EXECVE: usize = 221;
pub(crate) const NR_SECCOMP: usize = 277;
pub(crate) const NR_CLOSE_RANGE: usize = 436;
pub(crate) const NR_SENDFILE: usize = 71;
pub(crate) const NR_SOCKET: usize = 198;
pub(crate) const NR_ACCEPT: usize = 202;
pub(crate) const NR_SENDTO: usize = 206;
pub(crate) const NR_RECVFROM: usize = 207;
pub(crate) const NR_SENDMSG: usize = 211;
pub(crate) const NR_RECVMSG: usize = 212;
pub(crate) const NR_SOCKETPAIR: usize = 199;
pub(crate) const NR_CHROOT: usize = 51;
pub(crate) const NR_TIMERFD_CREATE: usize = 85;
pub(crate) const NR_SIGNALFD4: usize = 74;
pub(crate) const NR_EVENTFD2: usize = 19;
pub(crate) const NR_EPOLL_CREATE1: usize = 20;
pub(crate) const NR_PIPE2: usize = 59;
pub(crate) const NR_INOTIFY_INIT1: usize = 26;
pub(crate) const NR_PREADV: usize = 69;
pub(crate) const NR_PWRITEV: usize = 70;
pub(crate) const NR_SPLICE: usize = 76;
pub(crate) const NR_TEE: usize = 77;
pub(crate) const NR_RENAMEAT: usize = 38;
pub(crate) const NR_ACCEPT4: usize = 242;
pub(crate) const NR_MEMFD_CREATE: usize = 279;
pub(crate) const NR_EXECVEAT: usize = 281;
pub(crate) const NR_COPY_FILE_RANGE: usize = 285;
pub(crate) const NR_PREADV2: usize = 286;
pub(crate) const NR_PWRITEV2: usize = 287;
pub(crate) const NR_IO_URING_SETUP: usize = 425;
pub(crate) const NR_PIDFD_OPEN: usize = 434;
pub(crate) const NR_OPENAT2: usize = 437;
/// Calls that this processor has not.
pub(crate) const NR_OPEN: usize = usize::MAX;
pub(crate) const NR_DUP2: usize = usize::MAX - 1;
pub(crate) const NR_PIPE: usize = usize::MAX - 2;
pub(crate) const NR_EVENTFD: usize = usize::MAX - 3;
pub(crate) const NR_SIGNALFD: usize = usize::MAX - 4;
pub(crate) const NR_EPOLL_CREATE: usize = usize::MAX - 5;
pub(crate) const NR_INOTIFY_INIT: usize = usize::MAX - 6;
pub(crate) const NR_CREAT: usize = usize::MAX - 7;
pub(crate) const NR_RENAME: usize = usize::MAX - 8;
pub(crate) const NR_RMDIR: usize = usize::MAX - 9;
pub(crate) const NR_UNLINK: usize = usize::MAX - 10;

/// `e_machine` of programs for this processor.
pub(crate) const MACHINE: u16 = 183;
/// The name of the clock in the kernel's own library.
pub(crate) const VDSO_CLOCK: &[u8] = b"__kernel_clock_gettime";

/// Where the fields of `struct stat` lie: mode, number of links, user (the group behind it), device
/// number of a device file.
pub(crate) const STAT_MODE: usize = 16;
pub(crate) const STAT_LINKS: usize = 20;
pub(crate) const STAT_USER: usize = 24;
pub(crate) const STAT_RDEV: usize = 32;

/// A system call; the kernel's answer, an error as its negative number.
///
/// # Safety
/// The arguments are what the call wants.
#[inline(always)]
pub(crate) unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    // SAFETY: the kernel keeps every register but x0; memory it may write is the caller's to
    // promise.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => answer,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    answer
}

/// Puts `new` where `old` is; else what is there.
#[inline(always)]
pub(crate) fn replace(place: &AtomicU64, old: u64, new: u64, _: bool) -> Result<u64, u64> {
    place.compare_exchange(old, new, Relaxed, Relaxed)
}

/// Where the dynamic linker has the variable or function of a name, 0 where nobody has it: asked by
/// a weak reference, which needs nobody to define it.
#[cfg(shared_object)]
macro_rules! of_linker {
    ($(#[$about:meta])* $function:ident, $name:literal) => {
        core::arch::global_asm!(concat!(".weak ", $name));

        $(#[$about])*
        pub(crate) fn $function() -> usize {
            let at: usize;
            // SAFETY: reads a word of our own, which the dynamic linker wrote before it called us.
            unsafe {
                asm!(
                    concat!("adrp {at}, :got:", $name),
                    concat!("ldr {at}, [{at}, :got_lo12:", $name, "]"),
                    at = out(reg) at,
                    options(nostack, pure, readonly, preserves_flags),
                );
            }
            at
        }
    };
}

/// As a part of a program nobody is asked.
#[cfg(not(shared_object))]
macro_rules! of_linker {
    ($(#[$about:meta])* $function:ident, $name:literal) => {
        $(#[$about])*
        pub(crate) const fn $function() -> usize {
            0
        }
    };
}

of_linker!(
    /// `struct r_debug` of the dynamic linker.
    linkers_debug,
    "_r_debug"
);
of_linker!(
    /// The C library's function that tells where `errno` is.
    errno_location,
    "__errno_location"
);
