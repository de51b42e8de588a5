//! Of each process one row: the latest.

use super::runs::{HOST, Keys, PROCESS, Places};
use super::{Fold, Reduction};
use crate::column::numbers;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array,
};
use datafusion::arrow::compute::{interleave, take};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use std::ops::Range;
use std::sync::Arc;

/// Which row is later than another is told by these columns, one after the other.
const ORDER: [&str; 2] = ["since_ns", "at_ns"];

/// The latest row of each process, by `since_ns` and then by `at_ns`.
#[derive(Debug, Clone)]
pub(crate) struct Latest {
    columns: SchemaRef,
}

impl Latest {
    /// Of rows with these columns, all of which the result has.
    pub(crate) fn of(columns: SchemaRef) -> Self {
        Self { columns }
    }
}

impl Reduction for Latest {
    type Fold = Last;

    fn columns(&self) -> SchemaRef {
        Arc::clone(&self.columns)
    }

    fn project(&self, places: &[usize]) -> Self {
        let columns = self.columns.project(places);
        Self::of(columns.map_or_else(|_| self.columns(), Arc::new))
    }

    fn needs(&self) -> Vec<&str> {
        let names = self.columns.fields().iter().map(|field| &**field.name());
        let mut names: Vec<_> = names.chain(HOST).chain(PROCESS).chain(ORDER).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn begin(&self) -> Last {
        Last {
            columns: self.columns(),
            places: Places::default(),
            rows: Vec::new(),
            parts: Vec::new(),
            parts_bytes: 0,
        }
    }
}

/// A row that is kept.
#[derive(Debug, Clone, Copy)]
struct Row {
    order: [i64; 2],
    /// Its part, and its place there.
    at: (usize, usize),
}

/// The same, while rows come.
pub(crate) struct Last {
    columns: SchemaRef,
    places: Places,
    /// By place the row that is the latest so far.
    rows: Vec<Row>,
    /// The columns of rows that were once the latest.
    parts: Vec<Vec<ArrayRef>>,
    parts_bytes: usize,
}

impl Last {
    /// Whether a row is later than the one at that place; it takes its place then.
    fn put(&mut self, place: usize, row: Row) -> bool {
        match self.rows.get_mut(place) {
            Some(before) if before.order >= row.order => return false,
            Some(before) => *before = row,
            // Places are told in order.
            None => self.rows.push(row),
        }
        true
    }

    fn keep(&mut self, part: Vec<ArrayRef>) {
        let bytes = part.iter().map(|array| array.get_array_memory_size());
        self.parts_bytes += bytes.sum::<usize>();
        self.parts.push(part);
    }
}

impl Fold for Last {
    fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = Keys::of(batch, true)?;
        let [since, at] = ORDER.map(|name| numbers(batch, name));
        let failed = DataFusionError::Execution;
        let (since, at) = (since.map_err(failed)?, at.map_err(failed)?);
        let mut kept = Vec::new();
        for run in keys.runs() {
            let place = self.places.place(keys.key(run.start));
            let orders = run.map(|row| ([since.value(row), at.value(row)], row));
            let Some((order, row)) = orders.max() else {
                continue;
            };
            let at = (self.parts.len(), kept.len());
            if self.put(place, Row { order, at }) {
                kept.push(row as u64);
            }
        }
        let kept = UInt64Array::from(kept);
        let fields = self.columns.fields().iter();
        let columns = fields.filter_map(|field| batch.column_by_name(field.name()));
        let part = columns.map(|column| Ok(owned(take(column, &kept, None)?)));
        let part = part.collect::<Result<_>>()?;
        self.keep(part);
        Ok(())
    }

    fn absorb(&mut self, other: Self) {
        let before = self.parts.len();
        let keys = other.places.keys(0..other.places.len());
        for (key, mut row) in keys.zip(other.rows) {
            let place = self.places.place(key);
            row.at.0 += before;
            self.put(place, row);
        }
        for part in other.parts {
            self.keep(part);
        }
    }

    fn bytes(&self) -> usize {
        self.places.bytes() + self.rows.capacity() * size_of::<Row>() + self.parts_bytes
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn batch(&self, columns: &SchemaRef, rows: Range<usize>) -> Result<RecordBatch> {
        let at = self.rows.get(rows).unwrap_or_default().iter();
        let at: Vec<_> = at.map(|row| row.at).collect();
        let column = |column: usize| {
            let parts = self.parts.iter().filter_map(|part| part.get(column));
            let parts: Vec<&dyn Array> = parts.map(AsRef::as_ref).collect();
            interleave(&parts, &at)
        };
        let arrays = (0..columns.fields().len()).map(column);
        let options = RecordBatchOptions::new().with_row_count(Some(at.len()));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(columns),
            arrays.collect::<std::result::Result<_, _>>()?,
            &options,
        )?)
    }
}

/// The same without the texts of rows that were not taken.
fn owned(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        _ => array,
    }
}
