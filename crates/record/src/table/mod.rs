//! The tables of the dataset: which columns a row has, in which shape and unit, and where each
//! value comes from. The files, their description and METRICS.md are made from these.
//!
//! A column keeps its place in its table: new ones are added at the end.

pub mod descriptor;
pub mod exit;
pub mod gpu;
pub mod job;
pub mod node;
pub mod process;
pub mod sample;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A whole number of 64 bits, signed; a bit mask keeps its bits.
    Int,
    /// One letter, kept as its code.
    Letter,
    /// A text.
    Text,
    /// Several texts.
    List,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name, as METRICS.md has it where it is a metric.
    pub name: &'static str,
    /// What its values are.
    pub shape: Shape,
    /// `ns`, `bytes`, `count`; empty for an identity, a name or a mask.
    pub unit: &'static str,
    /// Kernel file and field that it comes from.
    pub origin: &'static str,
    /// One sentence for people.
    pub doc: &'static str,
}

/// In front of the columns of every table, where rows of several hosts meet.
pub const WHO: [Column; 2] = [
    text("host", "gethostname", "the name that the host gives itself"),
    text(
        "boot_id",
        "/proc/sys/kernel/random/boot_id",
        "tells the boots of a host apart",
    ),
];

/// Between a table's key and the rest: microseconds since 1970.
pub const TIME: &str = "time";

/// Behind it: nanoseconds since boot.
pub const AT: &str = "at_ns";

/// How the rows of a table are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Series: only what changed (`codec::series`). The key columns come first.
    Series,
    /// Each row whole (`codec::cells`).
    Cells,
}

/// One table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// The number that frames name it by.
    pub id: u8,
    /// Its name, and that of its folder (`kind=NAME`).
    pub name: &'static str,
    /// How its rows are written.
    pub form: Form,
    /// What a row is known by within one boot of one host, beside the time.
    pub key: &'static [Column],
    /// A key has one row at all, whoever told it and how often: its instant is in this column.
    pub once: Option<&'static str>,
    /// What a row holds.
    pub columns: &'static [Column],
    /// What a row is.
    pub doc: &'static str,
}

impl Table {
    /// How much a row says, by what tells whether it has a value in a column behind the key: of a
    /// bound alone that is nothing.
    pub fn told(&self, has: impl Fn(usize) -> bool) -> usize {
        let columns = self.columns.iter().enumerate();
        columns
            .filter(|(index, column)| !column.name.ends_with("_min") && has(*index))
            .count()
    }
}

/// All of them.
pub const TABLES: &[&Table] = &[
    &sample::TABLE,
    &process::TABLE,
    &node::TABLE,
    &exit::TABLE,
    &job::TABLE,
    &descriptor::TABLE,
    &gpu::TABLE,
];

/// The table of this number.
pub fn by_id(id: u8) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.id == id).copied()
}

/// The table of this name.
pub fn by_name(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name).copied()
}

const fn int(
    name: &'static str,
    unit: &'static str,
    origin: &'static str,
    doc: &'static str,
) -> Column {
    Column {
        name,
        shape: Shape::Int,
        unit,
        origin,
        doc,
    }
}

const fn text(name: &'static str, origin: &'static str, doc: &'static str) -> Column {
    Column {
        name,
        shape: Shape::Text,
        unit: "",
        origin,
        doc,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tables_and_columns_have_names_of_their_own() {
        let ids: HashSet<_> = TABLES.iter().map(|table| table.id).collect();
        let names: HashSet<_> = TABLES.iter().map(|table| table.name).collect();
        assert_eq!((ids.len(), names.len()), (TABLES.len(), TABLES.len()));
        // 0 is the first frame of a file.
        assert!(!ids.contains(&0));
        for table in TABLES {
            let columns = || table.key.iter().chain(table.columns);
            let names: HashSet<_> = columns().map(|column| column.name).collect();
            assert_eq!(names.len(), columns().count(), "{}", table.name);
            assert!(columns().all(|c| !c.doc.is_empty() && !c.origin.is_empty()));
            assert!(table.columns.len() <= crate::codec::series::COLUMNS_MAX);
            assert_eq!(by_name(table.name), by_id(table.id));
        }
    }
}
