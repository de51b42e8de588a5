//! Which rows of a table of cells a dataset has already, in segments and in Parquet files: who
//! brings rows from elsewhere brings none twice.

use super::columns::utf8;
use super::hive;
use crate::error::Error;
use crate::segment::{Found, Origin, Reader, Rows, Take};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use record::codec::cells::{Cell, put_row};
use record::codec::frame::Header;
use record::codec::series;
use record::table::Table;
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;

/// Rows of one table that were told by one host and boot.
#[derive(Debug)]
pub struct Known {
    table: &'static Table,
    host: String,
    boot_id: String,
    rows: HashSet<Vec<u8>>,
}

impl Known {
    /// Those of `origin` that are in live segments, and those of these hours since 1970 that are in
    /// Parquet files.
    ///
    /// # Errors
    /// Something cannot be read.
    pub fn of(
        dataset: &Path,
        table: &'static Table,
        origin: &Origin,
        hours: &BTreeSet<i64>,
    ) -> Result<Self, Error> {
        let mut known = Self {
            table,
            host: origin.host.clone(),
            boot_id: origin.boot_id.clone(),
            rows: HashSet::new(),
        };
        // Who compacts has its files in place before it takes the segments away.
        for path in super::segments(dataset)? {
            known.of_segment(&path)?;
        }
        for hour in hours {
            for path in hive::files(dataset, table.name, *hour)? {
                known.of_file(&path).map_err(|error| Error::Read {
                    path,
                    source: io::Error::other(error),
                })?;
            }
        }
        Ok(known)
    }

    /// Takes a row of that instant, `CLOCK_BOOTTIME` in nanoseconds; whether it is new.
    pub fn add(&mut self, at_ns: i64, row: &[(u8, Cell<'_>)]) -> bool {
        self.rows.insert(whole(at_ns, row))
    }

    fn of_segment(&mut self, path: &Path) -> Result<(), Error> {
        let mut reader = match Reader::open(path) {
            Ok(Some(reader)) => reader,
            Ok(None) => return Ok(()),
            // It was compacted just now, or given up.
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let origin = reader.origin();
        if origin.host != self.host || origin.boot_id != self.boot_id {
            return Ok(());
        }
        let mut rows = Rows::default();
        loop {
            match reader.read_next()? {
                Found::Frame { header, payload } => {
                    // What cannot be read is not known.
                    let _ = rows.read(&header, payload, self);
                }
                Found::Bad { .. } => {}
                Found::End { .. } => return Ok(()),
            }
        }
    }

    fn of_file(&mut self, path: &Path) -> Result<(), ParquetError> {
        let file = match File::open(path) {
            // It was given up just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for row in SerializedFileReader::new(file)?.get_row_iter(None)? {
            self.of_row(&row?);
        }
        Ok(())
    }

    fn of_row(&mut self, row: &Row) {
        let find = |name: &str| row.get_column_iter().find(|(column, _)| *column == name);
        let is = |name: &str, wanted: &str| match find(name) {
            Some((_, Field::Str(text))) => text == wanted,
            _ => false,
        };
        let Some((_, Field::Long(at_ns))) = find("at_ns") else {
            return;
        };
        if !is("host", &shown(&self.host)) || !is("boot_id", &shown(&self.boot_id)) {
            return;
        }
        let columns = self.table.key.iter().chain(self.table.columns);
        let cells = columns.enumerate().filter_map(|(place, column)| {
            let cell = match find(column.name)?.1 {
                Field::Long(value) => Cell::Int(*value),
                Field::Str(text) => Cell::Text(text.as_bytes()),
                Field::ListInternal(list) => Cell::List(
                    list.elements()
                        .iter()
                        .filter_map(|item| match item {
                            Field::Str(text) => Some(text.as_bytes()),
                            _ => None,
                        })
                        .collect(),
                ),
                _ => return None,
            };
            Some((u8::try_from(place).ok()?, cell))
        });
        let mut bytes = at_ns.to_le_bytes().to_vec();
        put_row(&mut bytes, cells);
        self.rows.insert(bytes);
    }
}

impl Take for Known {
    fn series(&mut self, _: &'static Table, _: &Header, _: series::Row<'_>, _: bool) {}

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        if table.id == self.table.id {
            self.add(header.at_ns.cast_signed(), row);
        }
    }
}

fn shown(text: &str) -> String {
    String::from_utf8_lossy(utf8(text.as_bytes()).data()).into_owned()
}

/// A row as Parquet has it.
fn whole(at_ns: i64, row: &[(u8, Cell<'_>)]) -> Vec<u8> {
    let texts: Vec<_> = row
        .iter()
        .map(|(_, cell)| match cell {
            Cell::Text(text) => vec![utf8(text)],
            Cell::List(items) => items.iter().map(|item| utf8(item)).collect(),
            Cell::Int(_) => Vec::new(),
        })
        .collect();
    let shown = row.iter().zip(&texts).map(|((place, cell), texts)| {
        let cell = match (cell, texts.first()) {
            (Cell::Int(value), _) => Cell::Int(*value),
            (Cell::Text(_), Some(text)) => Cell::Text(text.data()),
            (Cell::Text(text), None) => Cell::Text(text),
            (Cell::List(_), _) => Cell::List(texts.iter().map(|text| text.data()).collect()),
        };
        (*place, cell)
    });
    let mut bytes = at_ns.to_le_bytes().to_vec();
    put_row(&mut bytes, shown);
    bytes
}
