//! What is counted of processes, and how it adds up.

use record::table::{Table, exit, sample};
use record::unit::Unit;

/// How many numbers are counted.
pub(super) const COUNT: usize = 9;

/// A number that only grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// The column of `sample` and `exit`; nothing for what the board itself counts.
    column: &'static str,
    /// What it is called, behind `plimsoll_job_`.
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) doc: &'static str,
}

pub(super) const CPU: usize = 0;
pub(super) const STARTED: usize = 7;
pub(super) const ENDED: usize = 8;

/// All of them.
pub(super) const COUNTED: [Counted; COUNT] = [
    counted("cpu_time", "cpu", Unit::Nanoseconds, "CPU time"),
    counted(
        "bytes_read",
        "read",
        Unit::Bytes,
        "bytes through read-like calls",
    ),
    counted(
        "bytes_written",
        "written",
        Unit::Bytes,
        "bytes through write-like calls",
    ),
    counted(
        "disk_read",
        "storage_read",
        Unit::Bytes,
        "bytes fetched from storage",
    ),
    counted(
        "disk_written",
        "storage_written",
        Unit::Bytes,
        "bytes sent to storage",
    ),
    counted(
        "switches_voluntary",
        "switches_voluntary",
        Unit::Count,
        "context switches by waiting",
    ),
    counted(
        "switches_involuntary",
        "switches_involuntary",
        Unit::Count,
        "context switches by preemption",
    ),
    counted(
        "",
        "processes_started",
        Unit::Count,
        "processes that were met, those that were there at the start included",
    ),
    counted(
        "",
        "processes_ended",
        Unit::Count,
        "of these, those that have ended",
    ),
];

const fn counted(
    column: &'static str,
    name: &'static str,
    unit: Unit,
    doc: &'static str,
) -> Counted {
    Counted {
        column,
        name,
        unit,
        doc,
    }
}

/// Numbers that grow; one is known once any process told it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sums([Option<u64>; COUNT]);

impl Sums {
    pub(super) fn get(&self, what: usize) -> Option<u64> {
        self.0.get(what).copied().flatten()
    }

    /// Raises one to `value`, which it never falls below again; by how much.
    pub(super) fn raise(&mut self, what: usize, value: i64) -> Option<u64> {
        let value = u64::try_from(value).ok()?;
        let slot = self.0.get_mut(what)?;
        let more = value.saturating_sub(slot.unwrap_or(0));
        *slot = Some(slot.unwrap_or(0).max(value));
        Some(more)
    }

    pub(super) fn add_one(&mut self, what: usize, more: u64) {
        if let Some(slot) = self.0.get_mut(what) {
            *slot = Some(slot.unwrap_or(0).saturating_add(more));
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (what, value) in more.0.iter().enumerate() {
            if let Some(value) = value {
                self.add_one(what, *value);
            }
        }
    }
}

/// Where things are in the rows of the tables.
#[derive(Debug)]
pub(super) struct Places {
    /// By column of `sample`.
    pub(super) sample: [Option<usize>; COUNT],
    /// By cell of `exit`, the key's cells included.
    pub(super) exit: [Option<usize>; COUNT],
    pub(super) cpu_least: Option<usize>,
    pub(super) exit_identifier: Option<usize>,
    pub(super) threads: Option<usize>,
    pub(super) rss: Option<usize>,
}

impl Places {
    pub(super) fn new() -> Self {
        let column = |name: &str| sample::TABLE.columns.iter().position(|it| it.name == name);
        let exits = |name: &str| cell(&exit::TABLE, name);
        Self {
            sample: COUNTED.map(|one| column(one.column)),
            exit: COUNTED.map(|one| exits(one.column)),
            cpu_least: exits("cpu_time_min"),
            exit_identifier: exits("identifier"),
            threads: column("threads"),
            rss: column("rss"),
        }
    }
}

/// The place of a column among the cells of a row.
pub(super) fn cell(table: &Table, name: &str) -> Option<usize> {
    let mut all = table.key.iter().chain(table.columns);
    all.position(|column| column.name == name)
}
