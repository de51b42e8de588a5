//! SIGHUP, SIGINT and SIGTERM, as something to look at between two pieces of work.

use crate::cmd::Status;
use anyhow::{Context, Result};
use sys::signal::{self, Signals};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// These signals, which end nothing by themselves any more.
pub(crate) struct Interrupt(Signals);

impl Interrupt {
    /// Before there are other threads, which inherit it.
    pub(crate) fn open() -> Result<Self> {
        // Once it is blocked it comes even where `nohup` had us ignore it.
        let asked = [SIGHUP, SIGINT, SIGTERM].into_iter();
        let asked = asked.filter(|signal| *signal != SIGHUP || !signal::is_ignored(SIGHUP));
        let mask = asked.map(signal::bit).sum();
        signal::set_mask(mask);
        Ok(Self(Signals::open(mask).context("signals")?))
    }

    /// The signal that came, if one did.
    pub(crate) fn next(&mut self) -> Option<i32> {
        self.0.next().map(|arrived| arrived.signal)
    }
}

/// The status of whoever was ended by a signal: 128 and its number.
pub(crate) fn status(signal: i32) -> Status {
    Status::try_from(128 + signal).unwrap_or(128 + SIGINT as Status)
}
