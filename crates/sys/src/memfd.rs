//! Files in memory (`memfd_create(2)`), of a length that nobody can change.

use crate::error::{Error, check};
use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Low numbers are left to the task, should a descriptor ever reach it.
const FIRST_NUMBER: i32 = 64;

/// A new one of `bytes` zeros.
///
/// # Errors
/// The kernel's.
pub fn create(name: &CStr, bytes: u64) -> Result<File, Error> {
    // SAFETY: the name is a C string.
    let low =
        unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    let low = check("memfd_create", i64::from(low))?;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    let low = unsafe { OwnedFd::from_raw_fd(low as i32) };
    // SAFETY: makes a new descriptor.
    let fd = unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST_NUMBER) };
    let file = match check("fcntl", i64::from(fd)) {
        // SAFETY: the kernel just returned this descriptor and nobody else owns it.
        Ok(fd) => File::from(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
        // A low limit on descriptors: the low one does.
        Err(_) => File::from(low),
    };
    file.set_len(bytes).map_err(|source| Error::Call {
        call: "ftruncate",
        source,
    })?;
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: changes only what may be done with a file of ours.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    check("fcntl F_ADD_SEALS", i64::from(sealed))?;
    Ok(file)
}

/// Gives the memory of a part of a file back: it reads as zeros.
///
/// # Errors
/// The kernel's.
pub fn empty(file: &File, offset: u64, bytes: u64) -> Result<(), Error> {
    let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (offset, bytes) = (offset as i64, bytes as i64);
    // SAFETY: the descriptor is open; no memory of this process is touched.
    let answer = unsafe { libc::fallocate(file.as_raw_fd(), how, offset, bytes) };
    check("fallocate", i64::from(answer)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn its_length_stays_and_a_part_can_be_emptied() {
        let file = create(c"test", 1 << 16).unwrap();
        assert!(file.set_len(5).is_err() && file.set_len(1 << 20).is_err());
        file.write_all_at(b"abc", 8192).unwrap();
        empty(&file, 8192, 4096).unwrap();
        let mut bytes = [1; 3];
        file.read_exact_at(&mut bytes, 8192).unwrap();
        assert_eq!(bytes, [0; 3]);
    }
}
