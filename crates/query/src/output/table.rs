//! A table for people: columns under one another, numbers to the right.

use super::cell::{self, Kind};
use super::{Format, Look, Out, Writing};
use crate::error::Error;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use std::io::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "table",
    doc: "a table for people",
    is_binary: false,
    open,
};

/// Rows from which the widths of the columns are told; those behind them must live with these.
const ROWS_KEPT: usize = 10_000;

/// A text is not cut below this, however small the screen is.
const WIDTH_MIN: usize = 8;

/// Between two columns.
const GAP: &str = "  ";

fn open(out: Out, look: Look) -> Box<dyn Writing> {
    Box::new(Table {
        out,
        look,
        columns: Vec::new(),
        rows: Vec::new(),
        is_begun: false,
    })
}

struct Table {
    out: Out,
    look: Look,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    is_begun: bool,
}

struct Column {
    name: String,
    kind: Option<Kind>,
    is_number: bool,
    width: usize,
}

impl Writing for Table {
    fn begin(&mut self, columns: &SchemaRef) -> Result<(), Error> {
        let kinds = &self.look.kinds;
        let column = |(name, of): (&String, &DataType)| Column {
            name: name.clone(),
            kind: kinds
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, kind)| *kind),
            is_number: of.is_numeric(),
            width: name.width(),
        };
        let fields = columns.fields().iter();
        let fields = fields.map(|field| (field.name(), field.data_type()));
        self.columns = fields.map(column).collect();
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let columns = self.columns.iter().zip(batch.columns());
        let shown = columns
            .map(|(column, values)| cell::shown(values, column.kind))
            .collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<_> = shown.into_iter().map(Vec::into_iter).collect();
        for _ in 0..batch.num_rows() {
            let row = columns.iter_mut().filter_map(Iterator::next);
            self.rows.push(row.collect());
        }
        match self.rows.len() >= ROWS_KEPT {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        self.write()?;
        self.out.flush().map_err(Error::Write)
    }
}

impl Table {
    /// Writes what is kept.
    fn write(&mut self) -> Result<(), Error> {
        if !self.is_begun {
            self.is_begun = true;
            self.measure();
            let names = self.columns.iter().map(|column| column.name.clone());
            let rules = self.columns.iter().map(|column| "-".repeat(column.width));
            let (names, rules) = (names.collect::<Vec<_>>(), rules.collect::<Vec<_>>());
            self.line(&names)?;
            self.line(&rules)?;
        }
        for row in std::mem::take(&mut self.rows) {
            self.line(&row)?;
        }
        Ok(())
    }

    /// How wide the columns are: as wide as what is in them, if the screen has room for it; else
    /// the widest texts are cut first.
    fn measure(&mut self) {
        for row in &self.rows {
            for (column, cell) in self.columns.iter_mut().zip(row) {
                column.width = column.width.max(cell.width());
            }
        }
        let Some(screen) = self.look.width else {
            return;
        };
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        let used: usize = self.columns.iter().map(|column| column.width).sum();
        let mut over = (used + gaps).saturating_sub(screen);
        while over > 0 {
            let texts = self.columns.iter_mut().filter(|column| !column.is_number);
            let widest = texts.max_by_key(|column| column.width);
            let Some(column) = widest.filter(|column| column.width > WIDTH_MIN) else {
                return;
            };
            column.width -= 1;
            over -= 1;
        }
    }

    fn line(&mut self, cells: &[String]) -> Result<(), Error> {
        let mut line = String::new();
        let last = self.columns.len().saturating_sub(1);
        for (place, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let cell = match self.look.width {
                Some(_) => cut(cell, column.width),
                None => cell.clone(),
            };
            let blanks = " ".repeat(column.width.saturating_sub(cell.width()));
            match column.is_number {
                true => line.extend([blanks, cell]),
                false if place == last => line.push_str(&cell),
                false => line.extend([cell, blanks]),
            }
            if place != last {
                line.push_str(GAP);
            }
        }
        writeln!(self.out, "{line}").map_err(Error::Write)
    }
}

/// What fits, with `~` where something is cut off.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut left = width.saturating_sub(1);
    for letter in text.chars() {
        let of = letter.width().unwrap_or(0);
        if of > left {
            break;
        }
        left -= of;
        out.push(letter);
    }
    out.push('~');
    out
}
