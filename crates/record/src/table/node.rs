//! `node`: what the machine as a whole did, one value a row.

use super::{Column, Form, Table, int, text};
use crate::codec::key::put_text;

/// The table.
pub const TABLE: Table = Table {
    id: 3,
    name: "node",
    form: Form::Series,
    key: KEY,
    once: None,
    columns: COLUMNS,
    doc: "A metric of the machine, or of one of its parts, at one instant.",
};

const KEY: &[Column] = &[
    text("metric", "METRICS.md", "its name; METRICS.md has its unit"),
    text(
        "instance",
        "the kernel's name of it",
        "which CPU, disk, interface; empty for the machine",
    ),
];

const COLUMNS: &[Column] = &[int(
    "value",
    "as the metric has it",
    "as the metric has it",
    "as read",
)];

/// The key of a metric's series.
pub fn key(metric: &str, instance: &[u8], into: &mut Vec<u8>) {
    into.clear();
    put_text(into, metric.as_bytes());
    put_text(into, instance);
}
