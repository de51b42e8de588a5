//! A file that was written earlier, read row by row in little memory.

use super::columns::{self, Values};
use super::footer::Footer;
use crate::error::Error;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use record::table::Table;
use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Rows that are read at once.
const BATCH_ROWS: usize = 2048;

/// A file of a table, at one of its rows.
pub(super) struct Stream {
    path: PathBuf,
    file: Footer,
    /// Where each column of the table is in the file; an older file may not have it.
    places: Vec<Option<usize>>,
    readers: Vec<Option<ColumnReader>>,
    /// The columns that tell one row from another, in the order that they are sorted by: the key
    /// and the time; of what happens once the key.
    sorted: Vec<usize>,
    group: usize,
    rows_left: usize,
    values: Vec<Values>,
    at: Vec<Place>,
    row: usize,
    rows: usize,
}

/// Where in a column's values the row begins.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    value: usize,
    level: usize,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Absent,
    Int(i64),
    Text(ByteArray),
    List(Vec<ByteArray>),
}

impl Stream {
    /// Opens a file, at its first row; `None` for one that has columns which the table has not:
    /// it is of a later version.
    pub(super) fn open(path: &Path, table: &'static Table) -> Result<Option<Self>, Error> {
        let failed = |error| failed(path, error);
        let file = File::open(path).map_err(|error| failed(error.into()))?;
        let file = Footer::read(file).map_err(failed)?;
        let theirs: Vec<_> = file
            .schema()
            .columns()
            .iter()
            .map(|column| column.path().parts().first().cloned().unwrap_or_default())
            .collect();
        let names = columns::names(table);
        if theirs.iter().any(|name| !names.contains(&name.as_str())) {
            return Ok(None);
        }
        let place = |name: &&str| theirs.iter().position(|other| other == name);
        let told_apart_by = columns::told_apart_by(table);
        let index = |name: &&str| names.iter().position(|other| other == name);
        let mut stream = Self {
            path: path.to_owned(),
            places: names.iter().map(place).collect(),
            readers: Vec::new(),
            sorted: told_apart_by.iter().filter_map(index).collect(),
            file,
            group: 0,
            rows_left: 0,
            values: columns::empty(table),
            at: vec![Place::default(); names.len()],
            row: 0,
            rows: 0,
        };
        if !columns::sorted_by(table)
            .iter()
            .all(|name| theirs.iter().any(|other| other == name))
        {
            return Ok(None);
        }
        stream.fill()?;
        Ok(Some(stream))
    }

    /// Whether there is no row left.
    pub(super) const fn is_over(&self) -> bool {
        self.row >= self.rows
    }

    /// Rows of the whole file.
    pub(super) const fn rows_in_all(&self) -> u64 {
        self.file.rows()
    }

