//! Of a build that makes no Parquet files: segments stay as they are.

use record::unit::Nanos;
use std::path::Path;

/// What is done with the dataset now and then: nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upkeep {}

/// No turns.
#[derive(Debug)]
pub(super) struct Turns;

impl Upkeep {
    /// How old a segment becomes.
    pub(super) fn segment_age(self, most: Nanos) -> Nanos {
        most
    }
}

impl Turns {
    pub(super) fn new(_: Upkeep) -> Self {
        Self
    }

    pub(super) fn pause(&self) -> Option<Nanos> {
        None
    }

    pub(super) fn turn(&mut self, _: &Path) {}

    pub(super) fn end(&self) {}
}
