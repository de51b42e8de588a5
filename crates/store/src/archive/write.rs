//! Many attempts as one Parquet file, sorted by category and end.

use super::Texts;
use super::cell::{Cell, Kind};
use super::column::Column;
use super::fields::{Field, fields};
use super::folder::{self, Folder};
use super::texts::TEXT_FIELDS;
use crate::Error;
use crate::identity::Identity;
use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use record::attempt::{Attempt, SCHEMA};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// Rows of a row group: who asks for one category reads no others.
const GROUP_ROWS: usize = 16 << 10;

/// zstd's level.
const LEVEL: i32 = 3;

/// Attempts that become one file, with what they bring.
#[derive(Debug, Default)]
pub(super) struct Rows(pub(super) Vec<(Attempt, Texts)>);

impl Rows {
    /// Writes them; the name of the file, which depends on their ids alone.
    pub(super) fn write(self, folder: &Folder) -> Result<String, Error> {
        let name = format!("{}.parquet", self.digest());
        let path = folder.packed().join(&name);
        let failed = |source| Error::Write {
            path: path.clone(),
            source,
        };
        let made = folder::beside(&folder.packed()).map_err(|source| Error::Open {
            path: path.clone(),
            source,
        })?;
        self.write_to(made.as_file())
            .map_err(|error| failed(io_error(error)))?;
        made.as_file().sync_data().map_err(failed)?;
        folder::keep(made, &path)?;
        Ok(name)
    }

    fn digest(&self) -> String {
        let mut ids: Vec<&str> = self.0.iter().map(|(one, _)| one.id.as_str()).collect();
        ids.sort_unstable();
        let of_none = Identity::new("pack");
        let of_all = ids.iter().fold(of_none, |all, id| all.with(id.as_bytes()));
        of_all.text()
    }

    fn write_to<W: Write + Send>(self, out: W) -> Result<(), ParquetError> {
        let mut writing = Writing::begin(out)?;
        let order = self.order();
        let mut rows: Vec<_> = self.0.into_iter().map(Some).collect();
        for place in order {
            if let Some((attempt, texts)) = rows.get_mut(place).and_then(Option::take) {
                writing.push(attempt, texts)?;
            }
        }
        writing.end()
    }

    /// Their places by category and end. An attempt is large: each is moved once, and what they
    /// are compared by is looked up once.
    fn order(&self) -> Vec<usize> {
        let categories = self.0.iter().map(|(one, _)| one.category.as_str());
        let sorted: BTreeSet<&str> = categories.clone().collect();
        let ranks: HashMap<&str, usize> = sorted.into_iter().zip(0..).collect();
        let key = |(one, _): &(Attempt, _)| (one.ended.or(one.began), one.submitted);
        let keyed = categories.zip(&self.0).enumerate();
        let mut rows: Vec<_> = keyed
            .map(|(place, (category, row))| {
                (ranks.get(category), key(row), row.0.id.as_str(), place)
            })
            .collect();
        rows.sort_unstable();
        rows.into_iter().map(|(.., place)| place).collect()
    }
}

/// A file that is being written, row group by row group.
struct Writing<W: Write + Send> {
    fields: Vec<Field>,
    writer: SerializedFileWriter<BufWriter<W>>,
    group: Vec<(Attempt, Texts)>,
}

impl<W: Write + Send> Writing<W> {
    fn begin(out: W) -> Result<Self, ParquetError> {
        let fields = fields();
        let out = BufWriter::with_capacity(256 << 10, out);
        Ok(Self {
            writer: SerializedFileWriter::new(out, schema(&fields)?, properties()?)?,
            fields,
            group: Vec::new(),
        })
    }

    fn push(&mut self, attempt: Attempt, texts: Texts) -> Result<(), ParquetError> {
        self.group.push((attempt, texts));
        match self.group.len() >= GROUP_ROWS {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        if !self.group.is_empty() {
            write_group(&mut self.writer, &self.fields, &self.group)?;
            self.group.clear();
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.writer.into_inner()?.flush()?;
        Ok(())
    }
}

/// Attempts as a Parquet file for others, with the columns of the archive's own.
pub struct ParquetFile<W: Write + Send>(Writing<W>);

impl<W: Write + Send> ParquetFile<W> {
    /// Begins one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn begin(out: W) -> io::Result<Self> {
        Writing::begin(out).map(Self).map_err(io_error)
    }

    /// One more attempt, with what it brings.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn push(&mut self, attempt: Attempt, texts: Texts) -> io::Result<()> {
        self.0.push(attempt, texts).map_err(io_error)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(self) -> io::Result<()> {
        self.0.end().map_err(io_error)
    }
}

fn write_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    fields: &[Field],
    rows: &[(Attempt, Texts)],
) -> Result<(), ParquetError> {
    let column = |kind| Column::new(kind, rows.len());
    let mut columns: Vec<_> = kinds(fields).map(column).collect();
    // Row by row: attempts are large, and are taken from memory once.
    for (attempt, texts) in rows {
        let cells = fields.iter().map(|field| field.get(attempt));
        let brought = TEXT_FIELDS.iter().map(|field| (field.get)(texts));
        let brought = brought.map(|text| text.map_or(Cell::Absent, |text| Cell::Text(text.into())));
        for (column, cell) in columns.iter_mut().zip(cells.chain(brought)) {
            column.push(&cell);
        }
    }
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut to) = group.next_column()? else {
            return Err(ParquetError::General("a column without a place".to_owned()));
        };
        column.write(&mut to)?;
        to.close()?;
    }
    group.close()?;
    Ok(())
}

/// What each column holds, in their order in a file.
fn kinds(fields: &[Field]) -> impl Iterator<Item = Kind> {
    let texts = TEXT_FIELDS.iter().map(|_| Kind::Text);
    fields.iter().map(|field| field.kind).chain(texts)
}

fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let columns = fields.iter().map(|field| column(&field.name, field.kind));
    let texts = TEXT_FIELDS
        .iter()
        .map(|field| column(field.name, Kind::Text));
    let columns = columns.chain(texts).map(|made| made.map(Arc::new));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let root = Type::group_type_builder("attempt").with_fields(columns);
    Ok(Arc::new(root.build()?))
}

fn column(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let of = |physical| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL)
    };
    match kind {
        Kind::Text => text(name, Repetition::OPTIONAL),
        Kind::Int => of(Physical::INT64).build(),
        Kind::Real => of(Physical::DOUBLE).build(),
        Kind::Time => of(Physical::INT64)
            .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            .build(),
        Kind::List => {
            let element = Arc::new(text("element", Repetition::REQUIRED)?);
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

fn text(name: &str, repetition: Repetition) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::String))
        .with_converted_type(ConvertedType::UTF8)
        .build()
}

fn properties() -> Result<WriterPropertiesPtr, ParquetError> {
    let version = KeyValue::new("plimsoll.schema".to_owned(), SCHEMA.to_owned());
    let builder = WriterProperties::builder()
        .set_created_by(concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_key_value_metadata(Some(vec![version]));
    Ok(Arc::new(builder.build()))
}

pub(super) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