    /// The rows from here on that were read already and come before the row of another.
    pub(super) fn rows_before(&self, other: &Stream) -> usize {
        let (mut low, mut high) = (self.row, self.rows);
        while low < high {
            let middle = low.midpoint(high);
            match self.compare(middle, other, other.row) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        low - self.row
    }

    /// The rows from here on that were read already.
    pub(super) const fn rows_read(&self) -> usize {
        self.rows - self.row
    }

    /// Which of two rows comes first: by the key of its series, then by time, unless what it tells
    /// happens once.
    pub(super) fn order(&self, other: &Stream) -> Ordering {
        self.compare(self.row, other, other.row)
    }

    fn compare(&self, row: usize, other: &Stream, row_of_other: usize) -> Ordering {
        let mut columns = self.sorted.iter();
        let order = |column: &usize| {
            let pair = self.values.get(*column).zip(other.values.get(*column));
            match pair {
                Some((Values::Ints(one, _), Values::Ints(two, _))) => {
                    one.get(row).cmp(&two.get(row_of_other))
                }
                Some((Values::Texts(one, _), Values::Texts(two, _))) => {
                    columns::order(one.get(row), two.get(row_of_other))
                }
                _ => Ordering::Equal,
            }
        };
        columns
            .find_map(|column| Some(order(column)).filter(|order| order.is_ne()))
            .unwrap_or(Ordering::Equal)
    }

    /// What tells the row from others.
    pub(super) fn key(&self) -> Vec<Value> {
        let columns = self.sorted.iter();
        let pairs = columns.filter_map(|n| self.values.get(*n).zip(self.at.get(*n)));
        pairs.map(|(values, at)| value(values, *at)).collect()
    }

    /// The row.
    pub(super) fn values(&self) -> Vec<Value> {
        let pairs = self.values.iter().zip(&self.at);
        pairs.map(|(values, at)| value(values, *at)).collect()
    }

    /// Goes on by some of the rows that were read; they are appended to `to`, if they are wanted.
    pub(super) fn pass(&mut self, rows: usize, mut to: Option<&mut [Values]>) -> Result<(), Error> {
        let rows = rows.min(self.rows_read());
        for (index, (values, at)) in self.values.iter().zip(&mut self.at).enumerate() {
            let end = after(values, *at, rows);
            let column = to.as_deref_mut().and_then(|to| to.get_mut(index));
            if let Some(column) = column {
                copy(values, *at, end, column);
            }
            *at = end;
        }
        self.row += rows;
        if self.is_over() {
            self.fill()?;
        }
        Ok(())
    }

    /// Reads the next rows.
    fn fill(&mut self) -> Result<(), Error> {
        (self.row, self.rows) = (0, 0);
        let read = self.read();
        read.map_err(|error| failed(&self.path, error))?;
        for row in 1..self.rows {
            if self.compare(row - 1, self, row).is_gt() {
                let error = ParquetError::General("its rows are not sorted".to_owned());
                return Err(failed(&self.path, error));
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), ParquetError> {
        while self.rows_left == 0 {
            let Some(rows) = self.file.rows_of(self.group) else {
                return Ok(());
            };
            let group = self.group;
            self.group += 1;
            self.rows_left = rows;
            let reader = |place: &Option<usize>| match place {
                Some(place) => self.file.column(group, *place).map(Some),
                None => Ok(None),
            };
            self.readers = self.places.iter().map(reader).collect::<Result<_, _>>()?;
        }
        let rows = self.rows_left.min(BATCH_ROWS);
        for (values, reader) in self.values.iter_mut().zip(&mut self.readers) {
            values.clear();
            match reader {
                Some(reader) => read_column(reader, rows, values)?,
                None => (0..rows).for_each(|_| values.absent()),
            }
        }
        self.at.fill(Place::default());
        self.rows_left -= rows;
        self.rows = rows;
        Ok(())
    }
}

fn read_column(
    reader: &mut ColumnReader,
    rows: usize,
    into: &mut Values,
) -> Result<(), ParquetError> {
    let (read, levels) = match (reader, into) {
        (ColumnReader::Int64ColumnReader(reader), Values::Ints(values, levels)) => {
            let read = reader.read_records(rows, Some(levels), None, values)?;
            (read.0, levels)
        }
        (ColumnReader::ByteArrayColumnReader(reader), Values::Texts(values, levels)) => {
            let read = reader.read_records(rows, Some(levels), None, values)?;
            (read.0, levels)
        }
        (ColumnReader::ByteArrayColumnReader(reader), Values::Lists(values, levels, repeats)) => {
            let read = reader.read_records(rows, Some(levels), Some(repeats), values)?;
            (read.0, levels)
        }
        _ => return Err(ParquetError::General("a column of another type".to_owned())),
    };
    if read != rows {
        return Err(ParquetError::EOF("a column ends early".to_owned()));
    }
    // A column whose values are required has no levels in the file.
    if levels.is_empty() {
        levels.resize(rows, 1);
    }
    Ok(())
}

/// Where a column is so many rows later.
fn after(values: &Values, at: Place, rows: usize) -> Place {
    let levels_of = |levels: &[i16], end: usize, full: i16| {
        let passed = levels.get(at.level..end).unwrap_or_default();
        passed.iter().filter(|level| **level == full).count()
    };
    let (end, passed) = match values {
        Values::Ints(_, levels) | Values::Texts(_, levels) => {
            let end = at.level + rows;
            (end, levels_of(levels, end, 1))
        }
        Values::Lists(_, levels, repeats) => {
            let mut begins = (at.level..repeats.len()).filter(|n| repeats.get(*n) == Some(&0));
            let end = begins.nth(rows).unwrap_or(repeats.len());
            (end, levels_of(levels, end, 2))
        }
    };
    Place {
        value: at.value + passed,
        level: end,
    }
}

fn copy(from: &Values, begin: Place, end: Place, to: &mut Values) {
    let (values, levels) = (begin.value..end.value, begin.level..end.level);
    match (from, to) {
        (Values::Ints(v, l), Values::Ints(to, levels_to)) => {
            to.extend_from_slice(v.get(values).unwrap_or_default());
            levels_to.extend_from_slice(l.get(levels).unwrap_or_default());
        }
        (Values::Texts(v, l), Values::Texts(to, levels_to)) => {
            to.extend_from_slice(v.get(values).unwrap_or_default());
            levels_to.extend_from_slice(l.get(levels).unwrap_or_default());
        }
        (Values::Lists(v, l, r), Values::Lists(to, levels_to, repeats_to)) => {
            to.extend_from_slice(v.get(values).unwrap_or_default());
            levels_to.extend_from_slice(l.get(levels.clone()).unwrap_or_default());
            repeats_to.extend_from_slice(r.get(levels).unwrap_or_default());
        }
        // Both are of one table.
        _ => {}
    }
}

fn value(values: &Values, at: Place) -> Value {
    let end = after(values, at, 1);
    match values {
        _ if values.is_absent(at.level) => Value::Absent,
        Values::Ints(values, _) => values
            .get(at.value)
            .copied()
            .map_or(Value::Absent, Value::Int),
        Values::Texts(values, _) => values
            .get(at.value)
            .cloned()
            .map_or(Value::Absent, Value::Text),
        Values::Lists(values, ..) => {
            Value::List(values.get(at.value..end.value).unwrap_or_default().to_vec())
        }
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::Read {
        path: path.to_owned(),
        source: match error {
            ParquetError::External(inner) => match inner.downcast::<io::Error>() {
                Ok(error) => *error,
                Err(other) => io::Error::other(other),
            },
            other => io::Error::other(other),
        },
    }
}
