//! Where readings come from: an agent, this process, or a dataset.

pub(super) mod agent;
pub(super) mod here;
#[cfg(feature = "query")]
pub(super) mod past;

use crate::live::people::People;
use anyhow::Result;
use record::unit::Nanos;
use std::os::fd::BorrowedFd;

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Got {
    /// A reading is whole; when that was, since boot.
    Reading(u64),
    /// Nothing more now.
    Nothing,
    /// Nothing more will come, and why.
    End(String),
}

/// Readings, one after the other.
pub(crate) trait Feed {
    /// The machine, once it is known.
    fn host(&self) -> &str;

    /// What it is, for people.
    fn name(&self) -> String;

    /// What is readable when there is something more.
    fn wakes(&self) -> Option<BorrowedFd<'_>>;

    /// When there is something more at the latest, since boot.
    fn due(&self) -> Option<Nanos>;

    /// Takes what there is, up to the end of the next reading.
    ///
    /// # Errors
    /// It cannot be read.
    fn next(&mut self, people: &mut People) -> Result<Got>;

    /// Goes so many readings on, or back, in what is past; nothing where it is now.
    ///
    /// # Errors
    /// It cannot be read.
    fn step(&mut self, people: &mut People, readings: i64) -> Result<Option<Got>> {
        let _ = (people, readings);
        Ok(None)
    }

    /// Which reading it is, of how many; nothing where it is now.
    fn place(&self) -> Option<(usize, usize)> {
        None
    }
}
