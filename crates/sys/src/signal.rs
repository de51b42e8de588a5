//! Signals: what we were started with, what we wait for, who sent them (`signalfd(2)`,
//! `sigaction(2)`).

use crate::error::{Error, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Whether this process ignores `signal` now (`sigaction(2)`).
pub fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads; `action` is a valid place for the old one.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid sigaction, and the kernel may have filled it.
    let action = unsafe { action.assume_init() };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Gives `signal` its default action in this process.
pub fn set_default(signal: i32) {
    // SAFETY: SIG_DFL is a valid disposition for any signal; an invalid number is refused by the
    // kernel.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Makes this process ignore `signal`.
pub fn set_ignored(signal: i32) {
    // SAFETY: SIG_IGN is a valid disposition for any signal; an invalid number is refused by the
    // kernel.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// SIGHUP, SIGINT and SIGTERM, blocked and readable. A SIGHUP that `nohup` has us ignore, which
/// would come once it is blocked, is left out unless it is `always` heard.
///
/// # Errors
/// If the kernel has no room.
pub fn ending(always: bool) -> Result<Signals, Error> {
    let hang_up = Some(libc::SIGHUP).filter(|signal| always || !is_ignored(*signal));
    let heard = [libc::SIGINT, libc::SIGTERM].into_iter().chain(hang_up);
    let mask = heard.map(bit).sum();
    set_mask(mask);
    Signals::open(mask)
}

/// Blocks every signal of the calling thread and returns the mask as it was, bit N-1 for signal N.
pub fn block_all() -> u64 {
    set_mask(u64::MAX)
}

/// Sets the calling thread's signal mask, returns the one before; bit N-1 stands for signal N.
pub fn set_mask(mask: u64) -> u64 {
    let mut old = 0_u64;
    // SAFETY: both pointers are to 8 bytes, the size that is passed; the call has no other effect
    // on memory.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut old,
            std::mem::size_of::<u64>(),
        )
    };
    old
}

/// One signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub signal: i32,
    /// Its `si_code`: above 0 the kernel sent it (the terminal: `SI_KERNEL`), 0 and below a process
    /// did.
    pub code: i32,
    /// The sender's pid, if a process sent it.
    pub pid: u32,
    /// The sender's uid, if a process sent it.
    pub uid: u32,
}

impl Arrived {
    /// Whether the kernel sent it, as for Ctrl-C on a terminal.
    pub fn from_kernel(&self) -> bool {
        self.code > 0
    }
}

/// Signals as a descriptor (`signalfd(2)`): blocked ones are read from it.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// A descriptor for the signals whose bits (N-1) are set in `mask`; they must be blocked.
    pub fn open(mask: u64) -> Result<Self, Error> {
        let fd = signalfd(-1, mask)?;
        // SAFETY: the kernel just returned this descriptor and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// From now on it is for the signals in `mask`.
    pub fn select(&self, mask: u64) -> Result<(), Error> {
        signalfd(self.0.as_raw_fd(), mask).map(drop)
    }

    /// The next signal that has arrived, if any.
    pub fn next(&self) -> Option<Arrived> {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = std::mem::size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is a valid place of `size` bytes.
        let got = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        if got != size as isize {
            return None;
        }
        // SAFETY: the structure is plain integers and the kernel filled all of it.
        let info = unsafe { info.assume_init() };
        Some(Arrived {
            signal: info.ssi_signo as i32,
            code: info.ssi_code,
            pid: info.ssi_pid,
            uid: info.ssi_uid,
        })
    }
}

/// A new descriptor for -1, else the one given.
fn signalfd(fd: i32, mask: u64) -> Result<i32, Error> {
    // SAFETY: `mask` is 8 bytes, the size passed; the kernel copies it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_signalfd4,
            fd,
            &raw const mask,
            std::mem::size_of::<u64>(),
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        )
    };
    check("signalfd", fd).map(|fd| fd as i32)
}

impl std::os::fd::AsFd for Signals {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The bit of `signal` in a mask.
pub const fn bit(signal: i32) -> u64 {
    if signal >= 1 && signal <= 64 {
        1 << (signal - 1)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    #[test]
    fn a_blocked_signal_is_read_with_its_sender() {
        let old = set_mask(bit(libc::SIGUSR2));
        let signals = Signals::open(bit(libc::SIGUSR2)).unwrap();
        assert_eq!(signals.next(), None);
        process::raise(libc::SIGUSR2);
        let arrived = signals.next().unwrap();
        assert_eq!(
            (arrived.signal, arrived.pid),
            (libc::SIGUSR2, std::process::id())
        );
        assert!(!arrived.from_kernel());
        set_mask(old);
    }

    #[test]
    fn dispositions_are_read_back() {
        set_ignored(libc::SIGUSR1);
        assert!(is_ignored(libc::SIGUSR1));
        set_default(libc::SIGUSR1);
        assert!(!is_ignored(libc::SIGUSR1));
    }
}
