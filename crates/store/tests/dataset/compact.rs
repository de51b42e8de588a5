//! Compaction: each row once in the end, whenever somebody dies.

use crate::disks::Dying;
use crate::passes::{origin, rows_of, segments, when, write_pass};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use record::codec::cells::{Cell, put_row};
use record::table;
use record::unit::Nanos;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use store::compact::{Options, Summary, compact};
use store::disk::RealDisk;
use store::segment::{self, Sheet, Writer};

/// Small segments.
pub(crate) const SMALL: segment::Options = segment::Options {
    segment_bytes_max: 4500,
    segment_age_max: Nanos::from_secs(36_000),
    sync_period: Nanos::from_secs(36_000),
};

/// The name of the writer's second segment.
pub(crate) const SECOND: &str = "node.cluster.01234567.7.00000002.segment";

pub(crate) fn write_passes(
    dataset: &Path,
    options: segment::Options,
    passes: std::ops::Range<u32>,
) {
    let mut writer = Writer::new(RealDisk, dataset, origin(), options).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    for pass in passes {
        assert!(write_pass(&mut writer, &mut sheet, pass));
    }
    writer.close().unwrap();
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The rows of all files of a table, each file's in its order.
pub(crate) fn read(dataset: &Path, table: &str) -> Vec<Vec<(String, Field)>> {
    let mut rows = Vec::new();
    for path in files(&dataset.join(format!("kind={table}"))) {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            rows.push(row.into_columns());
        }
    }
    rows
}

pub(crate) fn long(row: &[(String, Field)], name: &str) -> i64 {
    match row.iter().find(|(other, _)| other == name) {
        Some((_, Field::Long(value))) => *value,
        other => panic!("{name}: {other:?}"),
    }
}

/// Pass, process and value of each row, as `rows_of` has them.
pub(crate) fn samples(dataset: &Path) -> Vec<(u32, u8, i64)> {
    let rows = read(dataset, "sample");
    let of = |row: &Vec<_>| {
        let pass = (long(row, "at_ns") / 1_000_000_000) as u32;
        (pass, long(row, "pid") as u8, long(row, "cpu_time"))
    };
    rows.iter().map(of).collect()
}

/// Of the lock of the compaction before, a program that another test starts has a copy until its
/// exec.
pub(crate) fn run(dataset: &Path) -> Summary {
    let mut tries = 0..500;
    loop {
        match compact(&RealDisk, dataset, Options::default(), &mut |_| {}) {
            Err(store::Error::Busy { .. }) if tries.next().is_some() => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            done => return done.unwrap(),
        }
    }
}

#[test]
fn rows_are_sorted_by_process_and_time_in_the_folder_of_their_hour() {
    let folder = tempfile::tempdir().unwrap();
    // An hour ends at 3600 s.
    write_passes(folder.path(), SMALL, 3590..3610);
    let summary = run(folder.path());
    assert_eq!((summary.rows_in, summary.rows_out), (200, 200));
    assert_eq!((summary.files, summary.duplicates), (2, 0));
    assert_eq!(segments(folder.path()), Vec::<PathBuf>::new());
    let names: Vec<_> = files(&folder.path().join("kind=sample"));
    assert_eq!(names.len(), 2);
    for (hour, name) in names.iter().enumerate() {
        let inside = name.strip_prefix(folder.path()).unwrap();
        let of_hour = format!("kind=sample/date=1970-01-01/hour={hour}");
        assert_eq!(inside.parent().unwrap(), Path::new(&of_hour));
        let name = inside.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with("part-") && name.len() == 5 + 16 + 8,
            "{name}"
        );
    }
    let rows = samples(folder.path());
    let (first, second) = rows.split_at(100);
    for hour in [first, second] {
        let mut sorted = hour.to_vec();
        sorted.sort_by_key(|(pass, process, _)| (*process, *pass));
        assert_eq!(hour, sorted);
    }
    let mut all = rows.clone();
    all.sort();
    assert_eq!(all, rows_of(3590..3610));
    let row = &read(folder.path(), "sample")[0];
    assert_eq!(row[0].1, Field::Str("node.cluster".to_owned()));
    assert_eq!(long(row, "start_ns"), 1000);
    assert!(
        row.iter()
            .any(|(name, value)| name == "rss" && *value == Field::Null)
    );
}

#[test]
fn each_row_is_there_once_after_a_death_at_any_step() {
    let whole = tempfile::tempdir().unwrap();
    write_passes(whole.path(), SMALL, 3590..3620);
    let parts = segments(whole.path());
    assert!(parts.len() > 2);
    let mut deaths = 0;
    for steps in 0..60 {
        for torn_bytes in [0, 50] {
            let folder = tempfile::tempdir().unwrap();
            let live = folder.path().join(segment::FOLDER);
            fs::create_dir_all(&live).unwrap();
            for part in &parts {
                fs::copy(part, live.join(part.file_name().unwrap())).unwrap();
            }
            let disk = Dying::after(steps, torn_bytes);
            // Several journals, one after another.
            let options = Options {
                memory_bytes_max: 2000,
                merge: None,
            };
            let done = compact(&disk, folder.path(), options, &mut |_| {});
            deaths += usize::from(done.is_err());
            assert_eq!(done.is_err(), disk.is_dead());
            run(folder.path());
            let mut rows = samples(folder.path());
            rows.sort();
            assert_eq!(rows, rows_of(3590..3620), "died after {steps} steps");
            assert_eq!(files(&folder.path().join("aside")), Vec::<PathBuf>::new());
            assert_eq!(segments(folder.path()), Vec::<PathBuf>::new());
        }
    }
    assert!(deaths > 40, "{deaths}");
}

