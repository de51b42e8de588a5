//! Columns of a batch by their names.

use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};

/// A column of whole numbers.
pub(crate) fn numbers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Int64Array, String> {
    let column = batch.column_by_name(name);
    let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
    column.ok_or_else(|| format!("no column {name} of whole numbers"))
}

/// A column of texts, however the engine keeps them.
pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Result<StringViewArray, String> {
    let failed = || format!("no column {name} of texts");
    let column = batch.column_by_name(name).ok_or_else(failed)?;
    let column = cast(column, &DataType::Utf8View).map_err(|_| failed())?;
    column.as_string_view_opt().cloned().ok_or_else(failed)
}
