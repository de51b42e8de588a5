//! BPF objects by their descriptors and pins (`bpf(2)`): all that a run needs of programs that are
//! in the kernel already. No object file, no type information.

use crate::error::Error;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens the object pinned at `path` (`BPF_OBJ_GET`).
pub(super) fn open(path: &Path) -> Result<OwnedFd, Error> {
    let path = c_path(path)?;
    // SAFETY: the path ends in NUL and outlives the call.
    let result = unsafe { libbpf_sys::bpf_obj_get(path.as_ptr()) };
    own("open of a pinned BPF object", result)
}

/// Pins an object (`BPF_OBJ_PIN`): it lives until the pin is removed.
pub(super) fn pin(object: BorrowedFd<'_>, path: &Path) -> Result<(), Error> {
    let path = c_path(path)?;
    // SAFETY: the descriptor is open; the path ends in NUL and outlives the call.
    let result = unsafe { libbpf_sys::bpf_obj_pin(object.as_raw_fd(), path.as_ptr()) };
    checked("pin of a BPF object", result).map(|_| ())
}

/// Attaches a program to what it was loaded for (`BPF_RAW_TRACEPOINT_OPEN`); it runs as long as
/// the link lives.
pub(super) fn attach(program: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    // SAFETY: the descriptor is open; no name means the program's own target.
    let result =
        unsafe { libbpf_sys::bpf_raw_tracepoint_open(std::ptr::null(), program.as_raw_fd()) };
    own("attach of a BPF program", result)
}

pub(super) fn own(call: &'static str, result: i32) -> Result<OwnedFd, Error> {
    let fd = checked(call, result)?;
    // SAFETY: the kernel made this descriptor for the call above and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// libbpf answers with the negated error number.
pub(super) fn checked(call: &'static str, result: i32) -> Result<i32, Error> {
    if result < 0 {
        let source = io::Error::from_raw_os_error(-result);
        return Err(Error::Call { call, source });
    }
    Ok(result)
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Call {
        call: "path of a pin",
        source: io::Error::from(io::ErrorKind::InvalidInput),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_pinned_is_an_error_of_the_kernel() {
        let error = open(Path::new("/sys/fs/bpf/plimsoll/no/such/pin")).unwrap_err();
        assert!(matches!(
            error.errno(),
            Some(libc::ENOENT | libc::EPERM | libc::EACCES)
        ));
        assert!(open(Path::new("a\0b")).is_err());
    }
}
