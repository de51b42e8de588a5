//! Some rows of an archive, column by column.

use super::Texts;
use super::cell::{Cell, Values};
use super::pack::Columns;
use record::attempt::Attempt;
use std::borrow::Cow;

/// Some rows. Columns have the places in which they were asked for.
#[derive(Debug)]
pub struct Batch<'a> {
    columns: &'a Columns,
    values: &'a [Values],
    rows: usize,
    /// The place of the first row in its file.
    pub(super) first: u64,
}

impl<'a> Batch<'a> {
    pub(super) fn new(columns: &'a Columns, values: &'a [Values], rows: usize, first: u64) -> Self {
        Self {
            columns,
            values,
            rows,
            first,
        }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A text; what is no UTF-8 is none.
    pub fn text(&self, column: usize, row: usize) -> Option<&str> {
        match self.values.get(column) {
            Some(Values::Texts(all)) => {
                let bytes = all.get(row).and_then(Option::as_ref)?;
                std::str::from_utf8(bytes.data()).ok()
            }
            _ => None,
        }
    }

    /// The texts of a list; none of another column.
    pub fn texts(&self, column: usize, row: usize) -> impl Iterator<Item = &str> {
        let list = match self.values.get(column) {
            Some(Values::Lists(all)) => all.get(row).map(Vec::as_slice),
            _ => None,
        };
        let texts = list.unwrap_or_default().iter();
        texts.filter_map(|bytes| std::str::from_utf8(bytes.data()).ok())
    }

    /// A whole number; an instant in microseconds since 1970.
    pub fn int(&self, column: usize, row: usize) -> Option<i64> {
        match self.values.get(column) {
            Some(Values::Ints(all)) => all.get(row).copied().flatten(),
            _ => None,
        }
    }

    /// A number.
    pub fn number(&self, column: usize, row: usize) -> Option<f64> {
        match self.values.get(column) {
            Some(Values::Reals(all)) => all.get(row).copied().flatten(),
            _ => self.int(column, row).map(|value| value as f64),
        }
    }

    /// The attempt, as far as its columns were asked for.
    pub fn attempt(&self, row: usize) -> Attempt {
        let mut attempt = Attempt::default();
        for (field, values) in self.columns.fields.iter().zip(self.values) {
            field.set(&mut attempt, values.cell(row));
        }
        attempt
    }

    /// What it brings with it, as far as that was asked for.
    pub fn brought(&self, row: usize) -> Texts {
        let mut texts = Texts::default();
        let values = self.values.iter().skip(self.columns.fields.len());
        for (field, values) in self.columns.texts.iter().zip(values) {
            (field.set)(&mut texts, values.cell(row).text());
        }
        texts
    }
}

/// Rows that are not in a file of many, as the same.
pub(super) fn values_of(columns: &Columns, rows: &[(Attempt, Texts)]) -> Vec<Values> {
    let mut all: Vec<Values> = Vec::new();
    for field in &columns.fields {
        let mut values = Values::new(field.kind);
        for (attempt, _) in rows {
            values.push(field.get(attempt));
        }
        all.push(values);
    }
    for field in &columns.texts {
        let mut values = Values::new(super::cell::Kind::Text);
        for (_, texts) in rows {
            let text = (field.get)(texts).map(Cow::Borrowed);
            values.push(text.map_or(Cell::Absent, Cell::Text));
        }
        all.push(values);
    }
    all
}
