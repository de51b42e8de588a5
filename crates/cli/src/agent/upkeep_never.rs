//! Of a build that makes no Parquet files: segments stay as they are.

use record::unit::Nanos;
use std::path::Path;

/// What is done with the dataset now and then: nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upkeep {}

/// No turns.
#[derive(Debug)]
pub(super) struct Turns;

/// Words of an upkeep on its way to the keeper.
pub(super) const WORDS: usize = 0;

impl Upkeep {
    /// As words for another process.
    pub(super) fn words(self) -> [u64; WORDS] {
        []
    }

    /// From [`Upkeep::words`].
    pub(super) fn of_words(_: [u64; WORDS]) -> Self {
        Self {}
    }

    /// How old a segment becomes.
    pub(super) fn segment_age(self, most: Nanos) -> Nanos {
        most
    }
}

impl Turns {
    pub(super) fn new(_: Upkeep) -> Self {
        Self
    }

    pub(super) fn set(&mut self, _: Upkeep) {}

    pub(super) fn at_work(&self) -> Option<u32> {
        None
    }

    pub(super) fn pause(&self) -> Option<Nanos> {
        None
    }

    pub(super) fn turn(&mut self, _: &Path) -> Option<bool> {
        None
    }

    pub(super) fn end(&self) {}
}
