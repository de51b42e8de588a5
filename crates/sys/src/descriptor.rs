//! Descriptors: the ones we inherited, channels between our processes, waiting for several
//! (`socketpair(2)`, `poll(2)`, `dup3(2)`).

use crate::error::{Error, check};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The descriptors open in this process now, lowest first. From `/proc/self/fd`, else by trying.
pub fn open_now() -> Vec<RawFd> {
    let mut fds: Vec<RawFd> = match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect(),
        Err(_) => (0..4096).collect(),
    };
    fds.sort_unstable();
    // SAFETY: F_GETFD only reads a flag; the descriptor of the listing itself is closed and fails
    // here.
    fds.retain(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0);
    fds
}

/// Closes the descriptors `fds`, and points 0, 1 and 2 at `/dev/null` instead so that they stay
/// taken. For descriptors that nothing in this process owns: those it was started with.
pub fn close_inherited(fds: &[RawFd]) {
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .ok();
    for &fd in fds {
        match &null {
            Some(null) if fd <= 2 => {
                // SAFETY: both are open descriptors; the standard ones are owned by nobody.
                unsafe { libc::dup3(null.as_raw_fd(), fd, 0) };
            }
            _ => {
                // SAFETY: the caller says that nothing owns this descriptor.
                unsafe { libc::close(fd) };
            }
        }
    }
}

/// A copy of the descriptor `fd`, which this program was started with, to write to; neither of the
/// two is passed on to programs.
///
/// # Errors
/// If it is not open, or not for writing.
pub fn take_for_writing(fd: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: F_GETFL only reads flags.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    let flags = check("fcntl", i64::from(flags))?;
    if flags & i64::from(libc::O_ACCMODE) == i64::from(libc::O_RDONLY) {
        return Err(Error::Call {
            call: "write",
            source: std::io::Error::from_raw_os_error(libc::EBADF),
        });
    }
    let copy = duplicate(fd)?;
    // SAFETY: sets a flag of an open descriptor.
    let kept = unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    check("fcntl", i64::from(kept))?;
    Ok(copy)
}

/// A copy of the descriptor `fd` above standard error, for this process and the programs that it
/// starts: its number.
///
/// # Errors
/// If it is not open.
pub fn copy(fd: RawFd) -> Result<RawFd, Error> {
    // SAFETY: the number is the lowest that the copy may get.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD, 3) };
    check("fcntl", i64::from(copy))?;
    Ok(copy)
}

/// A copy of the open descriptor `fd` that is not passed on to programs.
///
/// # Errors
/// If it is not open.
pub fn duplicate(fd: RawFd) -> Result<OwnedFd, Error> {
    // SAFETY: the number is the lowest that the copy may get.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    check("fcntl", i64::from(copy))?;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Makes `file` the standard descriptor `fd` (0, 1 or 2) of this process and the programs that it
/// starts.
///
/// # Errors
/// If the kernel has no room.
pub fn redirect(fd: RawFd, file: BorrowedFd<'_>) -> Result<(), Error> {
    // SAFETY: both are descriptors; the standard ones are owned by nobody.
    let result = unsafe { libc::dup3(file.as_raw_fd(), fd, 0) };
    check("dup3", i64::from(result)).map(drop)
}

/// A pair of connected sockets that keep message borders (`SOCK_SEQPACKET`), closed on exec.
pub fn channel() -> Result<(OwnedFd, OwnedFd), Error> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: `fds` has room for the two descriptors.
    let result = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) };
    check("socketpair", i64::from(result))?;
    let [a, b] = fds;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    let a = unsafe { OwnedFd::from_raw_fd(a) };
    // SAFETY: as above.
    let b = unsafe { OwnedFd::from_raw_fd(b) };
    Ok((a, b))
}

/// Sends one message; `EPIPE` instead of a signal when the other side is gone.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Error> {
    loop {
        let (data, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the pointer and length are of one live slice.
        let sent = unsafe { libc::send(fd.as_raw_fd(), data, len, libc::MSG_NOSIGNAL) };
        match check("send", sent as i64) {
            Err(error) if error.errno() == Some(libc::EINTR) => continue,
            other => return other.map(drop),
        }
    }
}

/// Says that nothing more will be sent: the other side receives an end.
pub fn send_end(fd: BorrowedFd<'_>) -> Result<(), Error> {
    // SAFETY: no pointers.
    let result = unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) };
    check("shutdown", i64::from(result)).map(drop)
}

/// What a channel had for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A message of this many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The other side is gone.
    End,
}

