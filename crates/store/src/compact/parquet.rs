//! One bucket as one Parquet file.

use super::bucket::Bucket;
use super::columns::{self, Columns, Values};
use crate::disk::Disk;
use crate::error::Error;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, TypePtr};
use record::table::{Shape, Table};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group: all their columns are in memory at once. Each column is one page, so who
/// looks for one process reads no more than the groups it is in, and what a process has in common
/// with the one before (the instants of all readings are) is compressed with it.
const GROUP_ROWS: usize = 32 << 10;

/// Rows that are encoded at once.
const BATCH_ROWS: usize = 4096;

/// zstd's level.
const LEVEL: i32 = 3;

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// Of these bytes.
    pub(super) digest: u64,
}

/// Writes a bucket to a new file, which is on the device then.
pub(super) fn write<D: Disk>(disk: &D, path: &Path, bucket: &Bucket) -> Result<Written, Error> {
    write_by(disk, path, bucket.table, &mut |filling| {
        let mut filled = Ok(());
        bucket.each(&mut |key, when, kept| {
            if filled.is_ok() {
                filling.columns.push(key, when, kept);
                filled = filling.pass_on();
            }
        });
        filled
    })
}

/// Writes the rows that `fill` gives to a new file, which is on the device then.
pub(super) fn write_by<D: Disk>(
    disk: &D,
    path: &Path,
    table: &'static Table,
    fill: &mut dyn FnMut(&mut Filling<'_>) -> Result<(), Error>,
) -> Result<Written, Error> {
    let open = |source| Error::Open {
        path: path.to_owned(),
        source,
    };
    let failed = |error| Error::Write {
        path: path.to_owned(),
        source: io_error(error),
    };
    if let Some(folder) = path.parent() {
        disk.make_folder(folder).map_err(open)?;
    }
    let mut file = disk.create(path).map_err(open)?;
    let out = Out {
        disk,
        file: &mut file,
        written: Written::default(),
        digest: DefaultHasher::new(),
    };
    let mut writer = begin(out, table).map_err(failed)?;
    let mut write =
        |columns: &mut Columns| write_group(&mut writer, table, columns).map_err(failed);
    let mut filling = Filling {
        columns: Columns::new(table),
        rows: 0,
        write: &mut write,
    };
    fill(&mut filling)?;
    filling.end()?;
    let rows = filling.rows;
    let out = writer.into_inner().map_err(failed)?.into_inner();
    let out = out.map_err(|error| failed(error.into_error().into()))?;
    let written = Written {
        rows,
        digest: out.digest.finish(),
        ..out.written
    };
    disk.sync(&file)
        .map_err(|error| failed(ParquetError::External(Box::new(error))))?;
    Ok(written)
}

/// The rows of a file that is being written.
pub(super) struct Filling<'a> {
    /// Those that were not passed on yet.
    pub(super) columns: Columns,
    rows: u64,
    write: &'a mut dyn FnMut(&mut Columns) -> Result<(), Error>,
}

impl Filling<'_> {
    /// Rows that still fit into the row group.
    pub(super) fn room(&self) -> usize {
        GROUP_ROWS.saturating_sub(self.columns.rows())
    }

    /// Writes the row group, if it is full.
    pub(super) fn pass_on(&mut self) -> Result<(), Error> {
        match self.room() {
            0 => self.end(),
            _ => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.rows += self.columns.rows() as u64;
        match self.columns.rows() {
            0 => Ok(()),
            _ => (self.write)(&mut self.columns),
        }
    }
}

/// A file that is written through a disk.
struct Out<'a, D> {
    disk: &'a D,
    file: &'a mut File,
    written: Written,
    digest: DefaultHasher,
}

impl<D: Disk> Write for Out<'_, D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.append(self.file, bytes)?;
        self.written.bytes += bytes.len() as u64;
        self.digest.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn begin<W: Write + Send>(
    out: W,
    table: &Table,
) -> Result<SerializedFileWriter<BufWriter<W>>, ParquetError> {
    let schema = columns::schema(table)?;
    let properties = properties(table, &schema)?;
    let out = BufWriter::with_capacity(256 << 10, out);
    SerializedFileWriter::new(out, schema, properties)
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    table: &Table,
    columns: &mut Columns,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (index, values) in columns.values().iter().enumerate() {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("a column without a place".to_owned()));
        };
        write_column(&mut column, values, columns::is_required(table, index))?;
        column.close()?;
    }
    group.close()?;
    columns.clear();
    Ok(())
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    values: &Values,
    required: bool,
) -> Result<(), ParquetError> {
    match values {
        Values::Ints(values, levels) => {
            let levels = (!required).then_some(&levels[..]);
            column
                .typed::<Int64Type>()
                .write_batch(values, levels, None)?;
        }
        Values::Texts(values, levels) => {
            let levels = (!required).then_some(&levels[..]);
            column
                .typed::<ByteArrayType>()
                .write_batch(values, levels, None)?;
        }
        Values::Lists(values, levels, repeats) => {
            column
                .typed::<ByteArrayType>()
                .write_batch(values, Some(levels), Some(repeats))?;
        }
    }
    Ok(())
}

fn properties(table: &Table, schema: &TypePtr) -> Result<WriterPropertiesPtr, ParquetError> {
    let names: Vec<_> = schema.get_fields().iter().map(|f| f.name()).collect();
    let place = |name: &str| names.iter().position(|other| *other == name);
    let sorted = columns::sorted_by(table).into_iter().filter_map(|name| {
        Some(SortingColumn {
            column_idx: i32::try_from(place(name)?).ok()?,
            descending: false,
            nulls_first: false,
        })
    });
    let version = KeyValue::new("plimsoll.table".to_owned(), table.name.to_owned());
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(GROUP_ROWS)
        .set_write_batch_size(BATCH_ROWS)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // It says where the pages of a group are: here that is where the column is.
        .set_offset_index_disabled(true)
        .set_sorting_columns(Some(sorted.collect()))
        .set_key_value_metadata(Some(vec![version]));
    // In series each row is near the one before.
    if columns::is_series(table) {
        let is_int = |shape| shape == Shape::Int;
        let ints = table.key.iter().chain(table.columns);
        let names = ints.filter(|c| is_int(c.shape)).map(|c| c.name);
        for name in names {
            let path = ColumnPath::from(name);
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        // Thousands of series have the instants of the same readings, which are few; where they are
        // not, each is near the one before.
        for name in ["time", "at_ns"] {
            let path = ColumnPath::from(name);
            builder = builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(Arc::new(builder.build()))
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
