//! Rows on their way from segments to files: told apart by table and hour, and within these by
//! series, each as little more than what it took in the segment.

use crate::segment::{Origin, Take};
use record::codec::cells::{self, Cell};
use record::codec::frame::Header;
use record::codec::key::{put_int, put_text};
use record::codec::series::{Last, Row};
use record::codec::varint::{put_bytes, put_signed, take_bytes, take_signed};
use record::table::{Form, Shape, Table};

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

const HOUR_NS: i64 = 3_600_000_000_000;

/// What a series takes beside its rows, its key twice and its last row, about: itself and its
/// places in the map and on the heap.
const SERIES_BYTES: usize = size_of::<Series>() + 112;

/// The rows of one table in one hour.
#[derive(Debug)]
pub(super) struct Bucket {
    pub(super) table: &'static Table,
    /// Hours since 1970.
    pub(super) hour: i64,
    series: BTreeMap<Vec<u8>, Series>,
    /// When rows were read: thousands of series are read at one instant.
    instants: Vec<When>,
    rows: u64,
}

/// The rows of one series, by the key that sorts it.
#[derive(Debug)]
struct Series {
    /// Of each row its instant, as the distance from that of the row before, and what it holds.
    rows: Vec<u8>,
    count: u32,
    /// The last row, and its instant.
    last: Last,
    instant: usize,
    /// Its rows came in their order.
    is_sorted: bool,
}

/// When a row was read, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct When {
    /// `CLOCK_BOOTTIME`, nanoseconds.
    pub(super) at_ns: i64,
    /// The time of day, nanoseconds since 1970.
    pub(super) real_ns: i64,
}

/// A row that is given back.
pub(super) enum Kept<'a> {
    /// Of a table of series.
    Values(&'a Last),
    /// Of a table of cells.
    Cells(Vec<(u8, Cell<'a>)>),
}

/// All buckets that are filled now.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    /// The key of a series begins with its host and boot.
    prefix: Vec<u8>,
    key: Vec<u8>,
    buckets: BTreeMap<(u8, i64), Bucket>,
    bytes: usize,
}

impl Buckets {
    /// The rows that come are of this writer.
    pub(super) fn of(&mut self, origin: &Origin) {
        self.prefix.clear();
        put_text(&mut self.prefix, origin.host.as_bytes());
        put_text(&mut self.prefix, origin.boot_id.as_bytes());
    }

    /// What the rows take, about.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The buckets, in order; those that come are new.
    pub(super) fn take(&mut self) -> Vec<Bucket> {
        self.bytes = 0;
        std::mem::take(&mut self.buckets).into_values().collect()
    }

    /// Adds a row to the series of `key`, in the hour of the instant `of`.
    fn add(
        &mut self,
        (table, of): (&'static Table, i64),
        header: &Header,
        write: &mut dyn FnMut(&mut Series),
    ) {
        let at = header.at_ns as i64;
        let when = When {
            at_ns: at,
            real_ns: at.wrapping_add(header.real_offset_ns),
        };
        let hour = of.wrapping_add(header.real_offset_ns).div_euclid(HOUR_NS);
        let bucket = self
            .buckets
            .entry((table.id, hour))
            .or_insert_with(|| Bucket {
                table,
                hour,
                series: BTreeMap::new(),
                instants: Vec::new(),
                rows: 0,
            });
        let instants = bucket.instants.capacity();
        if bucket.instants.last() != Some(&when) {
            bucket.instants.push(when);
        }
        self.bytes += (bucket.instants.capacity() - instants) * size_of::<When>();
        let instant = bucket.instants.len() - 1;
        let series = match bucket.series.entry(self.key.clone()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let last = table.columns.len() * size_of::<i64>();
                self.bytes += SERIES_BYTES + 2 * self.key.len() + last;
                entry.insert(Series {
                    rows: Vec::new(),
                    count: 0,
                    last: Last::empty(table.columns.len()),
                    instant: 0,
                    is_sorted: true,
                })
            }
        };
        let before = series.rows.capacity();
        let earlier = bucket.instants.get(series.instant);
        series.is_sorted &= series.count == 0 || earlier.is_some_and(|it| when.at_ns > it.at_ns);
        put_signed(&mut series.rows, instant as i64 - series.instant as i64);
        series.instant = instant;
        series.count += 1;
        write(series);
        bucket.rows += 1;
        self.bytes += series.rows.capacity() - before;
    }
}

impl Take for Buckets {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        self.key.clone_from(&self.prefix);
        self.key.extend_from_slice(row.key);
        let of = header.at_ns as i64;
        self.add((table, of), header, &mut |series| {
            series.last.put(&mut series.rows, row.present, row.values);
        });
    }

    fn cells(&mut self, table: &'static Table, header: &Header, row: &[(u8, Cell<'_>)]) {
        self.key.clone_from(&self.prefix);
        for (index, column) in table.key.iter().enumerate() {
            let cell = row.iter().find(|(column, _)| usize::from(*column) == index);
            match (column.shape, cell) {
                (Shape::Int | Shape::Letter, Some((_, Cell::Int(value)))) => {
                    put_int(&mut self.key, *value);
                }
                (Shape::Text | Shape::List, Some((_, Cell::Text(text)))) => {
                    put_text(&mut self.key, text);
                }
                // A row without its key is of nobody in particular.
                (Shape::Int | Shape::Letter, _) => put_int(&mut self.key, 0),
                (Shape::Text | Shape::List, _) => put_text(&mut self.key, b""),
            }
        }
        let mut bytes = Vec::new();
        cells::put_row(&mut bytes, row.iter().cloned());
        let of = instant(table, row).unwrap_or(header.at_ns as i64);
        self.add((table, of), header, &mut |series| {
            put_bytes(&mut series.rows, &bytes);
        });
    }
}

