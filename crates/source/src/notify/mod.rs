//! Mechanisms that tell what happens to a task's processes, and the table of them.

use crate::error::Error;
use record::event::Event;
use record::value::Absent;
use std::os::fd::BorrowedFd;

pub mod agent;
pub mod bpf;
pub mod connector;
pub mod ptrace;
pub mod taskstats;

/// A standing source of events about one task.
pub trait Notify {
    /// The name of its mechanism, as in [`MECHANISMS`].
    fn name(&self) -> &'static str;

    /// Readable when there may be events. Ask again for every poll: it may change.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Appends what happened since the last call, without blocking and not much more than some
    /// thousand events; what is left stays for the next call.
    ///
    /// # Errors
    /// When the mechanism has broken down for good. Lost events are no error but an
    /// [`Event::Lost`].
    fn read(&mut self, sink: &mut Vec<Event>) -> Result<(), Error>;
}

/// Why a mechanism cannot be used: the reason, and in words what is missing and how to allow it.
pub type Unusable = (Absent, String);

/// One mechanism of this folder.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// The level of watching that it serves.
    pub level: u8,
    /// Whether it leaves the task as it is, so that it may be chosen without being asked for.
    pub by_default: bool,
    /// Tries it out for this user on this kernel.
    pub probe: fn() -> Result<(), Unusable>,
    /// What it gives, one sentence.
    pub gives: &'static str,
}

/// Every mechanism, best first.
pub const MECHANISMS: &[Mechanism] = &[
    bpf::MECHANISM,
    agent::MECHANISM,
    taskstats::MECHANISM,
    connector::MECHANISM,
    ptrace::MECHANISM,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_can_be_probed_and_says_what_to_do() {
        for mechanism in MECHANISMS {
            match (mechanism.probe)() {
                Ok(()) => println!("{}: usable", mechanism.name),
                Err((reason, why)) => {
                    println!("skipped: {}: {reason:?}: {why}", mechanism.name);
                    assert!(!why.is_empty());
                }
            }
        }
    }
}
