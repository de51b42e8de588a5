//! A Parquet file of many attempts, read by the columns that are asked for.

use super::Texts;
use super::batch::Batch;
use super::cell::{Kind, Values};
use super::fields::{Field, fields};
use super::newest::is_all_of;
use super::regular;
use super::texts::{TEXT_FIELDS, TextField};
use super::write::io_error;
use crate::Error;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use record::attempt::Attempt;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

/// Rows that are given at once.
const BATCH_ROWS: usize = 8192;

/// One file.
pub(super) struct Pack {
    path: PathBuf,
    file: SerializedFileReader<File>,
}

/// What is to be read.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    /// In the order of their places in a batch.
    pub(super) fields: Vec<Field>,
    /// What comes behind them.
    pub(super) texts: Vec<TextField>,
}

impl Columns {
    pub(super) fn all() -> Self {
        Self {
            fields: fields(),
            texts: TEXT_FIELDS.to_vec(),
        }
    }

    /// Those of these names.
    pub(super) fn named(names: &[&str]) -> Self {
        let all = fields();
        let find = |name: &&str| all.iter().find(|field| field.name == **name).cloned();
        let texts = TEXT_FIELDS.iter().filter(|text| names.contains(&text.name));
        Self {
            fields: names.iter().filter_map(find).collect(),
            texts: texts.copied().collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        let texts = self.texts.iter().map(|text| (text.name, Kind::Text));
        let fields = self
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.kind));
        fields.chain(texts)
    }
}

