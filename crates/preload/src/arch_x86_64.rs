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
pub(crate) const NR_PROCESS_VM_READV: usize = 310;
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
pub(crate) const NR_SENDFILE: usize = 40;
pub(crate) const NR_SOCKET: usize = 41;
pub(crate) const NR_ACCEPT: usize = 43;
pub(crate) const NR_SENDTO: usize = 44;
pub(crate) const NR_RECVFROM: usize = 45;
pub(crate) const NR_SENDMSG: usize = 46;
pub(crate) const NR_RECVMSG: usize = 47;
pub(crate) const NR_SOCKETPAIR: usize = 53;
pub(crate) const NR_CHROOT: usize = 161;
pub(crate) const NR_TIMERFD_CREATE: usize = 283;
pub(crate) const NR_SIGNALFD4: usize = 289;
pub(crate) const NR_EVENTFD2: usize = 290;
pub(crate) const NR_EPOLL_CREATE1: usize = 291;
pub(crate) const NR_PIPE2: usize = 293;
pub(crate) const NR_INOTIFY_INIT1: usize = 294;
pub(crate) const NR_PREADV: usize = 295;
pub(crate) const NR_PWRITEV: usize = 296;
pub(crate) const NR_SPLICE: usize = 275;
pub(crate) const NR_TEE: usize = 276;
pub(crate) const NR_RENAMEAT: usize = 264;
pub(crate) const NR_ACCEPT4: usize = 288;
pub(crate) const NR_MEMFD_CREATE: usize = 319;
pub(crate) const NR_EXECVEAT: usize = 322;
pub(crate) const NR_COPY_FILE_RANGE: usize = 326;
pub(crate) const NR_PREADV2: usize = 327;
pub(crate) const NR_PWRITEV2: usize = 328;
pub(crate) const NR_IO_URING_SETUP: usize = 425;
pub(crate) const NR_PIDFD_OPEN: usize = 434;
pub(crate) const NR_OPENAT2: usize = 437;
pub(crate) const NR_PIPE: usize = 22;
pub(crate) const NR_EVENTFD: usize = 284;
pub(crate) const NR_SIGNALFD: usize = 282;
pub(crate) const NR_EPOLL_CREATE: usize = 213;
pub(crate) const NR_INOTIFY_INIT: usize = 253;
pub(crate) const NR_CREAT: usize = 85;
pub(crate) const NR_RENAME: usize = 82;
pub(crate) const NR_RMDIR: usize = 84;
pub(crate) const NR_UNLINK: usize = 87;

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
                    concat!("mov {at}, qword ptr [rip + ", $name, "@GOTPCREL]"),
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
