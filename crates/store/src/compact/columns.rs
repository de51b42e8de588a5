//! The rows of a bucket as columns of a Parquet file.

use super::bucket::{Kept, When};
use crate::text::{self, MARK, raw};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use record::codec::cells::Cell;
use record::codec::key::{Part, parts};
use record::table::{AT, Column, Form, Shape, TIME, Table, WHO};
use std::cmp::Ordering;
use std::sync::Arc;

/// The values of one column, in the three levels of Parquet.
#[derive(Debug)]
pub(super) enum Values {
    /// Numbers; the second says by row whether there is one.
    Ints(Vec<i64>, Vec<i16>),
    /// Texts.
    Texts(Vec<ByteArray>, Vec<i16>),
    /// Lists of texts: values, definition levels, repetition levels.
    Lists(Vec<ByteArray>, Vec<i16>, Vec<i16>),
}

/// The columns of some rows.
#[derive(Debug)]
pub(super) struct Columns {
    table: &'static Table,
    key_columns: Vec<Column>,
    /// The key of the row before, and what it says.
    key: Vec<u8>,
    key_cells: Vec<Text>,
    values: Vec<Values>,
    rows: usize,
}

#[derive(Debug)]
enum Text {
    Int(i64),
    Text(ByteArray),
}

impl Columns {
    pub(super) fn new(table: &'static Table) -> Self {
        Self {
            table,
            key_columns: WHO.iter().chain(table.key).copied().collect(),
            key: Vec::new(),
            key_cells: Vec::new(),
            values: empty(table),
            rows: 0,
        }
    }

    /// How many rows there are.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, as the file's schema has them.
    pub(super) fn values(&self) -> &[Values] {
        &self.values
    }

    /// So many more rows, which `give` appends to the columns.
    pub(super) fn append(&mut self, rows: usize, give: &mut dyn FnMut(&mut [Values])) {
        give(&mut self.values);
        self.rows += rows;
    }

    /// Forgets the rows.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.values.iter_mut().for_each(Values::clear);
    }

    /// One more row.
    pub(super) fn push(&mut self, key: &[u8], when: When, kept: &Kept<'_>) {
        if self.key != key || self.key_cells.is_empty() {
            self.key = key.to_vec();
            let parts = parts(&self.key_columns, key).unwrap_or_default();
            self.key_cells = parts.into_iter().map(Text::from).collect();
        }
        self.rows += 1;
        let mut columns = self.values.iter_mut();
        for (cell, column) in self.key_cells.iter().zip(&mut columns) {
            match cell {
                Text::Int(value) => column.int(Some(*value)),
                Text::Text(text) => column.text(Some(text.clone())),
            }
        }
        for value in [when.real_ns.div_euclid(1000), when.at_ns] {
            if let Some(column) = columns.next() {
                column.int(Some(value));
            }
        }
        match kept {
            Kept::Values(last) => {
                let mut present = last.present();
                for (value, column) in last.values().iter().zip(columns) {
                    column.int((present & 1 == 1).then_some(*value));
                    present >>= 1;
                }
            }
            Kept::Cells(cells) => {
                for (index, column) in columns.enumerate() {
                    let place = index + self.table.key.len();
                    let cell = cells.iter().find(|(n, _)| usize::from(*n) == place);
                    column.cell(cell.map(|(_, cell)| cell));
                }
            }
        }
    }
}

impl From<Part> for Text {
    fn from(part: Part) -> Self {
        match part {
            Part::Int(value) => Text::Int(value),
            Part::Text(bytes) => Text::Text(utf8(&bytes)),
        }
    }
}

