//! Tables that say which field of a kernel file is which metric, and in which unit it is there.

use super::rows::Rows;
use crate::query::field::{number, ticks, words};
use record::metric::{Kind, Metric, Scope};
use record::unit::Unit;

/// What one of a kernel's numbers is in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As it is.
    One,
    /// So many bytes or nanoseconds.
    By(u64),
    /// Ticks of `USER_HZ`.
    Ticks,
    /// Pages of this machine.
    Pages,
}

/// Sectors of block devices, whatever the device's own.
pub(crate) const SECTOR: Scale = Scale::By(512);
/// Kibibytes.
pub(crate) const KIB: Scale = Scale::By(1024);
/// Milliseconds.
pub(crate) const MILLIS: Scale = Scale::By(1_000_000);
/// Microseconds.
pub(crate) const MICROS: Scale = Scale::By(1000);

impl Scale {
    /// The number in base units, saturating; `None` for pages whose size is not known.
    fn apply(self, number: u64, page_bytes: Option<u64>) -> Option<u64> {
        match self {
            Scale::One => Some(number),
            Scale::By(factor) => Some(number.saturating_mul(factor)),
            Scale::Ticks => Some(ticks(number).0),
            Scale::Pages => Some(number.saturating_mul(page_bytes?)),
        }
    }
}

/// One field of a kernel file.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// What the kernel calls it; with a `*` where it is found otherwise.
    pub key: &'static str,
    /// What its number is.
    pub scale: Scale,
    /// What it becomes.
    pub metric: Metric,
}

/// A field that only grows.
pub(crate) const fn counter(
    key: &'static str,
    scale: Scale,
    name: &'static str,
    unit: Unit,
    doc: &'static str,
) -> Field {
    field(key, scale, name, (Kind::Counter, unit), doc)
}

/// A count that only grows.
pub(crate) const fn count(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    counter(key, Scale::One, name, Unit::Count, doc)
}

/// A field that goes both ways.
pub(crate) const fn gauge(
    key: &'static str,
    scale: Scale,
    name: &'static str,
    unit: Unit,
    doc: &'static str,
) -> Field {
    field(key, scale, name, (Kind::Gauge, unit), doc)
}

const fn field(
    key: &'static str,
    scale: Scale,
    name: &'static str,
    (kind, unit): (Kind, Unit),
    doc: &'static str,
) -> Field {
    let metric = Metric {
        name,
        kind,
        unit,
        scope: Scope::Node,
        origin: key,
        since: "any",
        method: "exact when read",
        doc,
    };
    Field { key, scale, metric }
}

impl Field {
    /// The same, known since a kernel.
    pub(crate) const fn since(mut self, kernel: &'static str) -> Self {
        self.metric.since = kernel;
        self
    }

    /// A number of it in the base unit; `None` for one of pages.
    pub(crate) fn in_base_unit(&self, number: u64) -> Option<u64> {
        self.scale.apply(number, None)
    }

    /// Appends its row. Numbers of pages need a table that knows their size: [`Fields`].
    pub(crate) fn put(&self, rows: &mut Rows, instance: &[u8], number: u64) {
        self.put_scaled(rows, instance, number, None);
    }

    fn put_scaled(&self, rows: &mut Rows, instance: &[u8], number: u64, page: Option<u64>) {
        if let Some(value) = self.scale.apply(number, page) {
            rows.put(self.metric.name, instance, value);
        }
    }
}

/// Keys of a file whose places are remembered.
const SEEN_MAX: usize = 1024;

/// Finds the field of a key.
#[derive(Debug)]
pub(crate) struct Fields {
    sorted: Vec<Field>,
    page_bytes: Option<u64>,
    /// The keys of the last reading in their order, with their fields: the next reading has the
    /// same ones mostly.
    seen: Vec<(Vec<u8>, Option<Field>)>,
    place: usize,
}

impl Fields {
    /// Of a table, on a machine with pages of so many bytes.
    pub(crate) fn new(table: &[Field], page_bytes: Option<u64>) -> Self {
        let mut sorted = table.to_vec();
        sorted.sort_by_key(|field| field.key);
        Self {
            sorted,
            page_bytes,
            seen: Vec::new(),
            place: 0,
        }
    }

    /// A file begins.
    pub(crate) fn begin(&mut self) {
        self.place = 0;
    }

    /// The field that the kernel calls `key`.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Field> {
        let found = self
            .sorted
            .binary_search_by(|field| field.key.as_bytes().cmp(key));
        self.sorted.get(found.ok()?).copied()
    }

    /// Appends the row of `key`, the next one of the file, if it is a field.
    pub(crate) fn put(&mut self, rows: &mut Rows, instance: &[u8], key: &[u8], number: u64) {
        if let Some(field) = self.next(key) {
            field.put_scaled(rows, instance, number, self.page_bytes);
        }
    }

    fn next(&mut self, key: &[u8]) -> Option<Field> {
        let place = self.place;
        self.place += 1;
        if let Some((_, field)) = self.seen.get(place).filter(|(seen, _)| seen == key) {
            return *field;
        }
        let field = self.find(key);
        if place < SEEN_MAX {
            self.seen.truncate(place);
            self.seen.push((key.to_vec(), field));
        }
        field
    }
}

/// Appends the row of each of the columns of `line`, in their order; what is no number is left out.
/// Columns that older kernels lack are not there.
pub(crate) fn put_columns(rows: &mut Rows, instance: &[u8], line: &[u8], columns: &[Field]) {
    for (word, field) in words(line).zip(columns) {
        if let Some(number) = number(word) {
            field.put(rows, instance, number);
        }
    }
}
