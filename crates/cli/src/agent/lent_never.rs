//! Nothing is lent: this build has no in-kernel programs. Whoever asks is refused.

use anyhow::{Result, bail};
use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// None.
pub(super) type Programs = Infallible;

/// There are none.
///
/// # Errors
/// Always.
pub(super) fn open() -> Result<Programs> {
    bail!("this plimsoll was built without in-kernel programs")
}

/// Who connected.
#[derive(Debug)]
pub(super) struct Guest {
    socket: OwnedFd,
    uid: u32,
}

impl Guest {
    /// Of the user `uid`.
    pub(super) const fn new(socket: OwnedFd, uid: u32) -> Self {
        Self { socket, uid }
    }

    /// Who it is.
    pub(super) const fn uid(&self) -> u32 {
        self.uid
    }

    /// Never: there are no programs to serve him with.
    ///
    /// # Errors
    /// None.
    pub(super) const fn serve(&mut self, programs: &Programs) -> Result<()> {
        match *programs {}
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