impl Pack {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let opened = regular::open(path).map_err(ParquetError::from);
        let file = opened.and_then(SerializedFileReader::new);
        Ok(Self {
            file: file.map_err(|error| failed(path, error))?,
            path: path.to_owned(),
        })
    }

    pub(super) fn rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// What its row groups say of themselves, in their order.
    pub(super) fn groups(&self) -> impl Iterator<Item = &RowGroupMetaData> {
        self.file.metadata().row_groups().iter()
    }

    /// Gives all rows of the row groups that may have a category from one to another, in pieces,
    /// until it is told to stop; none of the row groups of these numbers.
    pub(super) fn scan(
        &self,
        columns: &Columns,
        categories: Option<(&str, &str)>,
        passed: &[usize],
        each: &mut dyn FnMut(&Batch<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<ControlFlow<()>, Error> {
        let failed = |error| failed(&self.path, error);
        let mut row = 0;
        let one = categories.filter(|(from, to)| from == to);
        for (number, metadata) in self.groups().enumerate() {
            let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
            let may_have = categories.is_none_or(|range| may_have(metadata, range));
            if may_have && !passed.contains(&number) {
                let group = self.file.get_row_group(number).map_err(failed)?;
                let range = match one.filter(|(name, _)| !is_all_of(metadata, name)) {
                    Some((name, _)) => range_of(&*group, rows, name).map_err(failed)?,
                    None => 0..rows,
                };
                let mut reading = Reading::new(&*group, columns).map_err(failed)?;
                let mut done = range.start;
                reading.skip(done).map_err(failed)?;
                while done < range.end {
                    let more = (range.end - done).min(BATCH_ROWS);
                    reading.read(more).map_err(failed)?;
                    let batch = Batch::new(columns, &reading.values, more, row + done as u64);
                    if each(&batch)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    done += more;
                }
            }
            row += rows as u64;
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Pack {
    /// The attempt of a row, with what it brings; none where there is no such row.
    pub(super) fn row(&self, row: u64) -> Result<Option<(Attempt, Texts)>, Error> {
        let failed = |error| failed(&self.path, error);
        let mut first = 0;
        for (number, metadata) in self.groups().enumerate() {
            let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
            let Some(place) = row.checked_sub(first).filter(|place| *place < rows) else {
                first += rows;
                continue;
            };
            let columns = Columns::all();
            let group = self.file.get_row_group(number).map_err(failed)?;
            let mut reading = Reading::new(&*group, &columns).map_err(failed)?;
            reading
                .skip(usize::try_from(place).unwrap_or(usize::MAX))
                .map_err(failed)?;
            reading.read(1).map_err(failed)?;
            let batch = Batch::new(&columns, &reading.values, 1, row);
            return Ok(Some((batch.attempt(0), batch.brought(0))));
        }
        Ok(None)
    }

    /// Gives all rows, in pieces.
    pub(super) fn all(
        &self,
        columns: &Columns,
        each: &mut dyn FnMut(&Batch<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let done = self.scan(columns, None, &[], &mut |batch| {
            each(batch).map(ControlFlow::Continue)
        });
        done.map(drop)
    }
}

/// Whether a row group may have a category from one to another, by its least and its highest.
fn may_have(group: &RowGroupMetaData, (from, to): (&str, &str)) -> bool {
    let mut columns = group.columns().iter();
    let Some(column) = columns.find(|column| column.column_path().string() == "category") else {
        return true;
    };
    let Some(Statistics::ByteArray(statistics)) = column.statistics() else {
        return true;
    };
    let least = statistics
        .min_bytes_opt()
        .is_none_or(|least| least <= to.as_bytes());
    // The highest may be cut, and then made greater.
    let most = statistics
        .max_bytes_opt()
        .is_none_or(|most| most >= from.as_bytes());
    least && most
}

/// The rows from the first one of a category to the last; others may be between them.
fn range_of(
    group: &dyn RowGroupReader,
    rows: usize,
    category: &str,
) -> Result<Range<usize>, ParquetError> {
    let columns = Columns::named(&["category"]);
    let mut reading = Reading::new(group, &columns)?;
    reading.read(rows)?;
    let batch = Batch::new(&columns, &reading.values, rows, 0);
    let is = |row: &usize| batch.text(0, *row) == Some(category);
    let first = (0..rows).find(is).unwrap_or(rows);
    let last = (first..rows).rfind(is);
    Ok(first..last.map_or(first, |last| last + 1))
}

/// The columns of a row group that are asked for.
struct Reading {
    readers: Vec<Option<ColumnReader>>,
    values: Vec<Values>,
}

impl Reading {
    fn new(group: &dyn RowGroupReader, columns: &Columns) -> Result<Self, ParquetError> {
        let there = group.metadata().columns();
        let place = |name: &str| {
            there.iter().position(|column| {
                column
                    .column_path()
                    .parts()
                    .first()
                    .is_some_and(|first| first == name)
            })
        };
        let is_empty = |place: &usize| {
            let column = there.get(*place);
            column.is_some_and(|column| {
                let nothing = column.statistics().and_then(Statistics::null_count_opt);
                nothing.is_some_and(|count| i64::try_from(count) == Ok(column.num_values()))
            })
        };
        let reader = |(name, _): (&str, Kind)| match place(name).filter(|place| !is_empty(place)) {
            Some(place) => group.get_column_reader(place).map(Some),
            // A file of an earlier version, or nobody told.
            None => Ok(None),
        };
        Ok(Self {
            readers: columns.names().map(reader).collect::<Result<_, _>>()?,
            values: columns.names().map(|(_, kind)| Values::new(kind)).collect(),
        })
    }

    /// Passes over so many rows.
    fn skip(&mut self, rows: usize) -> Result<(), ParquetError> {
        for reader in self.readers.iter_mut().flatten() {
            let skipped = match reader {
                ColumnReader::ByteArrayColumnReader(reader) => reader.skip_records(rows)?,
                ColumnReader::Int64ColumnReader(reader) => reader.skip_records(rows)?,
                ColumnReader::DoubleColumnReader(reader) => reader.skip_records(rows)?,
                _ => return Err(another_type()),
            };
            if skipped != rows {
                return Err(early());
            }
        }
        Ok(())
    }

    fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        for (reader, values) in self.readers.iter_mut().zip(&mut self.values) {
            // A row that a column does not have is one of which it has nothing.
            values.clear();
            if let Some(reader) = reader {
                read_column(reader, rows, values)?;
            }
        }
        Ok(())
    }
}

fn read_column(
    reader: &mut ColumnReader,
    rows: usize,
    into: &mut Values,
) -> Result<(), ParquetError> {
    let (mut levels, mut repeats) = (Vec::new(), Vec::new());
    let read = match (reader, into) {
        (ColumnReader::ByteArrayColumnReader(reader), Values::Texts(all)) => {
            let mut values = Vec::new();
            let read = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            spread(values, &levels, all);
            read.0
        }
        (ColumnReader::Int64ColumnReader(reader), Values::Ints(all)) => {
            let mut values = Vec::new();
            let read = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            spread(values, &levels, all);
            read.0
        }
        (ColumnReader::DoubleColumnReader(reader), Values::Reals(all)) => {
            let mut values = Vec::new();
            let read = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            spread(values, &levels, all);
            read.0
        }
        (ColumnReader::ByteArrayColumnReader(reader), Values::Lists(all)) => {
            let mut values = Vec::new();
            let read =
                reader.read_records(rows, Some(&mut levels), Some(&mut repeats), &mut values)?;
            gather(values, &levels, &repeats, all);
            read.0
        }
        _ => return Err(another_type()),
    };
    match read == rows {
        true => Ok(()),
        false => Err(early()),
    }
}

fn another_type() -> ParquetError {
    ParquetError::General("a column of another type".to_owned())
}

fn early() -> ParquetError {
    ParquetError::EOF("a column ends early".to_owned())
}

fn spread<T>(values: Vec<T>, levels: &[i16], all: &mut Vec<Option<T>>) {
    let mut values = values.into_iter();
    all.extend(levels.iter().map(|level| match level {
        0 => None,
        _ => values.next(),
    }));
}

fn gather(values: Vec<ByteArray>, levels: &[i16], repeats: &[i16], all: &mut Vec<Vec<ByteArray>>) {
    let mut values = values.into_iter();
    for (level, repeat) in levels.iter().zip(repeats) {
        if *repeat == 0 {
            all.push(Vec::new());
        }
        if *level > 0
            && let Some(list) = all.last_mut()
        {
            list.extend(values.next());
        }
    }
}

fn failed(path: &Path, error: ParquetError) -> Error {
    Error::Read {
        path: path.to_owned(),
        source: io_error(error),
    }
}
