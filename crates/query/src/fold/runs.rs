//! Which rows belong to the same process or, where the rows have no pid, to the same host.

use crate::column::{numbers, texts};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::common::{DataFusionError, Result};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// The columns that tell one host from another, and one process from another there.
pub(super) const HOST: [&str; 2] = ["host", "boot_id"];
pub(super) const PROCESS: [&str; 2] = ["pid", "start_ns"];

/// The key columns of some rows.
pub(super) struct Keys {
    host: [StringViewArray; 2],
    process: Option<[Int64Array; 2]>,
    rows: usize,
}

impl Keys {
    pub(super) fn of(batch: &RecordBatch, is_of_processes: bool) -> Result<Self> {
        let failed = DataFusionError::Execution;
        let [host, boot] = HOST.map(|name| texts(batch, name).map_err(failed));
        let process = match is_of_processes {
            true => {
                let [pid, start] = PROCESS.map(|name| numbers(batch, name).map_err(failed));
                Some([pid?.clone(), start?.clone()])
            }
            false => None,
        };
        Ok(Self {
            host: [host?, boot?],
            process,
            rows: batch.num_rows(),
        })
    }

    /// The rows that follow each other with the same key.
    pub(super) fn runs(&self) -> Vec<Range<usize>> {
        let views = self.host.each_ref().map(|texts| texts.views().as_ref());
        let numbers = self.process.as_ref();
        let numbers = numbers.map(|both| both.each_ref().map(|column| column.values().as_ref()));
        let mut runs = Vec::new();
        let mut begin = 0;
        for row in 1..self.rows {
            let is_same_process = numbers.is_none_or(|[pid, start]: [&[i64]; 2]| {
                pid.get(row) == pid.get(row - 1) && start.get(row) == start.get(row - 1)
            });
            // The same text twice may be at two places.
            let is_same = is_same_process
                && (views
                    .iter()
                    .all(|views: &&[u128]| views.get(row) == views.get(row - 1))
                    || self
                        .host
                        .iter()
                        .all(|of| of.value(row) == of.value(row - 1)));
            if !is_same {
                runs.push(begin..row);
                begin = row;
            }
        }
        if begin < self.rows {
            runs.push(begin..self.rows);
        }
        runs
    }

    /// The key of a row.
    pub(super) fn key(&self, row: usize) -> ([&str; 2], [i64; 2]) {
        let process = self.process.as_ref();
        let process = process.map(|both| both.each_ref().map(|column| column.value(row)));
        (
            self.host.each_ref().map(|texts| texts.value(row)),
            process.unwrap_or_default(),
        )
    }
}

/// Every key that came, with a number for each in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Places {
    hosts: Vec<[Box<str>; 2]>,
    by_host: FxHashMap<Box<str>, FxHashMap<Box<str>, usize>>,
    keys: Vec<(usize, [i64; 2])>,
    places: FxHashMap<(usize, [i64; 2]), usize>,
}

impl Places {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of this key; a new one if it comes for the first time.
    pub(super) fn place(&mut self, (host, process): ([&str; 2], [i64; 2])) -> usize {
        let host = self.host(host).unwrap_or_else(|| self.new_host(host));
        let key = (host, process);
        let next = self.keys.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.keys.push(key);
        }
        place
    }

    /// The number of this key, if it came.
    pub(super) fn find(&self, (host, process): ([&str; 2], [i64; 2])) -> Option<usize> {
        let host = self.host(host)?;
        self.places.get(&(host, process)).copied()
    }

    fn host(&self, [host, boot]: [&str; 2]) -> Option<usize> {
        // A segment is of one host, and so are most datasets that are not compacted.
        let is_it = |last: &[Box<str>; 2]| last.iter().map(AsRef::as_ref).eq([host, boot]);
        match self.hosts.last().is_some_and(is_it) {
            true => self.hosts.len().checked_sub(1),
            false => self.by_host.get(host)?.get(boot).copied(),
        }
    }

    fn new_host(&mut self, host: [&str; 2]) -> usize {
        let place = self.hosts.len();
        let [name, boot] = host.map(Box::from);
        self.by_host.entry(name).or_default().insert(boot, place);
        self.hosts.push(host.map(Box::from));
        place
    }

    /// The keys with these numbers.
    pub(super) fn keys(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = ([&str; 2], [i64; 2])> + Clone {
        let keys = self.keys.get(rows).unwrap_or_default().iter();
        keys.filter_map(|(host, process)| {
            let host = self.hosts.get(*host)?;
            Some((host.each_ref().map(AsRef::as_ref), *process))
        })
    }

    /// A column of the keys with these numbers.
    pub(super) fn column(&self, name: &str, rows: Range<usize>) -> Option<ArrayRef> {
        let keys = self.keys(rows);
        let text = |place: usize| -> Option<ArrayRef> {
            let texts = keys
                .clone()
                .filter_map(move |(host, _)| host.get(place).copied());
            Some(Arc::new(StringViewArray::from_iter_values(texts)))
        };
        let number = |place: usize| -> Option<ArrayRef> {
            let numbers = keys
                .clone()
                .filter_map(move |(_, both)| both.get(place).copied());
            Some(Arc::new(Int64Array::from_iter_values(numbers)))
        };
        match HOST.iter().position(|one| *one == name) {
            Some(place) => text(place),
            None => number(PROCESS.iter().position(|one| *one == name)?),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let hosts = self.hosts.iter().flatten().map(|text| text.len());
        let key = size_of::<(usize, [i64; 2])>();
        // They are there twice.
        hosts.sum::<usize>() * 2
            + self.hosts.capacity() * size_of::<[Box<str>; 4]>()
            + self.keys.capacity() * key
            // A byte of each is the table's own.
            + self.places.capacity() * (key + size_of::<usize>() + 1)
    }
}
