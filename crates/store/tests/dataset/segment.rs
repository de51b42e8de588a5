//! Live segments.

use crate::disks::{Dying, Full};
use crate::passes::{origin, read_all, rows_of, segments, when, write_pass};
use record::table;
use record::unit::Nanos;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use store::disk::RealDisk;
use store::segment::{Found, Options, Reader, Sheet, Writer};

/// Small segments, each pass brought to the device.
const SMALL: Options = Options {
    segment_bytes_max: 9000,
    segment_age_max: Nanos::from_secs(3600),
    sync_period: Nanos(0),
};

#[test]
fn every_pass_that_was_written_survives_a_death_at_any_step() {
    let mut deaths = 0;
    for steps in 0..100 {
        for torn_bytes in [0, 1, 30, 70] {
            let folder = tempfile::tempdir().unwrap();
            let disk = Dying::after(steps, torn_bytes);
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
            deaths += usize::from(disk.is_dead() && written < 40);
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
    let (folder, is_full) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let mut writer =
        Writer::new(Full(&is_full), folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    for pass in 0..30 {
        is_full.store((10..20).contains(&pass), SeqCst);
        assert_eq!(
            write_pass(&mut writer, &mut sheet, pass),
            !is_full.load(SeqCst)
        );
    }
    assert_eq!(writer.lost_total(), 100);
    writer.close().unwrap();
    let (rows, counts, bad, torn) = read_all(folder.path());
    assert_eq!(rows, rows_of((0..10).chain(20..30)));
    assert_eq!((counts.lost, counts.unlinked, bad, torn), (100, 0, 0, 0));
}

#[test]
fn what_a_full_disk_lost_is_asked_for_once_there_is_room_but_not_each_time() {
    let (folder, is_full) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
    let mut writer =
        Writer::new(Full(&is_full), folder.path(), origin(), Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    // Whether everything is to be told anew, when a reading of this second begins.
    let mut second = |s: u64, full: bool| {
        is_full.store(full, SeqCst);
        let anew = writer.begin(Nanos::from_secs(s)).unwrap();
        assert_eq!(write_pass(&mut writer, &mut sheet, s as u32), !full);
        anew
    };
    assert_eq!([0, 1].map(|s| second(s, false)), [true, false]);
    assert_eq!([2, 3].map(|s| second(s, true)), [false, false]);
    // The first frame behind shows that there is room.
    assert_eq!([4, 5, 6].map(|s| second(s, false)), [false, true, false]);
    assert!(!second(7, true));
    assert_eq!([8, 9, 64].map(|s| second(s, false)), [false; 3]);
    assert_eq!([65, 66].map(|s| second(s, false)), [true, false]);
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
