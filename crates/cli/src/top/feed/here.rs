//! What this process reads itself, where no agent does.

use super::{Feed, Got};
use crate::agent::here::Here;
use crate::live::people::People;
use anyhow::Result;
use record::unit::Nanos;
use std::os::fd::BorrowedFd;
use sys::clock;

/// Reads everyone now and then.
pub(crate) struct HereFeed {
    here: Here,
    interval: Nanos,
    due: Nanos,
}

impl HereFeed {
    /// Every `interval`.
    ///
    /// # Errors
    /// No process can be read.
    pub(crate) fn open(interval: Nanos) -> Result<Self> {
        Ok(Self {
            here: Here::open(interval)?,
            interval,
            due: Nanos(clock::boot()),
        })
    }
}

impl Feed for HereFeed {
    fn host(&self) -> &str {
        &self.here.origin().host
    }

    fn name(&self) -> String {
        format!("by {}", self.here.mechanism())
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.here.heard())
    }

    fn due(&self) -> Option<Nanos> {
        Some(self.due)
    }

    fn next(&mut self, people: &mut People) -> Result<Got> {
        let now = Nanos(clock::boot());
        if now < self.due {
            self.here.hear(people)?;
            return Ok(Got::Nothing);
        }
        // What could not be kept up with is left out.
        let passed = now.since(self.due).0 / self.interval.0.max(1);
        self.due = self.due.plus(Nanos((passed + 1) * self.interval.0));
        let (mark, header) = self.here.read(people)?;
        people.end(mark, &header);
        Ok(Got::Reading(header.at_ns))
    }
}
