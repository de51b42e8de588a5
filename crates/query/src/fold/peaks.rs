//! The largest sum of a column over the processes of a job in one reading of one host, and the sum
//! of that over its hosts.

use super::runs::{HOST, Keys, PROCESS, Places};
use super::{Fold, Reduction};
use crate::column::{numbers, texts};
use datafusion::arrow::array::{
    Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// When a row was read, and the column that tells of which job a process is.
const AT: &str = "at_ns";
const JOB: &str = "identifier";

/// Which process is of which job.
#[derive(Debug, Default)]
pub(crate) struct Members {
    places: Places,
    /// By process the place of its job on its host.
    slots: Vec<usize>,
    /// By slot the place of the job's name.
    jobs: Vec<usize>,
    names: Vec<Box<str>>,
}

impl Members {
    /// Of rows of host, boot, pid, start and identifier.
    pub(crate) fn of(batches: &[RecordBatch]) -> Result<Self> {
        let mut all = Self::default();
        let (mut names, mut slots) = (FxHashMap::default(), FxHashMap::default());
        for batch in batches {
            let keys = Keys::of(batch, true)?;
            let identifiers = texts(batch, JOB).map_err(DataFusionError::Execution)?;
            for (row, name) in identifiers.iter().enumerate() {
                let key = keys.key(row);
                let name = name.unwrap_or_default();
                let name = *names.entry(name.to_owned()).or_insert_with(|| {
                    all.names.push(name.into());
                    all.names.len() - 1
                });
                // A job goes on over a boot.
                let [host, _] = key.0;
                let slot = *slots.entry((host.to_owned(), name)).or_insert_with(|| {
                    all.jobs.push(name);
                    all.jobs.len() - 1
                });
                if all.places.place(key) == all.slots.len() {
                    all.slots.push(slot);
                }
            }
        }
        Ok(all)
    }

    /// The memory that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let names = self
            .names
            .iter()
            .map(|name| name.len() + size_of::<Box<str>>());
        let numbers = self.slots.capacity() + self.jobs.capacity();
        self.places.bytes() + names.sum::<usize>() + numbers * size_of::<usize>()
    }
}

/// The largest sums.
#[derive(Debug, Clone)]
pub(crate) struct Peaks {
    members: Arc<Members>,
    of: &'static str,
    columns: SchemaRef,
}

impl Peaks {
    /// Of a column, which the result has by the name of `{of}_peak`.
    pub(crate) fn new(members: Members, of: &'static str) -> Self {
        let columns = vec![
            Field::new(JOB, DataType::Utf8View, false),
            Field::new(format!("{of}_peak"), DataType::Int64, true),
        ];
        Self {
            members: Arc::new(members),
            columns: Arc::new(Schema::new(columns)),
            of,
        }
    }
}

impl Reduction for Peaks {
    type Fold = Sums;

    fn columns(&self) -> SchemaRef {
        Arc::clone(&self.columns)
    }

    fn project(&self, places: &[usize]) -> Self {
        let columns = self.columns.project(places);
        Self {
            columns: columns.map_or_else(|_| Arc::clone(&self.columns), Arc::new),
            ..self.clone()
        }
    }

    fn needs(&self) -> Vec<&str> {
        let keys = HOST.into_iter().chain(PROCESS);
        keys.chain([AT, self.of]).collect()
    }

    fn begin(&self) -> Sums {
        let slots = self.members.jobs.len();
        Sums {
            members: Arc::clone(&self.members),
            of: self.of,
            sums: std::iter::repeat_with(FxHashMap::default)
                .take(slots)
                .collect(),
            room: 0,
            peaks: OnceLock::new(),
        }
    }
}

/// The same, while rows come.
pub(crate) struct Sums {
    members: Arc<Members>,
    of: &'static str,
    /// By slot the sum of each reading.
    sums: Vec<FxHashMap<i64, i64>>,
    /// For so many readings there is room, those of all slots together.
    room: usize,
    /// Of each job, once all rows came.
    peaks: OnceLock<Vec<Option<i64>>>,
}

impl Sums {
    fn put(&mut self, slot: usize, new: impl Iterator<Item = (i64, i64)>) {
        let Some(sums) = self.sums.get_mut(slot) else {
            return;
        };
        let before = sums.capacity();
        for (at, value) in new {
            let sum = sums.entry(at).or_insert(0);
            *sum = sum.saturating_add(value);
        }
        self.room += sums.capacity() - before;
    }

    /// Of each job the largest sum of each host, all hosts together.
    fn peaks(&self) -> Vec<Option<i64>> {
        let mut peaks = vec![None; self.members.names.len()];
        for (sums, job) in self.sums.iter().zip(&self.members.jobs) {
            if let Some(peak) = peaks.get_mut(*job) {
                let largest = sums.values().copied().max();
                *peak = match (*peak, largest) {
                    (Some(others), Some(own)) => Some(i64::saturating_add(others, own)),
                    (known, None) | (None, known) => known,
                };
            }
        }
        peaks
    }
}

impl Fold for Sums {
    fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = Keys::of(batch, true)?;
        let [at, of] = [AT, self.of].map(|name| {
            let column = numbers(batch, name);
            column.map_err(DataFusionError::Execution)
        });
        let (at, of) = (at?, of?);
        let members = Arc::clone(&self.members);
        for run in keys.runs() {
            let place = members.places.find(keys.key(run.start));
            let slot = place.and_then(|place| members.slots.get(place));
            if let Some(slot) = slot {
                let rows = run.filter(|row| of.is_valid(*row));
                self.put(*slot, rows.map(|row| (at.value(row), of.value(row))));
            }
        }
        Ok(())
    }

    fn absorb(&mut self, other: Self) {
        for (slot, sums) in other.sums.into_iter().enumerate() {
            self.put(slot, sums.into_iter());
        }
    }

    fn bytes(&self) -> usize {
        // A byte of each is the table's own.
        self.room * (size_of::<(i64, i64)>() + 1)
            + self.sums.capacity() * size_of::<FxHashMap<i64, i64>>()
    }

    fn len(&self) -> usize {
        self.members.names.len()
    }

    fn batch(&self, columns: &SchemaRef, rows: Range<usize>) -> Result<RecordBatch> {
        let arrays = columns.fields().iter().map(|field| -> ArrayRef {
            let names = self.members.names.iter().skip(rows.start);
            match field.name() == JOB {
                true => Arc::new(StringViewArray::from_iter_values(names.take(rows.len()))),
                false => {
                    let peaks = self.peaks.get_or_init(|| self.peaks()).iter().copied();
                    Arc::new(Int64Array::from_iter(
                        peaks.skip(rows.start).take(rows.len()),
                    ))
                }
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = Arc::clone(columns);
        Ok(RecordBatch::try_new_with_options(
            columns,
            arrays.collect(),
            &options,
        )?)
    }
}
