//! Passes over ten processes, written and read again.

use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::key;
use record::codec::series::Row;
use record::table::{self, Table};
use record::unit::Nanos;
use std::fs;
use std::path::{Path, PathBuf};
use store::disk::Disk;
use store::segment::{Counts, Found, Instant, Origin, Reader, Rows, Sheet, Take, Writer};

const COLUMNS: usize = table::sample::COLUMN_COUNT;

pub(crate) fn origin() -> Origin {
    Origin::of_writer("node.cluster", "01234567-89ab", 7, "0.1.0")
}

pub(crate) fn when(pass: u32) -> Instant {
    Instant {
        at: Nanos::from_secs(u64::from(pass)),
        real_offset_ns: 5,
        span: Nanos(0),
    }
}

/// The same writer on another node.
pub(crate) fn origin_of(host: &str) -> Origin {
    Origin::of_writer(host, "01234567-89ab", 7, "0.1.0")
}

/// Writes one pass over ten processes; whether all of it was written.
pub(crate) fn write_pass<D: Disk>(writer: &mut Writer<D>, sheet: &mut Sheet, pass: u32) -> bool {
    let when = when(pass);
    let Ok(is_new) = writer.begin(when.at) else {
        writer.lose(10);
        return false;
    };
    sheet.begin(when, is_new);
    for process in 0..10u8 {
        let mut values = [0; COLUMNS];
        values[5] = i64::from(pass) * i64::from(process);
        let mut key = Vec::new();
        key::put_int(&mut key, process.into());
        key::put_int(&mut key, 1000);
        let row = Row {
            key: &key,
            present: 0b10_0000,
            values: &values,
        };
        sheet.row(writer, row);
    }
    sheet.end(writer, Nanos(1)).is_ok()
}

#[derive(Default)]
struct Kept(Vec<(u32, u8, i64)>);

impl Take for Kept {
    fn series(&mut self, table: &'static Table, header: &Header, row: Row<'_>, _: bool) {
        assert_eq!((table.name, row.present), ("sample", 0b10_0000));
        let pass = (header.at_ns / 1_000_000_000) as u32;
        self.0.push((pass, row.key[7], row.values[5]));
    }
    fn cells(&mut self, _: &'static Table, _: &Header, _: &[(u8, Cell<'_>)]) {
        panic!("nobody wrote cells");
    }
}

/// What all segments of a dataset hold, and how many bytes are no frames.
pub(crate) fn read_all(dataset: &Path) -> (Vec<(u32, u8, i64)>, Counts, u64, u64) {
    let mut kept = Kept::default();
    let (mut counts, mut bad_bytes, mut torn_bytes) = (Counts::default(), 0, 0);
    for path in segments(dataset) {
        let Some(mut reader) = Reader::open(&path).unwrap() else {
            continue;
        };
        assert_eq!(reader.origin(), &origin());
        let mut rows = Rows::default();
        loop {
            match reader.read_next().unwrap() {
                Found::Frame { header, payload } => {
                    let _ = rows.read(&header, payload, &mut kept);
                }
                Found::Bad { bytes, .. } => bad_bytes += bytes,
                Found::End { torn } => {
                    torn_bytes += torn;
                    break;
                }
            }
        }
        let some = rows.counts();
        counts.rows += some.rows;
        counts.unlinked += some.unlinked;
        counts.bad += some.bad;
        counts.lost += some.lost;
    }
    (kept.0, counts, bad_bytes, torn_bytes)
}

pub(crate) fn segments(dataset: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dataset.join(store::segment::FOLDER));
    let mut paths: Vec<_> = entries
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

pub(crate) fn rows_of(passes: impl Iterator<Item = u32>) -> Vec<(u32, u8, i64)> {
    passes
        .flat_map(|pass| (0..10u8).map(move |one| (pass, one, i64::from(pass) * i64::from(one))))
        .collect()
}
