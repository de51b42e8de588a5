//! A column of a file of many attempts on its way there.

use super::cell::{Cell, Kind};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

/// The values that are there, and by row whether there is one.
#[derive(Debug)]
pub(super) struct Column {
    values: Values,
    levels: Vec<i16>,
    /// Of lists: whether a row is one more word of the list before.
    repeats: Vec<i16>,
}

#[derive(Debug)]
enum Values {
    Texts(Vec<ByteArray>),
    Lists(Vec<ByteArray>),
    Ints(Vec<i64>),
    Reals(Vec<f64>),
}

impl Column {
    /// One that will have so many rows.
    pub(super) fn new(kind: Kind, rows: usize) -> Self {
        let values = match kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::List => Values::Lists(Vec::new()),
            Kind::Int | Kind::Time => Values::Ints(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
        };
        Self {
            values,
            levels: Vec::with_capacity(rows),
            repeats: Vec::new(),
        }
    }

    /// One more row; a value of another kind is none.
    pub(super) fn push(&mut self, cell: &Cell<'_>) {
        match (&mut self.values, cell) {
            (Values::Texts(all), Cell::Text(text)) => all.push(bytes(text, all.last())),
            (Values::Ints(all), Cell::Int(value)) => all.push(*value),
            (Values::Reals(all), Cell::Real(value)) => all.push(*value),
            (Values::Lists(all), Cell::List(list)) if !list.is_empty() => {
                all.extend(list.iter().map(|word| ByteArray::from(word.as_str())));
                self.levels.extend(list.iter().map(|_| 1));
                let repeats = (0..list.len()).map(|place| i16::from(place > 0));
                return self.repeats.extend(repeats);
            }
            (Values::Lists(_), _) => {
                self.repeats.push(0);
                return self.levels.push(0);
            }
            _ => return self.levels.push(0),
        }
        self.levels.push(1);
    }

    pub(super) fn write(&self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &self.values {
            Values::Texts(all) => {
                let writer = to.typed::<ByteArrayType>();
                writer.write_batch(all, levels, None)?;
            }
            Values::Ints(all) => {
                let writer = to.typed::<Int64Type>();
                writer.write_batch(all, levels, None)?;
            }
            Values::Reals(all) => {
                let writer = to.typed::<DoubleType>();
                writer.write_batch(all, levels, None)?;
            }
            Values::Lists(all) => {
                let writer = to.typed::<ByteArrayType>();
                writer.write_batch(all, levels, Some(&self.repeats))?;
            }
        }
        Ok(())
    }
}

/// Rows beside one another often have the same text: they share it.
fn bytes(text: &str, before: Option<&ByteArray>) -> ByteArray {
    match before.filter(|before| before.data() == text.as_bytes()) {
        Some(before) => before.clone(),
        None => ByteArray::from(text),
    }
}
