//! A wake-up between threads that can be polled (`eventfd(2)`).

use crate::error::{Error, check};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Readable after [`Wake::raise`] until [`Wake::clear`].
#[derive(Debug)]
pub struct Wake(OwnedFd);

impl Wake {
    /// A new one, not raised; closed on exec.
    pub fn new() -> Result<Self, Error> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        check("eventfd", i64::from(fd))?;
        // SAFETY: the kernel just returned this descriptor and nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes it readable.
    pub fn raise(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the pointer and length are of `one`. It fails only where it is raised 2^64 times
        // already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it unreadable.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the pointer and length are of `count`. It fails only where it was not raised.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{Waiting, poll};

    #[test]
    fn it_is_readable_between_raise_and_clear() {
        let wake = Wake::new().unwrap();
        let ready = || {
            let fd = Some(wake.as_fd());
            let exceptional = false;
            poll(&[Waiting { fd, exceptional }], Some(0)).unwrap()
        };
        assert_eq!(ready(), [false]);
        wake.raise();
        wake.raise();
        assert_eq!(ready(), [true]);
        wake.clear();
        assert_eq!(ready(), [false]);
    }
}