/// Receives one message into `buffer`; waits for it if `block`.
///
/// A peer that closes with messages of ours unread makes the kernel report `ECONNRESET` before the
/// messages that it sent: the error is reported once, so we ask again.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8], block: bool) -> Result<Received, Error> {
    let flags = if block { 0 } else { libc::MSG_DONTWAIT };
    loop {
        let (data, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the pointer and length are of one live mutable slice.
        let got = unsafe { libc::recv(fd.as_raw_fd(), data, len, flags) };
        match check("recv", got as i64) {
            Err(error) if error.errno() == Some(libc::EINTR) => continue,
            Err(error) if error.errno() == Some(libc::EAGAIN) => return Ok(Received::Nothing),
            Err(error) if error.errno() == Some(libc::ECONNRESET) => continue,
            Err(error) => return Err(error),
            Ok(0) => return Ok(Received::End),
            Ok(count) => return Ok(Received::Bytes(count as usize)),
        }
    }
}

/// The `poll(2)` event of readable data; what else is waited for is exceptional.
pub const READABLE: i16 = libc::POLLIN;

/// One descriptor to wait for.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// Which; `None` is skipped.
    pub fd: Option<BorrowedFd<'a>>,
    /// Wait for exceptional data (`POLLPRI`) instead of readable data.
    pub exceptional: bool,
}

/// Waits until one of `fds` is ready or `timeout_ns` passed (`ppoll(2)`); `None` waits for ever.
/// Returns which are ready (readable, ended or in error), in order. An interrupting signal returns
/// early with none ready.
pub fn poll(fds: &[Waiting<'_>], timeout_ns: Option<u64>) -> Result<Vec<bool>, Error> {
    let mut polled: Vec<libc::pollfd> = fds
        .iter()
        .map(|waiting| libc::pollfd {
            fd: waiting.fd.map_or(-1, |fd| fd.as_raw_fd()),
            events: if waiting.exceptional {
                libc::POLLPRI
            } else {
                libc::POLLIN
            },
            revents: 0,
        })
        .collect();
    let timeout = timeout_ns.map(|ns| libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    let (list, count) = (polled.as_mut_ptr(), polled.len() as libc::nfds_t);
    // SAFETY: the list has `count` entries; the timeout is null or lives beyond the call; no mask.
    let ready = unsafe { libc::ppoll(list, count, timeout, std::ptr::null()) };
    let mut ready = check("ppoll", i64::from(ready));
    if let Err(error) = &ready
        && matches!(error.errno(), Some(libc::EPERM | libc::ENOSYS))
    {
        // A filter of system calls that knows only the older one.
        let millis = timeout_ns.map(|ns| i32::try_from(ns.div_ceil(1_000_000)));
        let millis = millis.map_or(-1, |millis| millis.unwrap_or(i32::MAX));
        // SAFETY: the list has `count` entries.
        ready = check(
            "poll",
            i64::from(unsafe { libc::poll(list, count, millis) }),
        );
    }
    match ready {
        Err(error) if error.errno() == Some(libc::EINTR) => Ok(vec![false; fds.len()]),
        Err(error) => Err(error),
        Ok(_) => Ok(polled.iter().map(|entry| entry.revents != 0).collect()),
    }
}

/// Waits until `fd` takes more (or nobody reads it any more), or `other` has something to read.
/// Whether it takes more; `false` too where a signal interrupts.
///
/// # Errors
/// The kernel has no memory.
pub fn takes_more(fd: BorrowedFd<'_>, other: BorrowedFd<'_>) -> Result<bool, Error> {
    let entry = |fd: BorrowedFd<'_>, events| libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    };
    let mut polled = [entry(fd, libc::POLLOUT), entry(other, libc::POLLIN)];
    let (list, count) = (polled.as_mut_ptr(), polled.len() as libc::nfds_t);
    // SAFETY: the list has `count` entries.
    let ready = unsafe { libc::poll(list, count, -1) };
    match check("poll", i64::from(ready)) {
        Err(error) if error.errno() == Some(libc::EINTR) => Ok(false),
        Err(error) => Err(error),
        Ok(_) => Ok(polled[1].revents == 0 && polled[0].revents != 0),
    }
}

/// Whether the process whose `/proc/PID/fd` is `folder` has a descriptor above standard error. The
/// three first are passed over by their place in the folder, so the kernel makes no entry for them:
/// a third of the cost of a listing.
///
/// # Errors
/// If the folder cannot be listed, or is not one of procfs.
pub fn any_above_stderr(folder: &std::fs::File) -> Result<bool, Error> {
    // "." and ".." come before descriptor 0.
    let fourth = 5;
    // SAFETY: takes no pointers.
    let at = unsafe { libc::lseek(folder.as_raw_fd(), fourth, libc::SEEK_SET) };
    check("lseek", at)?;
    let mut entries = [0_u64; 64];
    // SAFETY: the pointer and length are of `entries`, which is aligned for the kernel's structure.
    let got = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            folder.as_raw_fd(),
            entries.as_mut_ptr(),
            size_of_val(&entries),
        )
    };
    Ok(check("getdents64", got)? > 0)
}