#[test]
fn a_segment_that_is_being_written_is_left_and_one_that_came_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(
        RealDisk,
        folder.path(),
        origin(),
        segment::Options::default(),
    );
    let writer = writer.as_mut().unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    for pass in 0..5 {
        assert!(write_pass(writer, &mut sheet, pass));
    }
    let summary = run(folder.path());
    assert_eq!((summary.busy, summary.segments), (1, 0));
    let path = writer.path().unwrap().to_owned();
    writer.close().unwrap();
    fs::copy(&path, path.with_file_name(SECOND)).unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.segments, summary.rows_in), (2, 100));
    assert_eq!((summary.rows_out, summary.duplicates), (50, 50));
    assert_eq!(samples(folder.path()).len(), 50);
}

#[test]
fn programs_of_one_instant_are_there_once_though_their_segment_came_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(
        RealDisk,
        folder.path(),
        origin(),
        segment::Options::default(),
    )
    .unwrap();
    writer.begin(Nanos(1)).unwrap();
    // Of the second instant there is one more, as of a process that lives on.
    let rows: [(u32, &[u8]); 4] = [(9, b"sh"), (9, b"env"), (9, b"sleep"), (10, b"sleep")];
    for (pass, comm) in rows {
        let mut payload = Vec::new();
        let cells = [(0, Cell::Int(7)), (1, Cell::Int(5)), (4, Cell::Text(comm))];
        put_row(&mut payload, cells.into_iter());
        let what = (table::process::TABLE.id, true);
        writer
            .frame(what, (0, 0), when(pass), (&payload, 1))
            .unwrap();
    }
    let path = writer.path().unwrap().to_owned();
    writer.close().unwrap();
    fs::copy(&path, path.with_file_name(SECOND)).unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.rows_out, summary.duplicates), (4, 4));
    let read = read(folder.path(), "process");
    let comm = |row: &Vec<(String, Field)>| {
        let cell = row.iter().find(|(name, _)| name == "comm").unwrap();
        cell.1.to_string()
    };
    let names: Vec<_> = read.iter().map(comm).collect();
    assert_eq!(names, ["\"sh\"", "\"env\"", "\"sleep\"", "\"sleep\""]);
}

#[test]
fn what_is_damaged_is_set_aside_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    write_passes(folder.path(), segment::Options::default(), 0..5);
    let path = segments(folder.path()).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    bytes.extend_from_slice(b"PLFR torn");
    fs::write(&path, &bytes).unwrap();
    fs::write(path.with_file_name(SECOND), b"PLIMSEG").unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.rows_out, summary.segments), (40, 2));
    assert!(summary.bytes_bad > 64, "{summary:?}");
    assert_eq!(summary.bytes_torn, 9 + 7);
    assert_eq!(files(&folder.path().join("bad")).len(), 1);
}

#[test]
fn texts_and_lists_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(
        RealDisk,
        folder.path(),
        origin(),
        segment::Options::default(),
    )
    .unwrap();
    let rows: [&[&[u8]]; 3] = [&[b"a b) S 1", b"", b"\n"], &[], &[b"\xff"]];
    writer.begin(Nanos(1)).unwrap();
    for (index, arguments) in rows.iter().enumerate() {
        let mut payload = Vec::new();
        let cells = [
            (0, Cell::Int(index as i64)),
            (1, Cell::Int(5)),
            (4, Cell::Text(b"comm")),
            (5, Cell::List(arguments.to_vec())),
        ];
        put_row(&mut payload, cells.into_iter());
        let what = (table::process::TABLE.id, true);
        writer.frame(what, (0, 0), when(9), (&payload, 1)).unwrap();
        // The same row once more.
        writer.frame(what, (0, 0), when(9), (&payload, 1)).unwrap();
    }
    writer.close().unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.rows_in, summary.rows_out), (6, 3));
    let read = read(folder.path(), "process");
    let command = |row: &Vec<(String, Field)>| {
        let cell = row.iter().find(|(name, _)| name == "command").unwrap();
        cell.1.to_string()
    };
    let commands: Vec<_> = read.iter().map(command).collect();
    assert_eq!(commands[0], "[\"a b) S 1\", \"\", \"\n\"]");
    assert_eq!(commands[1], "[]");
    assert_eq!(commands[2], "[\"\u{fffd}\\xff\"]");
    assert!(
        read[0]
            .iter()
            .any(|(name, value)| name == "exe" && *value == Field::Null)
    );
}

#[test]
fn a_row_without_its_key_keeps_nobody_from_being_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let options = segment::Options::default();
    let mut writer = Writer::new(RealDisk, folder.path(), origin(), options).unwrap();
    writer.begin(Nanos(1)).unwrap();
    // Its key is a text.
    let strange = [
        vec![],
        vec![(0, Cell::Int(7))],
        vec![(0, Cell::List(vec![b"a"]))],
    ];
    for cells in strange {
        let mut payload = Vec::new();
        put_row(&mut payload, cells.into_iter());
        let what = (table::job::TABLE.id, true);
        writer.frame(what, (0, 0), when(9), (&payload, 1)).unwrap();
    }
    writer.close().unwrap();
    let summary = run(folder.path());
    assert_eq!((summary.rows_in, summary.rows_out), (3, 3));
    let rows = read(folder.path(), "job");
    assert!(rows.iter().all(|row| long(row, "at_ns") == 9_000_000_000));
}

#[test]
fn two_compactions_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("compact.lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let other = compact(&RealDisk, folder.path(), Options::default(), &mut |_| {});
    assert!(matches!(other, Err(store::Error::Busy { .. })));
}
