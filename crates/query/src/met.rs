//! What was met beside the rows: damage and files of a later version, counted by those who read.

use std::sync::atomic::{AtomicU64, Ordering};

/// What of the live segments could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Met {
    /// Stretches of bytes that are no frame, and frames that could not be read.
    pub damaged: u64,
    /// Segments that a later version of the program wrote, or that do not begin as one.
    pub passed_over: u64,
}

/// The same, while it is counted by several.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    damaged: AtomicU64,
    passed_over: AtomicU64,
}

impl Counting {
    pub(crate) fn damaged(&self, count: u64) {
        self.damaged.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn passed_over(&self) {
        self.passed_over.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn met(&self) -> Met {
        Met {
            damaged: self.damaged.load(Ordering::Relaxed),
            passed_over: self.passed_over.load(Ordering::Relaxed),
        }
    }
}
