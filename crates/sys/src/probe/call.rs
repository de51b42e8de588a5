//! System calls by number: results as `io::Result`, descriptors as owned ones.

use libc::{c_int, c_long};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// The result of a system call whose failure is -1 with `errno`.
pub(super) fn check(result: c_long) -> io::Result<c_long> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// [`check`] for calls that return an `int`.
pub(super) fn check_int(result: c_int) -> io::Result<c_int> {
    check(c_long::from(result)).map(|_| result)
}

/// Owns the new descriptor that a system call returned.
pub(super) fn own(result: c_long) -> io::Result<OwnedFd> {
    let fd = c_int::try_from(check(result)?).map_err(io::Error::other)?;
    // SAFETY: `fd` was just returned by the kernel as a new descriptor, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
