//! One column of the rows of a segment.

use crate::schema;
use datafusion::arrow::array::{
    ArrayRef, Date32Builder, Int64Builder, ListBuilder, StringBuilder, StringViewArray,
    StringViewBuilder, TimestampMicrosecondBuilder, UInt32Array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;
use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key::{Part, parts, two_ints};
use record::codec::series::Row;
use record::table::{Shape, Table, WHO};
use std::sync::Arc;
use store::text::utf8;

const HOUR_NS: i64 = 3_600_000_000_000;
const DAY_HOURS: i64 = 24;

/// Where the values of a column come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// Host and boot.
    Who(usize),
    /// A part of the key.
    Key(usize),
    /// The time of day.
    Time,
    /// The time since boot.
    At,
    /// A column of the table.
    Value(usize, Shape),
    /// The folder that the row will lie in.
    Date,
    Hour,
}

impl From {
    /// By the place in the schema of a table.
    pub(super) fn place(table: &Table, place: usize) -> Self {
        let keys = WHO.len() + table.key.len();
        let value = place.wrapping_sub(keys + 2);
        match place {
            _ if place < WHO.len() => Self::Who(place),
            _ if place < keys => Self::Key(place - WHO.len()),
            _ if place == keys => Self::Time,
            _ if place == keys + 1 => Self::At,
            _ => match table.columns.get(value) {
                Some(column) => Self::Value(value, column.shape),
                None if value == table.columns.len() => Self::Date,
                None => Self::Hour,
            },
        }
    }
}

/// A row.
pub(super) struct Whole<'a> {
    real_ns: i64,
    at_ns: i64,
    /// The hour that it lies in, since 1970.
    hour: i64,
    key: Key,
    values: Values<'a>,
    keys: usize,
}

/// The parts of a key.
enum Key {
    /// Two numbers, as most rows have them.
    Ints([i64; 2]),
    Parts(Vec<Part>),
}

impl Key {
    fn of_series(table: &Table, key: &[u8]) -> Self {
        let is_ints = table.key.iter().all(|column| column.shape == Shape::Int);
        match two_ints(key).filter(|_| is_ints) {
            Some((one, other)) => Self::Ints([one, other]),
            None => Self::Parts(parts(table.key, key).unwrap_or_default()),
        }
    }

    fn int(&self, place: usize) -> Option<i64> {
        match self {
            Self::Ints(ints) => ints.get(place).copied(),
            Self::Parts(parts) => match parts.get(place)? {
                Part::Int(value) => Some(*value),
                Part::Text(_) => None,
            },
        }
    }

    fn text(&self, place: usize) -> Option<&[u8]> {
        match self {
            Self::Ints(_) => None,
            Self::Parts(parts) => match parts.get(place)? {
                Part::Int(_) => None,
                Part::Text(text) => Some(text),
            },
        }
    }
}

enum Values<'a> {
    Series(Row<'a>),
    Cells(&'a [(u8, Cell<'a>)]),
}

impl<'a> Whole<'a> {
    pub(super) fn of_series(table: &Table, header: &Header, row: Row<'a>) -> Self {
        let key = Key::of_series(table, row.key);
        Self::new(table, header, key, Values::Series(row))
    }

    pub(super) fn of_cells(table: &Table, header: &Header, row: &'a [(u8, Cell<'a>)]) -> Self {
        let key = table.key.iter().enumerate().map(|(index, column)| {
            let cell = row.iter().find(|(place, _)| usize::from(*place) == index);
            match (column.shape, cell) {
                (Shape::Int | Shape::Letter, Some((_, Cell::Int(value)))) => Part::Int(*value),
                (Shape::Text | Shape::List, Some((_, Cell::Text(text)))) => {
                    Part::Text(text.to_vec())
                }
                // As in a compaction: a row without its key is of nobody in particular.
                (Shape::Int | Shape::Letter, _) => Part::Int(0),
                (Shape::Text | Shape::List, _) => Part::Text(Vec::new()),
            }
        });
        Self::new(table, header, Key::Parts(key.collect()), Values::Cells(row))
    }

    fn new(table: &Table, header: &Header, key: Key, values: Values<'a>) -> Self {
        let at_ns = header.at_ns as i64;
        let mut whole = Self {
            real_ns: at_ns.saturating_add(header.real_offset_ns),
            at_ns,
            hour: 0,
            key,
            values,
            keys: table.key.len(),
        };
        // What happens once lies where it happened, whoever told it and when.
        let once = table.once.and_then(|name| {
            let place = table
                .columns
                .iter()
                .position(|column| column.name == name)?;
            whole.int(place)
        });
        let of = once.unwrap_or(at_ns).saturating_add(header.real_offset_ns);
        whole.hour = of.div_euclid(HOUR_NS);
        whole
    }

    fn cell(&self, column: usize) -> Option<&Cell<'a>> {
        let Values::Cells(cells) = &self.values else {
            return None;
        };
        let place = column + self.keys;
        let found = cells.iter().find(|(index, _)| usize::from(*index) == place);
        found.map(|(_, cell)| cell)
    }

    fn int(&self, column: usize) -> Option<i64> {
        match &self.values {
            Values::Series(row) => {
                let is_there = row.present >> column & 1 == 1;
                row.values.get(column).copied().filter(|_| is_there)
            }
            Values::Cells(_) => match self.cell(column)? {
                Cell::Int(value) => Some(*value),
                Cell::Text(_) | Cell::List(_) => None,
            },
        }
    }
}

