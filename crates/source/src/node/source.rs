//! What tells of the machine, as a row of [`super::SOURCES`]; what is read of it again and again.

use super::fields::Field;
use super::kept::Opener;
use super::rows::Rows;
use record::metric::Metric;
use record::unit::Nanos;
use record::value::Absent;

/// Where a source was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// On machines that have it, against what else tells the same.
    Live,
    /// On files made after the kernel's documentation or source: no machine with it was at hand.
    FixtureOnly,
}

/// One thing that tells of the machine: a kernel file, or a folder of them.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The name of its module and of its folder of fixtures.
    pub name: &'static str,
    /// The kernel file, with upper case where it varies.
    pub file: &'static str,
    /// What it yields.
    pub fields: &'static [&'static [Field]],
    /// How it is known to be right.
    pub tried: Tried,
    /// The time between two readings, at least; 0 for every pass.
    pub period: Nanos,
    /// Its files come and go with devices and mounts: they are looked for again now and then.
    pub listed: bool,
    /// Opens what is there; `NoDevice` or another reason where there is nothing.
    pub open: fn(&mut Opener) -> Result<Box<dyn Reading>, Absent>,
}

impl Source {
    /// The metrics that it yields.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.fields
            .iter()
            .copied()
            .flatten()
            .map(|field| field.metric)
    }
}

/// What is read again and again.
pub trait Reading: Send {
    /// Appends what it is now. Fails when nothing can be read any more.
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent>;
}
