//! `node`: what the machine as a whole did, one value a row.

use super::{Column, Form, Table, int, text};

/// The table.
pub const TABLE: Table = Table {
    id: 3,
    name: "node",
    form: Form::Series,
    key: KEY,
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
pub fn key(metric: &str, instance: &[u8]) -> Vec<u8> {
    [metric.as_bytes(), b"\0", instance].concat()
}

/// The metric and the instance of a key.
pub fn parts_of(key: &[u8]) -> Option<(&str, &[u8])> {
    let end = key.iter().position(|byte| *byte == 0)?;
    let (metric, instance) = key.split_at_checked(end)?;
    Some((std::str::from_utf8(metric).ok()?, instance.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_both_parts() {
        assert_eq!(
            parts_of(&key("disk_reads", b"sda\xff")),
            Some(("disk_reads", &b"sda\xff"[..]))
        );
        assert_eq!(parts_of(&key("load", b"")), Some(("load", &b""[..])));
        assert_eq!(parts_of(b"load"), None);
    }
}
