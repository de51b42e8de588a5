//! Many attempts as one Parquet file, sorted by category and end.

use super::Texts;
use super::cell::{Kind, Values};
use super::fields::{Field, fields};
use super::folder::{self, Folder};
use super::texts::TEXT_FIELDS;
use crate::Error;
use crate::identity::Identity;
use parquet::basic::{
    Compression, ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use record::attempt::{Attempt, SCHEMA};
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

    /// Their places by category and end. An attempt is large: each is moved once.
    fn order(&self) -> Vec<usize> {
        let key = |(one, _): &(Attempt, _)| (one.ended.or(one.began), one.submitted);
        let mut rows: Vec<_> = self.0.iter().enumerate().collect();
        rows.sort_unstable_by(|(_, one), (_, other)| {
            let order = one.0.category.cmp(&other.0.category);
            order
                .then_with(|| key(one).cmp(&key(other)))
                .then_with(|| one.0.id.cmp(&other.0.id))
        });
        rows.into_iter().map(|(place, _)| place).collect()
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
    let mut group = writer.next_row_group()?;
    let mut next = |values: &Values| -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else {
            return Err(ParquetError::General("a column without a place".to_owned()));
        };
        write_column(&mut column, values)?;
        column.close()
    };
    for field in fields {
        let mut values = Values::new(field.kind);
        for (attempt, _) in rows {
            values.push(field.get(attempt));
        }
        next(&values)?;
    }
    for field in TEXT_FIELDS {
        let texts = rows.iter().map(|(_, texts)| (field.get)(texts));
        let texts = texts.map(|text| text.map(ByteArray::from));
        next(&Values::Texts(texts.collect()))?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    column: &mut SerializedColumnWriter<'_>,
    values: &Values,
) -> Result<(), ParquetError> {
    match values {
        Values::Texts(all) => {
            let (present, levels) = split(all);
            let writer = column.typed::<ByteArrayType>();
            writer.write_batch(&present, Some(&levels), None)?;
        }
        Values::Ints(all) => {
            let (present, levels) = split(all);
            let writer = column.typed::<Int64Type>();
            writer.write_batch(&present, Some(&levels), None)?;
        }
        Values::Reals(all) => {
            let (present, levels) = split(all);
            let writer = column.typed::<DoubleType>();
            writer.write_batch(&present, Some(&levels), None)?;
        }
        Values::Lists(all) => {
            let (mut words, mut levels, mut repeats) = (Vec::new(), Vec::new(), Vec::new());
            for list in all {
                levels.extend(std::iter::repeat_n(1, list.len()));
                repeats.extend((0..list.len()).map(|place| i16::from(place > 0)));
                if list.is_empty() {
                    levels.push(0);
                    repeats.push(0);
                }
                words.extend(list.iter().cloned());
            }
            let writer = column.typed::<ByteArrayType>();
            writer.write_batch(&words, Some(&levels), Some(&repeats))?;
        }
    }
    Ok(())
}

/// The values that are there, and by row whether there is one.
fn split<T: Clone>(all: &[Option<T>]) -> (Vec<T>, Vec<i16>) {
    let present = all.iter().flatten().cloned().collect();
    let levels = all.iter().map(|one| i16::from(one.is_some())).collect();
    (present, levels)
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
