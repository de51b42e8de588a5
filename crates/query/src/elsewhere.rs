//! The tables of a dataset for other engines: statements that name the folders, to stand in front
//! of a report's text.

use crate::error::Error;
use crate::report::Dialect;
use crate::schema;
use datafusion::arrow::datatypes::DataType;
use record::table::{TABLES, Table};
use std::path::Path;

/// The statements, each on its line and with `;` behind it. None are needed for our own engine.
///
/// # Errors
/// The folder's path is not UTF-8.
pub fn tables(dataset: &Path, dialect: Dialect) -> Result<String, Error> {
    let path = dataset.canonicalize().map_err(|source| Error::Folder {
        path: dataset.to_owned(),
        source,
    })?;
    let name = path.to_str().ok_or_else(|| {
        Error::Failed("the path of the dataset is no text that an engine could be told".to_owned())
    })?;
    let mut out = String::new();
    for table in TABLES {
        let folder = format!("{name}/kind={}", table.name);
        let is_there = Path::new(&folder).is_dir();
        match (dialect, is_there) {
            (Dialect::DataFusion, _) => {}
            (_, false) => out.push_str(&empty(table, dialect)),
            (Dialect::DuckDb, true) => out.push_str(&format!(
                "CREATE OR REPLACE TEMPORARY VIEW \"{}\" AS SELECT * FROM read_parquet({}, \
                 hive_partitioning = true, union_by_name = true);\n",
                table.name,
                dialect.text(&format!("{folder}/*/*/*.parquet")),
            )),
            (Dialect::Spark, true) => out.push_str(&format!(
                "CREATE OR REPLACE TEMPORARY VIEW `{}` USING parquet OPTIONS (path {}, mergeSchema \
                 'true');\n",
                table.name,
                dialect.text(&folder),
            )),
        }
    }
    let file = dialect.spell(FILE);
    match dialect {
        Dialect::DataFusion => {}
        Dialect::DuckDb | Dialect::Spark => out.push_str(&format!(
            "CREATE OR REPLACE TEMPORARY VIEW file AS {};\n",
            file.trim_end()
        )),
    }
    Ok(out)
}

/// Files that processes had open: a view of `descriptor`, a row for each process and path.
pub(crate) const FILE: &str = include_str!("file.sql");

/// A table of which no file is there yet.
fn empty(table: &Table, dialect: Dialect) -> String {
    let quote = |name: &str| match dialect {
        Dialect::Spark => format!("`{name}`"),
        _ => format!("\"{name}\""),
    };
    let fields = schema::of_table(table);
    let columns = fields.fields().iter().map(|field| {
        let of = match (field.data_type(), dialect) {
            (DataType::Int64, _) => "BIGINT",
            (DataType::Date32, _) => "DATE",
            (DataType::Timestamp(..), Dialect::Spark) => "TIMESTAMP",
            (DataType::Timestamp(..), _) => "TIMESTAMPTZ",
            (DataType::List(_), Dialect::Spark) => "ARRAY<STRING>",
            (DataType::List(_), _) => "VARCHAR[]",
            (_, Dialect::Spark) => "STRING",
            _ => "VARCHAR",
        };
        format!("CAST(NULL AS {of}) AS {}", quote(field.name()))
    });
    format!(
        "CREATE OR REPLACE TEMPORARY VIEW {} AS SELECT {} WHERE 1 = 0;\n",
        quote(table.name),
        columns.collect::<Vec<_>>().join(", ")
    )
}
