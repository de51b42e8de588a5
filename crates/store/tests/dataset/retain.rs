//! Retention: the oldest hours go, whole, by age and by size.

use record::timestamp::parse_rfc3339;
use record::unit::{Bytes, Nanos};
use std::fs;
use std::path::Path;
use store::compact::{Keep, Removed, retain};
use store::disk::RealDisk;

const HOURS: &[(&str, u32)] = &[
    ("2026-11-20", 22),
    ("2026-11-20", 23),
    ("2026-11-21", 0),
    ("2026-11-21", 9),
    ("2026-11-21", 10),
];

/// Two tables with a file of 100 bytes for each hour.
fn dataset() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for table in ["sample", "process"] {
        for (date, hour) in HOURS {
            let hour = format!("kind={table}/date={date}/hour={hour}");
            let hour = folder.path().join(hour);
            fs::create_dir_all(&hour).unwrap();
            fs::write(hour.join("part-000000.parquet"), [0; 100]).unwrap();
        }
    }
    fs::create_dir(folder.path().join("live")).unwrap();
    fs::write(folder.path().join("live/a.segment"), [0; 5000]).unwrap();
    folder
}

fn at(time: &str) -> Nanos {
    Nanos(parse_rfc3339(time).unwrap())
}

/// The hours that are left of a table.
fn left(dataset: &Path, table: &str) -> Vec<(String, u32)> {
    let mut hours = Vec::new();
    for date in fs::read_dir(dataset.join(format!("kind={table}"))).unwrap() {
        let date = date.unwrap();
        for hour in fs::read_dir(date.path()).unwrap() {
            let name = |path: std::ffi::OsString| path.into_string().unwrap();
            let hour = name(hour.unwrap().file_name())[5..].parse().unwrap();
            hours.push((name(date.file_name())[5..].to_owned(), hour));
        }
    }
    hours.sort();
    hours
}

fn kept(keep: Keep, now: &str) -> (Removed, Vec<(String, u32)>) {
    let folder = dataset();
    let removed = retain(&RealDisk, folder.path(), keep, at(now)).unwrap();
    let hours = left(folder.path(), "sample");
    assert_eq!(hours, left(folder.path(), "process"));
    assert!(folder.path().join("live/a.segment").exists());
    (removed, hours)
}

fn expected(from: usize) -> Vec<(String, u32)> {
    let owned = |(date, hour): &(&str, u32)| ((*date).to_owned(), *hour);
    HOURS[from..].iter().map(owned).collect()
}

#[test]
fn hours_that_are_too_old_go() {
    let keep = |hours: u64| Keep {
        age: Some(Nanos::from_secs(hours * 3600)),
        bytes: None,
    };
    let now = "2026-11-21T11:00:00Z";
    let (removed, hours) = kept(keep(24), now);
    assert_eq!((removed.hours, hours), (0, expected(0)));
    let (removed, hours) = kept(keep(11), now);
    assert_eq!(hours, expected(1));
    let counts = (removed.hours, removed.files, removed.bytes);
    assert_eq!((counts, removed.left), ((1, 2, Bytes(200)), Bytes(800)));
    let (_, hours) = kept(keep(1), now);
    assert_eq!(hours, expected(3));
    // What lies in the future of a clock that was wrong is not old.
    let (removed, _) = kept(keep(0), "2020-01-01T00:00:00Z");
    assert_eq!(
        removed,
        Removed {
            left: Bytes(1000),
            ..Removed::default()
        }
    );
}

#[test]
fn the_oldest_hours_go_until_the_rest_is_small_enough() {
    let keep = |bytes| Keep {
        age: None,
        bytes: Some(Bytes(bytes)),
    };
    let now = "2026-11-21T11:00:00Z";
    assert_eq!(kept(keep(1000), now).1, expected(0));
    assert_eq!(kept(keep(999), now).1, expected(1));
    assert_eq!(kept(keep(400), now).1, expected(3));
    // The last one stays.
    assert_eq!(kept(keep(0), now).1, expected(4));
}

#[test]
fn a_dataset_without_hours_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Keep {
        age: Some(Nanos(0)),
        bytes: Some(Bytes(0)),
    };
    let removed = retain(&RealDisk, folder.path(), keep, at("2026-11-21T11:00:00Z"));
    assert_eq!(removed.unwrap(), Removed::default());
    let strange = folder.path().join("kind=sample/date=yesterday/hour=9");
    fs::create_dir_all(&strange).unwrap();
    fs::write(strange.join("part-0.parquet"), "x").unwrap();
    retain(&RealDisk, folder.path(), keep, at("2026-11-21T11:00:00Z")).unwrap();
    assert!(strange.join("part-0.parquet").exists());
}