/// A column that is being filled.
#[derive(Debug)]
pub(super) struct Builder {
    from: From,
    values: Building,
}

#[derive(Debug)]
enum Building {
    /// One text for all rows, which are counted.
    Same(String, usize),
    Ints(Int64Builder),
    Texts(StringViewBuilder),
    Lists(ListBuilder<StringBuilder>),
    Times(TimestampMicrosecondBuilder),
    Dates(Date32Builder),
}

impl Builder {
    /// Of a column of this type; `who` are host and boot.
    pub(super) fn new(from: From, of: &DataType, who: &[String]) -> Self {
        let values = match of {
            DataType::Utf8View if let From::Who(place) = from => {
                Building::Same(who.get(place).cloned().unwrap_or_default(), 0)
            }
            DataType::Utf8View => {
                Building::Texts(StringViewBuilder::new().with_deduplicate_strings())
            }
            DataType::List(_) => {
                let list = ListBuilder::new(StringBuilder::new());
                Building::Lists(list.with_field(schema::element()))
            }
            DataType::Timestamp(..) => {
                let times = TimestampMicrosecondBuilder::new();
                Building::Times(times.with_timezone(schema::ZONE))
            }
            DataType::Date32 => Building::Dates(Date32Builder::new()),
            _ => Building::Ints(Int64Builder::new()),
        };
        Self { from, values }
    }

    pub(super) fn add(&mut self, row: &Whole<'_>) {
        match &mut self.values {
            Building::Same(_, rows) => *rows += 1,
            Building::Ints(ints) => ints.append_option(match self.from {
                From::Key(place) => row.key.int(place),
                From::At => Some(row.at_ns),
                From::Hour => Some(row.hour.rem_euclid(DAY_HOURS)),
                From::Value(column, _) => row.int(column),
                From::Who(_) | From::Time | From::Date => None,
            }),
            Building::Texts(texts) => match self.from {
                From::Key(place) => texts.append_option(row.key.text(place).map(utf8)),
                From::Value(column, Shape::Letter) => {
                    let code = row.int(column).and_then(|code| u32::try_from(code).ok());
                    let letter = code.and_then(char::from_u32);
                    texts.append_option(letter.map(String::from));
                }
                From::Value(column, _) => match row.cell(column) {
                    Some(Cell::Text(text)) => texts.append_value(utf8(text)),
                    _ => texts.append_null(),
                },
                From::Who(_) | From::Time | From::At | From::Date | From::Hour => {
                    texts.append_null();
                }
            },
            Building::Lists(lists) => match self.from {
                From::Value(column, _) => match row.cell(column) {
                    Some(Cell::List(items)) => {
                        for item in items {
                            lists.values().append_value(utf8(item));
                        }
                        lists.append(true);
                    }
                    _ => lists.append(false),
                },
                _ => lists.append(false),
            },
            Building::Times(times) => times.append_value(row.real_ns.div_euclid(1000)),
            Building::Dates(dates) => {
                let days = row.hour.div_euclid(DAY_HOURS);
                dates.append_option(i32::try_from(days).ok());
            }
        }
    }

    /// The values; the next ones begin anew.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match &mut self.values {
            Building::Same(text, rows) => {
                let one = StringViewArray::from_iter_values([&text]);
                let places = UInt32Array::from(vec![0; std::mem::take(rows)]);
                take(&one, &places, None)?
            }
            Building::Ints(ints) => Arc::new(ints.finish()),
            Building::Texts(texts) => Arc::new(texts.finish()),
            Building::Lists(lists) => Arc::new(lists.finish()),
            Building::Times(times) => Arc::new(times.finish()),
            Building::Dates(dates) => Arc::new(dates.finish()),
        })
    }
}
