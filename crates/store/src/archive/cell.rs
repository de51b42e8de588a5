//! A value of a row in a file of many attempts.

use parquet::data_type::ByteArray;
use std::borrow::Cow;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    List,
    Int,
    /// Microseconds since 1970.
    Time,
    Real,
}

/// One value, of an attempt or of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Absent,
    Text(Cow<'a, str>),
    List(Cow<'a, [String]>),
    Int(i64),
    Real(f64),
}

impl Cell<'_> {
    pub(super) fn text(self) -> Option<String> {
        match self {
            Cell::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }

    pub(super) fn list(self) -> Vec<String> {
        match self {
            Cell::List(list) => list.into_owned(),
            _ => Vec::new(),
        }
    }

    pub(super) fn int(self) -> Option<i64> {
        match self {
            Cell::Int(value) => Some(value),
            _ => None,
        }
    }
}

/// The values of a column, by row.
#[derive(Debug)]
pub(super) enum Values {
    Texts(Vec<Option<ByteArray>>),
    Lists(Vec<Vec<ByteArray>>),
    Ints(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
}

impl Values {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Values::Texts(Vec::new()),
            Kind::List => Values::Lists(Vec::new()),
            Kind::Int | Kind::Time => Values::Ints(Vec::new()),
            Kind::Real => Values::Reals(Vec::new()),
        }
    }

    /// One more row; a value of another kind is none.
    pub(super) fn push(&mut self, cell: Cell<'_>) {
        match self {
            Values::Texts(all) => all.push(match cell {
                Cell::Text(text) => Some(ByteArray::from(&*text)),
                _ => None,
            }),
            Values::Lists(all) => all.push(match cell {
                Cell::List(list) => list.iter().map(|word| ByteArray::from(&**word)).collect(),
                _ => Vec::new(),
            }),
            Values::Ints(all) => all.push(cell.int()),
            Values::Reals(all) => all.push(match cell {
                Cell::Real(value) => Some(value),
                _ => None,
            }),
        }
    }

    pub(super) fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Values::Texts(all) => match all.get(row) {
                Some(Some(bytes)) => Cell::Text(text(bytes)),
                _ => Cell::Absent,
            },
            Values::Lists(all) => {
                let list = all.get(row).into_iter().flatten();
                Cell::List(list.map(|bytes| text(bytes).into_owned()).collect())
            }
            Values::Ints(all) => all
                .get(row)
                .copied()
                .flatten()
                .map_or(Cell::Absent, Cell::Int),
            Values::Reals(all) => all
                .get(row)
                .copied()
                .flatten()
                .map_or(Cell::Absent, Cell::Real),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Values::Texts(all) => all.clear(),
            Values::Lists(all) => all.clear(),
            Values::Ints(all) => all.clear(),
            Values::Reals(all) => all.clear(),
        }
    }
}

fn text(bytes: &ByteArray) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.data())
}