impl Values {
    fn new(shape: Shape) -> Self {
        match shape {
            Shape::Int => Values::Ints(Vec::new(), Vec::new()),
            Shape::Letter | Shape::Text => Values::Texts(Vec::new(), Vec::new()),
            Shape::List => Values::Lists(Vec::new(), Vec::new(), Vec::new()),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Values::Ints(values, levels) => {
                values.clear();
                levels.clear();
            }
            Values::Texts(values, levels) => {
                values.clear();
                levels.clear();
            }
            Values::Lists(values, levels, repeats) => {
                values.clear();
                levels.clear();
                repeats.clear();
            }
        }
    }

    /// Takes all values of another of the same column.
    pub(super) fn take(&mut self, other: &mut Values) {
        match (self, other) {
            (Values::Ints(to, levels_to), Values::Ints(values, levels)) => {
                to.append(values);
                levels_to.append(levels);
            }
            (Values::Texts(to, levels_to), Values::Texts(values, levels)) => {
                to.append(values);
                levels_to.append(levels);
            }
            (Values::Lists(to, levels_to, repeats_to), Values::Lists(values, levels, repeats)) => {
                to.append(values);
                levels_to.append(levels);
                repeats_to.append(repeats);
            }
            // Both are of one column.
            _ => {}
        }
    }

    /// No value.
    pub(super) fn absent(&mut self) {
        match self {
            Values::Ints(_, levels) | Values::Texts(_, levels) => levels.push(0),
            Values::Lists(..) => self.list(None),
        }
    }

    /// Whether there is no value, where the levels of the row begin.
    pub(super) fn is_absent(&self, level: usize) -> bool {
        let (Values::Ints(_, levels) | Values::Texts(_, levels) | Values::Lists(_, levels, _)) =
            self;
        levels.get(level).is_none_or(|level| *level == 0)
    }

    /// A number; where the column has texts it is the code of a letter.
    fn int(&mut self, value: Option<i64>) {
        match self {
            Values::Ints(values, levels) => {
                values.extend(value);
                levels.push(value.is_some().into());
            }
            Values::Texts(..) => {
                let letter = value.and_then(|code| char::from_u32(u32::try_from(code).ok()?));
                self.text(letter.map(|letter| letter.to_string().into_bytes().into()));
            }
            Values::Lists(..) => self.list(None),
        }
    }

    fn text(&mut self, text: Option<ByteArray>) {
        match self {
            Values::Texts(values, levels) => {
                levels.push(text.is_some().into());
                values.extend(text);
            }
            Values::Ints(..) => self.int(None),
            Values::Lists(..) => self.list(None),
        }
    }

    fn list(&mut self, items: Option<&[&[u8]]>) {
        let Values::Lists(values, levels, repeats) = self else {
            return;
        };
        match items {
            // No list, an empty one, one with items.
            None | Some([]) => {
                levels.push(items.is_some().into());
                repeats.push(0);
            }
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    values.push(utf8(item));
                    levels.push(2);
                    repeats.push((index > 0).into());
                }
            }
        }
    }

    fn cell(&mut self, cell: Option<&Cell<'_>>) {
        match (cell, &self) {
            (Some(Cell::Text(text)), Values::Texts(..)) => self.text(Some(utf8(text))),
            (Some(Cell::List(items)), Values::Lists(..)) => self.list(Some(items)),
            (Some(Cell::Int(value)), _) => self.int(Some(*value)),
            (_, Values::Lists(..)) => self.list(None),
            (_, _) => self.int(None),
        }
    }
}

/// The shapes of all columns of a table's file.
fn all(table: &'static Table) -> impl Iterator<Item = Shape> {
    let keys = WHO.iter().chain(table.key).map(|column| column.shape);
    let rest = table.columns.iter().map(|column| column.shape);
    keys.chain([Shape::Int, Shape::Int]).chain(rest)
}

/// No rows, of all columns of a table's file.
pub(super) fn empty(table: &'static Table) -> Vec<Values> {
    all(table).map(Values::new).collect()
}

