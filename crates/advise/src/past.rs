//! The attempts of one kind of task that are remembered, as far as one resource goes.

use crate::settings::Settings;
use record::unit::{Bytes, Nanos};
use record::value::Method;
use std::collections::VecDeque;
use std::sync::Arc;

/// So many of the last runs are remembered.
pub const RUNS_MAX: usize = 1000;

/// One attempt that finished.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// Its peak, in the unit of the resource.
    pub value: u64,
    /// How long it took.
    pub wall: Nanos,
    /// The size of its input, where that was known before.
    pub input: Option<Bytes>,
    /// When it ended, since 1970.
    pub at: Option<Nanos>,
    /// The class of its host.
    pub host: Option<Arc<str>>,
    /// How its value was had.
    pub method: Option<Method>,
    /// Its value has page cache in it that could have been reclaimed.
    pub cache: bool,
}

impl Run {
    pub(crate) fn weight(&self) -> f64 {
        self.wall.0 as f64
    }
}

/// The last attempts.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    pub(crate) settings: Settings,
    /// Those that finished, newest last.
    pub(crate) runs: VecDeque<Run>,
    /// The limits of attempts that these ended, newest last.
    pub(crate) killed: VecDeque<u64>,
}

impl Past {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            runs: VecDeque::new(),
            killed: VecDeque::new(),
        }
    }

    /// The run that is forgotten for this one, if one is.
    pub(crate) fn add(&mut self, run: Run) -> Option<Run> {
        self.runs.push_back(run);
        if self.runs.len() > RUNS_MAX {
            return self.runs.pop_front();
        }
        None
    }

    pub(crate) fn add_killed(&mut self, limit: u64) {
        self.killed.push_back(limit);
        if self.killed.len() > RUNS_MAX {
            self.killed.pop_front();
        }
    }

    /// The largest that was needed; none of none.
    pub(crate) fn max(&self) -> Option<u64> {
        self.runs.iter().map(|run| run.value).max()
    }

    /// Twice the largest limit that ended an attempt.
    pub(crate) fn above_killed(&self) -> Option<u64> {
        let limit = *self.killed.iter().max()?;
        Some(self.settings.request(2.0 * limit as f64))
    }
}
