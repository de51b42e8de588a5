//! The columns of a table as the engine has them: as the files have them, then the two that their
//! folders tell.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use record::table::{AT, Column, Shape, TIME, Table, WHO};
use std::sync::Arc;

/// Of the folders `date=` and `hour=`.
pub(crate) const DATE: &str = "date";
/// 0 to 23, UTC.
pub(crate) const HOUR: &str = "hour";

/// Instants are of this time zone.
pub(crate) const ZONE: &str = "UTC";

/// The columns of a table's files.
pub(crate) fn of_files(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(fields_of_files(table)))
}

/// The columns that the folders tell.
pub(crate) fn of_folders() -> Vec<FieldRef> {
    let field = |name, of| Arc::new(Field::new(name, of, false));
    vec![field(DATE, DataType::Date32), field(HOUR, DataType::Int64)]
}

/// All columns of a table.
pub(crate) fn of_table(table: &Table) -> SchemaRef {
    let mut fields = fields_of_files(table);
    fields.extend(of_folders());
    Arc::new(Schema::new(fields))
}

/// What an instant is.
pub(crate) fn time() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()))
}

/// The texts of a list. Ours are all there; a file that went through another writer may say that
/// some are not.
pub(crate) fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Utf8, true))
}

fn fields_of_files(table: &Table) -> Vec<FieldRef> {
    let field = |name: &str, of, absent| Arc::new(Field::new(name, of, absent));
    let keys = WHO.iter().chain(table.key);
    let mut fields: Vec<_> = keys
        .map(|column| field(column.name, of_column(column), false))
        .collect();
    fields.push(field(TIME, time(), false));
    fields.push(field(AT, DataType::Int64, false));
    let rest = table.columns.iter();
    fields.extend(rest.map(|column| field(column.name, of_column(column), true)));
    fields
}

fn of_column(column: &Column) -> DataType {
    match column.shape {
        Shape::Int => DataType::Int64,
        Shape::Letter | Shape::Text => DataType::Utf8View,
        Shape::List => DataType::List(element()),
    }
}