/// The names of the columns of a table's file.
pub(super) fn names(table: &'static Table) -> Vec<&'static str> {
    let keys = WHO.iter().chain(table.key).map(|column| column.name);
    let rest = table.columns.iter().map(|column| column.name);
    keys.chain([TIME, AT]).chain(rest).collect()
}

/// The schema of a table's file.
pub(super) fn schema(table: &Table) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for column in WHO.iter().chain(table.key) {
        fields.push(Arc::new(field(column, Repetition::REQUIRED)?));
    }
    fields.push(Arc::new(time()?));
    let at = Type::primitive_type_builder(AT, Physical::INT64);
    fields.push(Arc::new(at.with_repetition(Repetition::REQUIRED).build()?));
    for column in table.columns {
        fields.push(Arc::new(field(column, Repetition::OPTIONAL)?));
    }
    let root = Type::group_type_builder(table.name).with_fields(fields);
    Ok(Arc::new(root.build()?))
}

fn time() -> Result<Type, ParquetError> {
    Type::primitive_type_builder(TIME, Physical::INT64)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
        .build()
}

fn field(column: &Column, repetition: Repetition) -> Result<Type, ParquetError> {
    let string = |name: &str, repetition| {
        Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
            .with_repetition(repetition)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build()
    };
    match column.shape {
        Shape::Int => Type::primitive_type_builder(column.name, Physical::INT64)
            .with_repetition(repetition)
            .build(),
        Shape::Letter | Shape::Text => string(column.name, repetition),
        Shape::List => {
            let element = Arc::new(string("element", Repetition::REQUIRED)?);
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![element])
                .build()?;
            Type::group_type_builder(column.name)
                .with_repetition(repetition)
                .with_logical_type(Some(LogicalType::List))
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

/// The names of the columns that the rows are sorted by, in this order.
pub(super) fn sorted_by(table: &Table) -> Vec<&'static str> {
    let key = WHO.iter().chain(table.key).map(|column| column.name);
    key.chain([AT]).collect()
}

/// Of these the ones that no two rows have in common, but for cells of one instant.
pub(super) fn told_apart_by(table: &Table) -> Vec<&'static str> {
    let mut names = sorted_by(table);
    if table.once.is_some() {
        names.retain(|name| *name != AT);
    }
    names
}

/// Of the only row of these columns: how much it says, and when it was written.
pub(super) fn told(table: &Table, row: &[Values]) -> (usize, Option<i64>) {
    let front = WHO.len() + table.key.len() + 2;
    let at = match row.get(front - 1) {
        Some(Values::Ints(values, _)) => values.first().copied(),
        _ => None,
    };
    let has = |column| {
        row.get(front + column)
            .is_some_and(|values: &Values| !values.is_absent(0))
    };
    (table.told(has), at)
}

/// Whether a column has a required value in each row.
pub(super) fn is_required(table: &Table, index: usize) -> bool {
    index < WHO.len() + table.key.len() + 2
}

/// Whether the values of a table's rows are numbers that go up in small steps.
pub(super) const fn is_series(table: &Table) -> bool {
    matches!(table.form, Form::Series)
}

/// A text as Parquet wants it ([`text::utf8`]).
pub(super) fn utf8(bytes: &[u8]) -> ByteArray {
    text::utf8(bytes).into_owned().into_bytes().into()
}

/// Which of two texts of a file comes first: by the bytes that they stand for, as rows are sorted.
pub(super) fn order(one: Option<&ByteArray>, other: Option<&ByteArray>) -> Ordering {
    let [one, other] = [one, other].map(|text| text.map_or(&[][..], ByteArray::data));
    match one.starts_with(MARK) || other.starts_with(MARK) {
        true => raw(one).cmp(&raw(other)),
        false => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_every_column_of_its_table() {
        for table in record::table::TABLES {
            let schema = schema(table).unwrap();
            assert_eq!(schema.get_fields().len(), all(table).count());
            assert_eq!(schema.get_fields()[0].name(), "host");
        }
    }
}
