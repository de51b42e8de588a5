//! Live segments against deaths between any two steps, torn writes, damage, a full disk.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use record::codec::cells::Cell;
use record::codec::frame::Header;
use record::codec::series::Row;
use record::table::{self, Table};
use record::unit::Nanos;
use std::cell::Cell as Counter;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use store::disk::{Disk, RealDisk};
use store::segment::{Counts, Found, Instant, Options, Origin, Reader, Rows, Sheet, Take, Writer};

const COLUMNS: usize = table::sample::COLUMN_COUNT;

/// A disk that stands still after so many steps; of the last append only the front arrives.
#[derive(Clone)]
struct Dying {
    steps: Rc<Counter<usize>>,
    torn_bytes: usize,
}

impl Dying {
    fn step(&self) -> io::Result<()> {
        match self.steps.get().checked_sub(1) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(io::Error::other("dead")),
        }
    }
}

impl Disk for Dying {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.make_folder(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        RealDisk.create(path)
    }
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if self.steps.get() == 1 {
            self.steps.set(0);
            RealDisk.append(file, &bytes[..self.torn_bytes.min(bytes.len())])?;
            return Err(io::Error::other("dead"));
        }
        self.step()?;
        RealDisk.append(file, bytes)
    }
    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.step()?;
        RealDisk.cut(file, bytes)
    }
    fn sync(&self, _: &File) -> io::Result<()> {
        self.step()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        RealDisk.remove(path)
    }
}

/// A disk that is full for some appends.
struct Full<'a>(&'a Counter<bool>);

impl Disk for Full<'_> {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        RealDisk.make_folder(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        RealDisk.create(path)
    }
    fn append(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        if self.0.get() {
            RealDisk.append(file, &bytes[..bytes.len() / 2])?;
            return Err(io::Error::from_raw_os_error(28));
        }
        RealDisk.append(file, bytes)
    }
    fn cut(&self, file: &File, bytes: u64) -> io::Result<()> {
        RealDisk.cut(file, bytes)
    }
    fn sync(&self, file: &File) -> io::Result<()> {
        RealDisk.sync(file)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

fn origin() -> Origin {
    Origin::of_writer("node.cluster", "01234567-89ab", 7, "0.1.0")
}

fn when(pass: u32) -> Instant {
    Instant {
        at: Nanos::from_secs(u64::from(pass)),
        real_offset_ns: 5,
        span: Nanos(0),
    }
}

/// Writes one pass over ten processes; whether all of it was written.
fn write_pass<D: Disk>(writer: &mut Writer<D>, sheet: &mut Sheet, pass: u32) -> bool {
    let when = when(pass);
    let Ok(is_new) = writer.begin(when.at) else {
        writer.lose(10);
        return false;
    };
    sheet.begin(when, is_new);
    for process in 0..10u8 {
        let mut values = [0; COLUMNS];
        values[5] = i64::from(pass) * i64::from(process);
        let row = Row {
            key: &[process; 12],
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
        self.0.push((pass, row.key[0], row.values[5]));
    }
    fn cells(&mut self, _: &'static Table, _: &Header, _: &[(u8, Cell<'_>)]) {
        panic!("nobody wrote cells");
    }
}

/// What all segments of a dataset hold, and how many bytes are no frames.
fn read_all(dataset: &Path) -> (Vec<(u32, u8, i64)>, Counts, u64, u64) {
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

fn segments(dataset: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dataset.join(store::segment::FOLDER));
    let mut paths: Vec<_> = entries
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}

fn rows_of(passes: impl Iterator<Item = u32>) -> Vec<(u32, u8, i64)> {
    passes
        .flat_map(|pass| (0..10u8).map(move |one| (pass, one, i64::from(pass) * i64::from(one))))
        .collect()
}

/// Small segments, each pass brought to the device.
const SMALL: Options = Options {
    segment_bytes_max: 1200,
    segment_age_max: Nanos::from_secs(3600),
    sync_period: Nanos(0),
};

