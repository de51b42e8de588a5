//! SIGHUP, SIGINT and SIGTERM, as something to look at between two pieces of work.

use crate::cmd::Status;
use anyhow::{Context, Result};
use std::os::fd::{AsFd, BorrowedFd};
use sys::signal::{self, Signals};

const SIGINT: i32 = 2;

/// These signals, which end nothing by themselves any more.
pub(crate) struct Interrupt(Signals);

impl Interrupt {
    /// Before there are other threads, which inherit it.
    pub(crate) fn open() -> Result<Self> {
        Ok(Self(signal::ending(false).context("signals")?))
    }

    /// The signal that came, if one did.
    pub(crate) fn next(&mut self) -> Option<i32> {
        self.0.next().map(|arrived| arrived.signal)
    }
}

impl AsFd for Interrupt {
    /// Readable when one came.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The status of whoever was ended by a signal: 128 and its number.
pub(crate) fn status(signal: i32) -> Status {
    Status::try_from(128 + signal).unwrap_or(128 + SIGINT as Status)
}
