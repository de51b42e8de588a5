//! A value of a row in a file of many attempts.

use parquet::data_type::ByteArray;

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

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Absent,
    Text(String),
    List(Vec<String>),
    Int(i64),
    Real(f64),
}

impl Cell {
    pub(super) fn text(self) -> Option<String> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(self) -> Vec<String> {
        match self {
            Cell::List(list) => list,
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
    pub(super) fn push(&mut self, cell: Cell) {
        match self {
            Values::Texts(all) => {
                all.push(cell.text().map(|text| ByteArray::from(text.into_bytes())))
            }
            Values::Lists(all) => {
                let words = cell.list().into_iter();
                all.push(
                    words
                        .map(|word| ByteArray::from(word.into_bytes()))
                        .collect(),
                );
            }
            Values::Ints(all) => all.push(cell.int()),
            Values::Reals(all) => all.push(match cell {
                Cell::Real(value) => Some(value),
                _ => None,
            }),
        }
    }

    pub(super) fn cell(&self, row: usize) -> Cell {
        match self {
            Values::Texts(all) => match all.get(row) {
                Some(Some(bytes)) => Cell::Text(text(bytes)),
                _ => Cell::Absent,
            },
            Values::Lists(all) => {
                Cell::List(all.get(row).into_iter().flatten().map(text).collect())
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

fn text(bytes: &ByteArray) -> String {
    String::from_utf8_lossy(bytes.data()).into_owned()
}
