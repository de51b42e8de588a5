//! Who wrote a segment, and the tables that it has: its first frame.

use record::table::{Column, Form, Shape, TABLES};
use serde::{Deserialize, Serialize};

/// Who wrote a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The name that the host gives itself.
    pub host: String,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Tells the writers of one boot apart.
    pub stream: u32,
    /// The program that wrote it.
    pub version: String,
    /// Its tables as they were when it was written.
    pub tables: Vec<SegmentTable>,
}

/// A table as a segment has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentTable {
    /// The number that its frames carry.
    pub id: u8,
    /// Its name.
    pub name: String,
    /// `series` or `cells`.
    pub form: String,
    /// How many of the columns are the key.
    pub key_columns: usize,
    /// Its columns, the key's first.
    pub columns: Vec<SegmentColumn>,
}

/// A column as a segment has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentColumn {
    /// Its name.
    pub name: String,
    /// `int`, `letter`, `text` or `list`.
    pub shape: String,
    /// Its unit; empty for an identity, a name or a mask.
    pub unit: String,
}

impl Origin {
    /// Of a writer of this program, with the tables that it has.
    pub fn of_writer(host: &str, boot_id: &str, stream: u32, version: &str) -> Self {
        let column = |column: &Column| SegmentColumn {
            name: column.name.to_owned(),
            shape: shape_name(column.shape).to_owned(),
            unit: column.unit.to_owned(),
        };
        let tables = TABLES.iter().map(|table| SegmentTable {
            id: table.id,
            name: table.name.to_owned(),
            form: form_name(table.form).to_owned(),
            key_columns: table.key.len(),
            columns: table.key.iter().chain(table.columns).map(column).collect(),
        });
        Self {
            host: host.to_owned(),
            boot_id: boot_id.to_owned(),
            stream,
            version: version.to_owned(),
            tables: tables.collect(),
        }
    }

    /// Whether the payload of a first frame says that it was this one.
    #[cfg(feature = "dataset")]
    pub(crate) fn is_told_by(&self, payload: &[u8]) -> bool {
        serde_json::from_slice::<Self>(payload).is_ok_and(|other| other == *self)
    }
}

const fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Int => "int",
        Shape::Letter => "letter",
        Shape::Text => "text",
        Shape::List => "list",
    }
}

const fn form_name(form: Form) -> &'static str {
    match form {
        Form::Series => "series",
        Form::Cells => "cells",
    }
}
