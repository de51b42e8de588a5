//! What is in an archive, by set and by category.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Batch, Filter};

/// What is known of the attempts of one name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Line {
    pub(crate) attempts: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    /// Ended by a limit.
    pub(crate) limit: u64,
    /// The first and the last end, microseconds since 1970.
    pub(crate) span: Option<(i64, i64)>,
    /// The largest memory peak, bytes.
    pub(crate) memory: Option<i64>,
    /// The longest, nanoseconds.
    pub(crate) wall: Option<i64>,
    /// CPU time in all, nanoseconds.
    pub(crate) cpu: i64,
    /// Memory peak and wall time multiplied, GiB hours.
    pub(crate) gib_hours: f64,
}

/// All of them by name; attempts without a set are under the empty name.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    pub(crate) sets: BTreeMap<String, Line>,
    pub(crate) categories: BTreeMap<String, Line>,
}

/// What a line is made of, in this order.
pub(crate) const COLUMNS: [&str; 7] = [
    "category",
    "set",
    "end",
    "ended",
    "used_memory",
    "used_wall",
    "used_cpu",
];

impl Overview {
    pub(crate) fn of(
        archive: &Archive,
        filter: &Filter,
        heed: &dyn Fn(u64) -> bool,
    ) -> Result<Self, Error> {
        let mut overview = Self::default();
        let mut rows_done = 0;
        archive.scan(&COLUMNS, filter, &mut |batch, rows| {
            rows_done += rows.len() as u64;
            if !heed(rows_done) {
                return Err(Error::Interrupted);
            }
            for row in rows {
                let category = batch.text(0, *row).unwrap_or_default();
                let set = batch.text(1, *row).unwrap_or_default();
                line(&mut overview.categories, category).add(batch, *row);
                line(&mut overview.sets, set).add(batch, *row);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(overview)
    }
}

fn line<'a>(lines: &'a mut BTreeMap<String, Line>, name: &str) -> &'a mut Line {
    lines.entry(name.to_owned()).or_default()
}

impl Line {
    /// Counts a row of [`COLUMNS`], which others may follow.
    pub(crate) fn add(&mut self, batch: &Batch<'_>, row: usize) {
        self.attempts += 1;
        match batch.text(2, row) {
            Some("done") => self.done += 1,
            Some("failed") => self.failed += 1,
            Some("limit") => self.limit += 1,
            _ => {}
        }
        if let Some(at) = batch.int(3, row) {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
        let (memory, wall) = (batch.int(4, row), batch.int(5, row));
        self.memory = self.memory.max(memory);
        self.wall = self.wall.max(wall);
        self.cpu = self.cpu.saturating_add(batch.int(6, row).unwrap_or(0));
        if let (Some(memory), Some(wall)) = (memory, wall) {
            self.gib_hours += memory as f64 / GIB * (wall as f64 / HOUR);
        }
    }
}

pub(crate) const GIB: f64 = (1u64 << 30) as f64;
pub(crate) const HOUR: f64 = 3600e9;