#[test]
fn every_pass_that_was_written_survives_a_death_at_any_step() {
    let mut deaths = 0;
    for steps in 0..100 {
        for torn_bytes in [0, 1, 30, 70] {
            let folder = tempfile::tempdir().unwrap();
            let disk = Dying {
                steps: Rc::new(Counter::new(steps)),
                torn_bytes,
            };
            let mut written = 0;
            if let Ok(mut writer) = Writer::new(disk.clone(), folder.path(), origin(), SMALL) {
                let mut sheet = Sheet::new(&table::sample::TABLE);
                for pass in 0..40 {
                    if !write_pass(&mut writer, &mut sheet, pass) {
                        break;
                    }
                    written += 1;
                    if writer.sync_if_due(when(pass).at).is_err() {
                        break;
                    }
                }
            }
            deaths += usize::from(disk.steps.get() == 0 && written < 40);
            let (rows, counts, _, _) = read_all(folder.path());
            assert_eq!(
                rows,
                rows_of(0..written),
                "{steps} steps, {torn_bytes} bytes"
            );
            assert_eq!((counts.bad, counts.unlinked), (0, 0));
        }
    }
    assert!(deaths > 50, "{deaths}");
}

#[test]
fn a_segment_cut_anywhere_gives_every_whole_frame() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(RealDisk, folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    let mut ends = Vec::new();
    for pass in 0..5 {
        assert!(write_pass(&mut writer, &mut sheet, pass));
        ends.push(fs::metadata(writer.path().unwrap()).unwrap().len());
    }
    let path = writer.path().unwrap().to_owned();
    writer.close().unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let passes = ends.iter().filter(|end| **end <= cut as u64).count() as u32;
        let (rows, _, bad, torn) = read_all(folder.path());
        assert_eq!(rows, rows_of(0..passes), "cut at {cut}");
        assert_eq!(bad, 0);
        let last = ends.iter().rev().find(|end| **end <= cut as u64);
        if let Some(last) = last {
            assert_eq!(torn, cut as u64 - last);
        }
    }
}

#[test]
fn damage_costs_no_more_than_its_chain() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(RealDisk, folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    let mut ends = Vec::new();
    for pass in 0..200 {
        assert!(write_pass(&mut writer, &mut sheet, pass));
        ends.push(fs::metadata(writer.path().unwrap()).unwrap().len() as usize);
    }
    let path = writer.path().unwrap().to_owned();
    writer.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[ends[9] + 70] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let (rows, counts, bad, torn) = read_all(folder.path());
    assert_eq!((bad, torn), ((ends[10] - ends[9]) as u64, 0));
    // Key frames are 64 passes apart.
    let next_key = 200 - (rows.len() / 10 - 10) as u32;
    assert!((11..=75).contains(&next_key), "{next_key}");
    assert_eq!(rows, rows_of((0..10).chain(next_key..200)));
    assert_eq!(counts.unlinked, u64::from(next_key) - 11);
}

#[test]
fn a_full_disk_costs_what_came_meanwhile_and_is_counted() {
    let (folder, is_full) = (tempfile::tempdir().unwrap(), Counter::new(false));
    let mut writer =
        Writer::new(Full(&is_full), folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    for pass in 0..30 {
        is_full.set((10..20).contains(&pass));
        assert_eq!(write_pass(&mut writer, &mut sheet, pass), !is_full.get());
    }
    assert_eq!(writer.lost_total(), 100);
    writer.close().unwrap();
    let (rows, counts, bad, torn) = read_all(folder.path());
    assert_eq!(rows, rows_of((0..10).chain(20..30)));
    assert_eq!((counts.lost, counts.unlinked, bad, torn), (100, 0, 0, 0));
}

#[test]
fn a_segment_that_is_being_written_can_be_followed() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(RealDisk, folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    assert!(write_pass(&mut writer, &mut sheet, 0));
    let mut reader = Reader::open(writer.path().unwrap()).unwrap().unwrap();
    for pass in 1..4 {
        let mut found = 0;
        while let Found::Frame { header, .. } = reader.read_next().unwrap() {
            assert_eq!(header.at_ns, when(pass - 1).at.0);
            found += 1;
        }
        assert_eq!(found, 1);
        assert!(write_pass(&mut writer, &mut sheet, pass));
    }
}

#[test]
fn segments_of_two_writers_and_of_a_dead_one_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let mut writer =
            Writer::new(RealDisk, folder.path(), origin(), Options::default()).unwrap();
        let mut sheet = Sheet::new(&table::sample::TABLE);
        assert!(write_pass(&mut writer, &mut sheet, 0));
    }
    assert_eq!(segments(folder.path()).len(), 3);
    assert_eq!(read_all(folder.path()).0.len(), 30);
}
