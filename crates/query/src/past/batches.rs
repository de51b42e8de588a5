//! The rows of an answer, by their columns.

use super::Heeding;
use crate::engine::Engine;
use crate::error::Error;
use crate::output::Writing;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type, SchemaRef};
use record::table::Shape;

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number, or the code of a letter.
    Int(i64),
    /// A text.
    Text(String),
    /// Several.
    List(Vec<String>),
}

/// An answer.
pub(super) struct Batches(Vec<RecordBatch>);

/// One row of it.
pub(super) struct Row<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

impl Batches {
    pub(super) fn of(engine: &Engine, question: &str, heed: Heeding<'_>) -> Result<Self, Error> {
        let mut kept = Self(Vec::new());
        engine.ask(question, &mut kept, heed)?;
        Ok(kept)
    }

    /// Each row as what is made of it.
    pub(super) fn map<T>(&self, of: impl Fn(Row<'_>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let rows = self.0.iter().flat_map(|batch| {
            let rows = 0..batch.num_rows();
            rows.map(move |row| Row { batch, row })
        });
        rows.map(of).collect()
    }
}

impl Writing for Batches {
    fn begin(&mut self, _: &SchemaRef) -> Result<(), Error> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.0.push(batch.clone());
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

impl Row<'_> {
    /// The column at a place, if it has a value here.
    fn column(&self, place: usize) -> Result<Option<&dyn Array>, Error> {
        let column = self
            .batch
            .columns()
            .get(place)
            .ok_or_else(|| other(place))?;
        Ok((!column.is_null(self.row)).then_some(column.as_ref()))
    }

    pub(super) fn int(&self, place: usize) -> Result<Option<i64>, Error> {
        let Some(column) = self.column(place)? else {
            return Ok(None);
        };
        let ints = column.as_primitive_opt::<Int64Type>();
        Ok(Some(ints.ok_or_else(|| other(place))?.value(self.row)))
    }

    /// One that is always there.
    pub(super) fn number(&self, place: usize) -> Result<i64, Error> {
        self.int(place)?.ok_or_else(|| other(place))
    }

    pub(super) fn text(&self, place: usize) -> Result<String, Error> {
        let text = self
            .column(place)?
            .and_then(|column| text_of(column, self.row));
        text.ok_or_else(|| other(place))
    }

    pub(super) fn value(&self, place: usize, shape: Shape) -> Result<Option<Value>, Error> {
        let Some(column) = self.column(place)? else {
            return Ok(None);
        };
        let value = match shape {
            Shape::Int => return Ok(self.int(place)?.map(Value::Int)),
            Shape::Letter => {
                let letter = text_of(column, self.row).and_then(|text| text.chars().next());
                letter.map(|letter| Value::Int(i64::from(u32::from(letter))))
            }
            Shape::Text => text_of(column, self.row).map(Value::Text),
            Shape::List => column.as_list_opt::<i32>().map(|lists| {
                let list = lists.value(self.row);
                let texts = (0..list.len()).filter_map(|index| text_of(list.as_ref(), index));
                Value::List(texts.collect())
            }),
        };
        value.map(Some).ok_or_else(|| other(place))
    }
}

/// A text, however the engine keeps it.
fn text_of(column: &dyn Array, row: usize) -> Option<String> {
    let text = match column.data_type() {
        DataType::Utf8 => column.as_string_opt::<i32>()?.value(row),
        DataType::LargeUtf8 => column.as_string_opt::<i64>()?.value(row),
        _ => column.as_string_view_opt()?.value(row),
    };
    Some(text.to_owned())
}

fn other(place: usize) -> Error {
    Error::Failed(format!(
        "column {place} of a question of our own is another"
    ))
}
