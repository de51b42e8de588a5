//! Values as text.

use super::wrong;
use crate::error::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use record::quantity::{show_bytes, show_time};
use std::sync::Arc;

/// What the numbers of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Parts of one.
    Share,
    /// A number with a fraction.
    Number,
}

/// The same rows, lists as JSON texts.
pub(super) fn flat(batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let schema = batch.schema();
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let (of, column) = match field.data_type() {
            DataType::List(_) | DataType::LargeList(_) => (DataType::Utf8, texts(column)?),
            of => (of.clone(), Arc::clone(column)),
        };
        fields.push(Field::new(field.name(), of, true));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(wrong)
}

fn texts(lists: &ArrayRef) -> Result<ArrayRef, Error> {
    let options = FormatOptions::default();
    let mut texts = StringBuilder::new();
    for row in 0..lists.len() {
        let list = lists.as_list_opt::<i32>().filter(|_| lists.is_valid(row));
        let Some(items) = list.map(|list| list.value(row)) else {
            texts.append_null();
            continue;
        };
        let shown = ArrayFormatter::try_new(&items, &options).map_err(wrong)?;
        let items = (0..items.len()).map(|item| quoted(&shown.value(item).to_string()));
        texts.append_value(format!("[{}]", items.collect::<Vec<_>>().join(",")));
    }
    Ok(Arc::new(texts.finish()))
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if (letter as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", letter as u32)),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// A column as people read it; what is absent is a dash.
pub(super) fn shown(column: &ArrayRef, kind: Option<Kind>) -> Result<Vec<String>, Error> {
    let column = match column.data_type() {
        DataType::List(_) | DataType::LargeList(_) => &texts(column)?,
        _ => column,
    };
    let options = FormatOptions::default().with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.3f"));
    let plain = ArrayFormatter::try_new(column, &options).map_err(wrong)?;
    let text = |row: usize| match kind.and_then(|kind| measured(column, row, kind)) {
        _ if column.is_null(row) => "-".to_owned(),
        Some(text) => text,
        None => harmless(&plain.value(row).to_string()),
    };
    Ok((0..column.len()).map(text).collect())
}

fn measured(column: &ArrayRef, row: usize, kind: Kind) -> Option<String> {
    let whole = column.as_primitive_opt::<Int64Type>();
    let broken = column.as_primitive_opt::<Float64Type>();
    let whole = whole.map(|values| values.value(row));
    let value = broken
        .map(|values| values.value(row))
        .or(whole.map(|value| value as f64))?;
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    Some(match kind {
        Kind::Time => format!("{sign}{}", show_time(size as u64)),
        Kind::Bytes => format!("{sign}{}", show_bytes(size as u64)),
        Kind::Share => format!("{:.1} %", value * 100.0),
        Kind::Number => format!("{value:.2}"),
    })
}

/// What somebody chose as a name must not steer a screen.
fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if letter.is_control() => out.extend(letter.escape_unicode()),
            _ => out.push(letter),
        }
    }
    out
}
