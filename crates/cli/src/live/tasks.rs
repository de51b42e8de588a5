//! What is known of the jobs that have processes here.

use super::people::{int, text};
use record::codec::cells::Cell;
use record::table::job;
use std::collections::BTreeMap;

/// The columns of `job` that are shown, behind scheduler and identifier.
pub(crate) const OF_JOB: [&str; 11] = [
    "user",
    "account",
    "partition",
    "name",
    "cpus_allocated",
    "cpus_requested",
    "memory_limit",
    "memory_allocated",
    "memory_requested",
    "time_limit",
    "present",
];

/// A job, as it was told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) scheduler: String,
    pub(crate) user: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) partition: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) cpus: Option<i64>,
    /// On this machine, else in all, bytes.
    pub(crate) memory: Option<i64>,
    pub(crate) time_limit_ns: Option<i64>,
}

/// All of them, by their identifiers.
#[derive(Debug)]
pub(crate) struct Tasks {
    places: [Option<usize>; 11],
    known: BTreeMap<String, Task>,
}

impl Tasks {
    pub(super) fn new() -> Self {
        let place = |name: &str| {
            let mut all = job::TABLE.key.iter().chain(job::TABLE.columns);
            all.position(|column| column.name == name)
        };
        Self {
            places: OF_JOB.map(place),
            known: BTreeMap::new(),
        }
    }

    /// Takes a row of `job`.
    pub(super) fn row(&mut self, row: &[(u8, Cell<'_>)]) {
        let (scheduler, identifier) = (text(row, Some(0)), text(row, Some(1)));
        let Some(identifier) = identifier else {
            return;
        };
        let [
            user,
            account,
            partition,
            name,
            allocated,
            requested,
            limit,
            given,
            asked,
            time_limit,
            present,
        ] = self.places;
        if int(row, present) == Some(0) {
            self.known.remove(&identifier);
            return;
        }
        let first = |places: &[Option<usize>]| places.iter().find_map(|place| int(row, *place));
        let task = Task {
            scheduler: scheduler.unwrap_or_default(),
            user: text(row, user),
            account: text(row, account),
            partition: text(row, partition),
            name: text(row, name),
            cpus: first(&[allocated, requested]),
            memory: first(&[limit, given, asked]),
            time_limit_ns: int(row, time_limit),
        };
        self.known.insert(identifier, task);
    }

    /// What is known of a job.
    pub(crate) fn of(&self, identifier: &str) -> Option<&Task> {
        self.known.get(identifier)
    }
}