/// When what happens once happened: several who tell of it were read at different times, and their
/// rows have to meet in one hour.
fn instant(table: &Table, row: &[(u8, Cell<'_>)]) -> Option<i64> {
    let name = table.once?;
    let place = table
        .columns
        .iter()
        .position(|column| column.name == name)?
        + table.key.len();
    row.iter().find_map(|(column, cell)| match cell {
        Cell::Int(value) if usize::from(*column) == place => Some(*value),
        _ => None,
    })
}

impl Bucket {
    /// Rows in it, those that are there twice counted twice.
    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }

    /// Gives every row once, sorted: the key of its series (host and boot in front), when it was
    /// read, and what it holds.
    pub(super) fn each(&self, give: &mut dyn FnMut(&[u8], When, &Kept<'_>)) {
        for (key, series) in &self.series {
            let mut give = |when, kept: &Kept<'_>| give(key, when, kept);
            match self.table.form {
                Form::Cells => self.each_cells(series, &mut give),
                Form::Series => self.each_value(series, &mut give),
            }
        }
    }

    /// Rows of one series at one instant are the same row.
    fn each_value(&self, series: &Series, give: &mut dyn FnMut(When, &Kept<'_>)) {
        if series.is_sorted {
            return self.unpack(series, &mut |when, last| give(when, &Kept::Values(last)));
        }
        let mut rows = Vec::new();
        self.unpack(series, &mut |when, last| rows.push((when, last.clone())));
        rows.sort_by_key(|(when, _)| *when);
        rows.dedup_by_key(|(when, _)| when.at_ns);
        for (when, last) in &rows {
            give(*when, &Kept::Values(last));
        }
    }

    fn unpack(&self, series: &Series, give: &mut dyn FnMut(When, &Last)) {
        let (mut from, mut instant) = (&series.rows[..], 0);
        let mut last = Last::empty(self.table.columns.len());
        // These bytes are ours: what is not as we wrote it ends the series.
        while let Some(when) = self.step(&mut from, &mut instant)
            && last.take(&mut from).is_ok()
        {
            give(when, &last);
        }
    }

    /// Of one instant there may be several, such as the programs that a process executed one after
    /// another; what is the same to the last byte is there once. Of what happens once the row that
    /// says most is there, of several such the one that was written first.
    fn each_cells(&self, series: &Series, give: &mut dyn FnMut(When, &Kept<'_>)) {
        let (mut from, mut instant) = (&series.rows[..], 0);
        let mut rows: Vec<(When, &[u8])> = Vec::new();
        while let Some(when) = self.step(&mut from, &mut instant)
            && let Ok(bytes) = take_bytes(&mut from)
        {
            rows.push((when, bytes));
        }
        // Stable: those of one instant stay in the order that they were written in.
        rows.sort_by_key(|(when, _)| *when);
        let mut of_then: BTreeSet<&[u8]> = BTreeSet::new();
        let mut then = When::default();
        rows.retain(|(when, bytes)| {
            if *when != then {
                of_then.clear();
                then = *when;
            }
            of_then.insert(bytes)
        });
        let rows = rows.into_iter();
        let rows =
            rows.filter_map(|(when, mut bytes)| Some((when, cells::take_row(&mut bytes).ok()?)));
        if self.table.once.is_some() {
            let told = |row: &[(u8, Cell<'_>)]| {
                let has = |place: usize| row.iter().any(|(n, _)| usize::from(*n) == place);
                self.table.told(|column| has(column + self.table.key.len()))
            };
            if let Some((when, row)) = rows.min_by_key(|(_, row)| Reverse(told(row))) {
                give(when, &Kept::Cells(row));
            }
            return;
        }
        rows.for_each(|(when, row)| give(when, &Kept::Cells(row)));
    }

    /// The instant of the next row of a series, if there is one.
    fn step(&self, from: &mut &[u8], instant: &mut usize) -> Option<When> {
        let distance = isize::try_from(take_signed(from).ok()?).ok()?;
        *instant = instant.checked_add_signed(distance)?;
        self.instants.get(*instant).copied()
    }
}
