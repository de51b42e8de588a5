//! The files that were one after another at a path, and when each was used.

use crate::at_path::{Number, number};
use record::file::{FileId, FileUse, PROCESSES_MAX};
use record::unit::{Bytes, Nanos};

/// The kernel's longest tick: what is told by ticks may seem that much too early.
pub(crate) const TICK: Nanos = Nanos::from_millis(10);
/// Files that are remembered of one path; of more the one that was used longest ago is forgotten.
const SPANS_MAX: usize = 64;

/// From the first to the last use of one file at one path.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) file: FileId,
    /// The one that has its pages, if that is another and known.
    pub(crate) below: Option<FileId>,
    pub(crate) first: Nanos,
    pub(crate) last: Nanos,
    /// The largest size that it was seen to have.
    pub(crate) size_max: Bytes,
    /// The task had it mapped.
    pub(crate) mapped: bool,
    /// Sorted; the first ones, as in the line.
    pids: Vec<u32>,
}

/// The files of one path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spans(Vec<Span>);

impl Span {
    fn new(used: &FileUse) -> Self {
        Self {
            file: used.file,
            below: used.below,
            first: used.first,
            last: used.last,
            size_max: used.size_first.unwrap_or_default().max(used.size_last),
            mapped: used.flags.mapped || used.counts.executions > 0,
            pids: vec![used.pid],
        }
    }

    /// Whether a process used it, as far as that is known.
    pub(crate) fn is_of(&self, pid: u32) -> bool {
        self.pids.binary_search(&pid).is_ok()
    }

    fn is_same(&self, other: &Self) -> bool {
        let of = |file: FileId| (file.device, file.inode, file.generation);
        of(self.file) == of(other.file) && self.below.map(of) == other.below.map(of)
    }

    fn add(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.size_max = self.size_max.max(other.size_max);
        self.mapped |= other.mapped;
        for pid in other.pids {
            if let Err(place) = self.pids.binary_search(&pid)
                && self.pids.len() < PROCESSES_MAX
            {
                self.pids.insert(place, pid);
            }
        }
    }
}

impl Spans {
    /// A file of this path was used.
    pub(crate) fn used(&mut self, used: &FileUse) {
        self.put(Span::new(used));
    }

    /// Takes those of the same path from elsewhere.
    pub(crate) fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|span| self.put(span));
    }

    /// Whether one of them is this file.
    pub(crate) fn have(&self, of: Number) -> bool {
        self.0.iter().any(|span| number(&span.file) == of)
    }

    /// In no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Span> {
        self.0.iter()
    }

    fn put(&mut self, new: Span) {
        if let Some(same) = self.0.iter_mut().find(|span| span.is_same(&new)) {
            return same.add(new);
        }
        self.0.push(new);
        if self.0.len() > SPANS_MAX {
            let places = self.0.iter().enumerate();
            let oldest = places.min_by_key(|(_, span)| span.last);
            if let Some(place) = oldest.map(|(place, _)| place) {
                self.0.swap_remove(place);
            }
        }
    }
}
