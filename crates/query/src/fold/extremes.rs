//! The least and the most of columns, by process or by host.

use super::runs::{HOST, Keys, PROCESS, Places};
use super::{Fold, Reduction};
use crate::column::{numbers, texts};
use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use std::ops::Range;
use std::sync::Arc;

/// What of the rows with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The least value of a column.
    Least(&'static str),
    /// The greatest.
    Most(&'static str),
    /// How many rows.
    Count,
    /// How many with this text in a column.
    CountOf(&'static str, &'static str),
}

impl What {
    /// The column that has to be there.
    fn column(self) -> Option<&'static str> {
        match self {
            Self::Least(name) | Self::Most(name) | Self::CountOf(name, _) => Some(name),
            Self::Count => None,
        }
    }

    /// Of two values the one that stays.
    fn of_two(self, one: Option<i64>, other: Option<i64>) -> Option<i64> {
        let (Some(one), Some(other)) = (one, other) else {
            return one.or(other);
        };
        Some(match self {
            Self::Least(_) => one.min(other),
            Self::Most(_) => one.max(other),
            Self::Count | Self::CountOf(..) => one.saturating_add(other),
        })
    }
}

/// A column of the result.
#[derive(Debug, Clone)]
enum Column {
    Key(&'static str),
    Value(String, What),
}

/// The columns that tell keys apart.
fn keys(is_of_processes: bool) -> impl Iterator<Item = &'static str> {
    let process = PROCESS.into_iter().filter(move |_| is_of_processes);
    HOST.into_iter().chain(process)
}

/// The least and the most of columns.
#[derive(Debug, Clone)]
pub(crate) struct Extremes {
    is_of_processes: bool,
    columns: Vec<Column>,
}

impl Extremes {
    /// By process.
    pub(crate) fn of_processes(values: impl IntoIterator<Item = (String, What)>) -> Self {
        Self::new(true, values)
    }

    /// By host and boot.
    pub(crate) fn of_hosts(values: impl IntoIterator<Item = (String, What)>) -> Self {
        Self::new(false, values)
    }

    fn new(is_of_processes: bool, values: impl IntoIterator<Item = (String, What)>) -> Self {
        let keys = keys(is_of_processes).map(Column::Key);
        let values = values
            .into_iter()
            .map(|(name, what)| Column::Value(name, what));
        Self {
            is_of_processes,
            columns: keys.chain(values).collect(),
        }
    }
}

impl Reduction for Extremes {
    type Fold = Extreme;

    fn columns(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|column| match column {
            Column::Key(name) if HOST.contains(name) => {
                Field::new(*name, DataType::Utf8View, false)
            }
            Column::Key(name) => Field::new(*name, DataType::Int64, false),
            Column::Value(name, _) => Field::new(name, DataType::Int64, true),
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    fn project(&self, places: &[usize]) -> Self {
        let columns = places.iter().filter_map(|place| self.columns.get(*place));
        Self {
            is_of_processes: self.is_of_processes,
            columns: columns.cloned().collect(),
        }
    }

    fn needs(&self) -> Vec<&str> {
        let values = self.columns.iter().filter_map(|column| match column {
            Column::Key(_) => None,
            Column::Value(_, what) => what.column(),
        });
        let mut names: Vec<_> = keys(self.is_of_processes).chain(values).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn begin(&self) -> Extreme {
        let values = self.columns.iter().filter_map(|column| match column {
            Column::Key(_) => None,
            Column::Value(_, what) => Some((*what, Vec::new())),
        });
        Extreme {
            values: values.collect(),
            places: Places::default(),
            of: self.clone(),
        }
    }
}

/// The same, while rows come.
pub(crate) struct Extreme {
    of: Extremes,
    places: Places,
    /// Of each column that is no key the values by place.
    values: Vec<(What, Vec<Option<i64>>)>,
}

impl Extreme {
    /// Gives a column's values of the places to those that are there.
    fn put(values: &mut (What, Vec<Option<i64>>), new: impl Iterator<Item = (usize, Option<i64>)>) {
        let (what, values) = values;
        for (place, new) in new {
            match values.get_mut(place) {
                Some(value) => *value = what.of_two(*value, new),
                // Places are told in order.
                None => values.push(new),
            }
        }
    }
}

impl Fold for Extreme {
    fn rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys = Keys::of(batch, self.of.is_of_processes)?;
        let runs = keys.runs().into_iter();
        let runs: Vec<_> = runs
            .map(|run| (self.places.place(keys.key(run.start)), run))
            .collect();
        for values in &mut self.values {
            let reading = Reading::of(values.0, batch)?;
            let new = runs.iter();
            Self::put(values, new.map(|(place, run)| (*place, reading.value(run))));
        }
        Ok(())
    }

    fn absorb(&mut self, other: Self) {
        let keys = other.places.keys(0..other.places.len());
        let places: Vec<_> = keys.map(|key| self.places.place(key)).collect();
        for (values, (_, new)) in self.values.iter_mut().zip(other.values) {
            Self::put(values, places.iter().copied().zip(new));
        }
    }

    fn bytes(&self) -> usize {
        let values = self.values.iter().map(|(_, values)| values.capacity());
        self.places.bytes() + values.sum::<usize>() * size_of::<Option<i64>>()
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn batch(&self, columns: &SchemaRef, rows: Range<usize>) -> Result<RecordBatch> {
        let mut values = self.values.iter();
        let column = |column: &Column| -> Option<ArrayRef> {
            match column {
                Column::Key(name) => self.places.column(name, rows.clone()),
                Column::Value(..) => {
                    let values = values.next()?.1.get(rows.clone())?;
                    Some(Arc::new(Int64Array::from_iter(values.iter().copied())))
                }
            }
        };
        let arrays = self.of.columns.iter().filter_map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(columns),
            arrays,
            &options,
        )?)
    }
}

/// A column that is read.
enum Reading<'a> {
    Least(&'a Int64Array),
    Most(&'a Int64Array),
    Rows,
    /// The rows with a text.
    Of(Vec<bool>),
}

impl<'a> Reading<'a> {
    fn of(what: What, batch: &'a RecordBatch) -> Result<Self> {
        let failed = DataFusionError::Execution;
        Ok(match what {
            What::Least(name) => Self::Least(numbers(batch, name).map_err(failed)?),
            What::Most(name) => Self::Most(numbers(batch, name).map_err(failed)?),
            What::Count => Self::Rows,
            What::CountOf(name, text) => {
                let texts = texts(batch, name).map_err(failed)?;
                Self::Of(texts.iter().map(|one| one == Some(text)).collect())
            }
        })
    }

    /// What is told of some rows.
    fn value(&self, run: &Range<usize>) -> Option<i64> {
        match self {
            Self::Least(column) => reduced(column, run, i64::min),
            Self::Most(column) => reduced(column, run, i64::max),
            Self::Rows => i64::try_from(run.len()).ok(),
            Self::Of(is_it) => {
                let all = is_it.get(run.clone())?.iter();
                i64::try_from(all.filter(|is_it| **is_it).count()).ok()
            }
        }
    }
}

/// One of some values of a column; none where all are absent.
fn reduced(column: &Int64Array, run: &Range<usize>, of_two: fn(i64, i64) -> i64) -> Option<i64> {
    if column.null_count() == 0 {
        return column
            .values()
            .get(run.clone())?
            .iter()
            .copied()
            .reduce(of_two);
    }
    let valid = run.clone().filter(|row| column.is_valid(*row));
    valid.map(|row| column.value(row)).reduce(of_two)
}
