//! Segments whose beginning is damaged, of a later version, or none at all: nothing that was not
//! read whole is lost.

use crate::compact::{SECOND, files, samples, write_passes};
use crate::disks::Dying;
use crate::passes::{origin, rows_of, segments, write_pass};
use record::table;
use std::fs;
use std::path::{Path, PathBuf};
use store::Error;
use store::compact::{Options, Step, Summary, compact};
use store::disk::RealDisk;
use store::segment::{self, Sheet, Writer};

/// Where the version is.
const VERSION: usize = 7;

/// What was done, and what was told of.
fn run(dataset: &Path) -> (Summary, Vec<String>) {
    let mut told = Vec::new();
    let done = compact(&RealDisk, dataset, Options::default(), &mut |step| {
        if let Step::Unread(error) = step {
            told.push(error.to_string());
        }
    });
    (done.unwrap(), told)
}

/// A dataset with one segment of five passes, and its path.
fn recorded() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    write_passes(folder.path(), segment::Options::default(), 0..5);
    let path = segments(folder.path()).remove(0);
    (folder, path)
}

fn flip(path: &Path, at: usize) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, &bytes).unwrap();
    bytes
}

fn bad(dataset: &Path) -> Vec<PathBuf> {
    files(&dataset.join("bad"))
}

fn sorted_samples(dataset: &Path) -> Vec<(u32, u8, i64)> {
    let mut rows = samples(dataset);
    rows.sort();
    rows
}

#[test]
fn a_flipped_byte_at_the_front_loses_nothing() {
    // The magic bytes (the version becomes 0), the first frame's marker, header and payload.
    for at in [3, VERSION, 8, 28, 78] {
        let (folder, path) = recorded();
        let bytes = flip(&path, at);
        let (summary, told) = run(folder.path());
        let copies = bad(folder.path());
        assert_eq!(copies.len(), 1, "{at}");
        assert_eq!(copies[0].file_name(), path.file_name());
        assert_eq!(fs::read(&copies[0]).unwrap(), bytes, "{at}");
        let (damaged, copy) = (path.display(), copies[0].display());
        let expected = format!("the beginning of {damaged} is damaged: {copy} is a copy of it");
        assert_eq!(told, [expected]);
        assert_eq!((summary.segments, summary.bytes_torn), (1, 0));
        assert!(!path.exists());
        if at <= VERSION {
            // The frame that says whose it is is whole.
            assert_eq!((summary.bytes_bad, summary.frames_unread), (8, 0));
            assert_eq!(sorted_samples(folder.path()), rows_of(0..5));
        } else {
            assert_eq!(
                (summary.bytes_bad, summary.rows_out),
                (bytes.len() as u64, 0)
            );
        }
    }
}

#[test]
fn whose_it_is_the_next_segment_of_its_writer_tells() {
    for at in [8, 12, 28, 78] {
        let (folder, path) = recorded();
        flip(&path, at);
        let options = segment::Options::default();
        let mut writer = Writer::new(RealDisk, folder.path(), origin(), options).unwrap();
        assert!(write_pass(
            &mut writer,
            &mut Sheet::new(&table::sample::TABLE),
            5
        ));
        assert!(writer.path().unwrap().ends_with(SECOND));
        // It is still being written.
        let (summary, told) = run(folder.path());
        assert_eq!((summary.segments, summary.busy, told.len()), (1, 1, 1));
        assert_eq!((bad(folder.path()).len(), summary.frames_unread), (1, 0));
        assert!(summary.bytes_bad > 64, "{summary:?}");
        assert_eq!(sorted_samples(folder.path()), rows_of(0..5), "{at}");
        drop(writer);
        run(folder.path());
        assert_eq!(sorted_samples(folder.path()), rows_of(0..6));
    }
}

#[test]
fn a_segment_of_a_later_version_stays_and_the_others_are_compacted() {
    let (folder, path) = recorded();
    let later = path.with_file_name(SECOND);
    let mut bytes = fs::read(&path).unwrap();
    bytes[VERSION] = 2;
    bytes[30] ^= 1;
    fs::write(&later, &bytes).unwrap();
    for turn in 0..2 {
        let (summary, told) = run(folder.path());
        assert_eq!(told, [format!("{} is of a later version", later.display())]);
        assert_eq!((summary.segments, summary.files_unread), (1 - turn, 1));
        assert_eq!((summary.bytes_torn, summary.bytes_bad), (0, 0));
        assert_eq!(fs::read(&later).unwrap(), bytes);
        assert_eq!(segments(folder.path()), std::slice::from_ref(&later));
        assert_eq!(bad(folder.path()), Vec::<PathBuf>::new());
        assert_eq!(sorted_samples(folder.path()), rows_of(0..5));
    }
}

#[test]
fn what_is_no_segment_is_kept() {
    let noise: Vec<u8> = (0..5000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let magic_and_noise = [segment::MAGIC.as_slice(), &noise].concat();
    let marker_and_noise = [segment::MAGIC.as_slice(), b"PLFR", &noise].concat();
    let zeros = [segment::MAGIC.as_slice(), &[0; 300]].concat();
    for bytes in [noise, magic_and_noise, marker_and_noise, zeros, vec![0; 5]] {
        let (folder, path) = recorded();
        fs::write(&path, &bytes).unwrap();
        let (summary, told) = run(folder.path());
        assert_eq!(
            (summary.bytes_bad, summary.bytes_torn),
            (bytes.len() as u64, 0)
        );
        assert_eq!(told.len(), 1);
        assert_eq!(fs::read(&bad(folder.path())[0]).unwrap(), bytes);
        assert_eq!(segments(folder.path()), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_file_whose_name_is_not_that_of_a_segment_is_left_alone() {
    let (folder, path) = recorded();
    let whole = fs::read(&path).unwrap();
    let names = [
        "notes.segment",
        "a copy.segment",
        "a.b.7.x.segment",
        "notes",
    ];
    for name in names {
        fs::write(path.with_file_name(name), &whole).unwrap();
    }
    let (summary, told) = run(folder.path());
    assert_eq!((summary.segments, summary.busy, told.len()), (1, 0, 0));
    assert_eq!(segments(folder.path()).len(), names.len());
    assert_eq!(bad(folder.path()), Vec::<PathBuf>::new());
}

#[test]
fn a_first_frame_that_was_never_finished_is_dropped() {
    let (_folder, path) = recorded();
    let whole = fs::read(&path).unwrap();
    let length = u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize;
    for cut in (0..8 + 64 + length).step_by(7) {
        let (folder, path) = recorded();
        fs::write(&path, &whole[..cut]).unwrap();
        let (summary, told) = run(folder.path());
        assert_eq!((summary.bytes_torn, summary.bytes_bad), (cut as u64, 0));
        assert_eq!((summary.segments, told.len()), (1, 0), "cut at {cut}");
        assert_eq!(files(folder.path()), [folder.path().join("compact.lock")]);
    }
}

#[test]
fn a_copy_of_another_segment_with_the_same_name_is_not_taken_for_this_one() {
    let (folder, path) = recorded();
    let whole = fs::read(&path).unwrap();
    let mut all = Vec::new();
    // A writer whose segments are gone begins with the first number again.
    for at in [78, 79, 78, 100] {
        fs::write(&path, &whole).unwrap();
        all.push(flip(&path, at));
        run(folder.path());
    }
    all.sort();
    all.dedup();
    let mut kept: Vec<_> = bad(folder.path())
        .iter()
        .map(|path| fs::read(path).unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, all);
}

#[test]
fn a_death_at_any_step_leaves_the_segment_or_a_whole_copy() {
    let mut deaths = 0;
    for steps in 0..20 {
        let (folder, path) = recorded();
        let bytes = flip(&path, 3);
        let disk = Dying::after(steps, 50);
        let done = compact(&disk, folder.path(), Options::default(), &mut |_| {});
        deaths += usize::from(done.is_err());
        run(folder.path());
        let copies = bad(folder.path());
        assert_eq!(copies.len(), 1, "died after {steps} steps");
        assert_eq!(fs::read(&copies[0]).unwrap(), bytes);
        assert_eq!(sorted_samples(folder.path()), rows_of(0..5));
        assert_eq!(files(&folder.path().join("aside")), Vec::<PathBuf>::new());
    }
    assert!(deaths > 10, "{deaths}");
}

/// Its payload is there whole: it is no frame that was never finished.
#[test]
fn a_flipped_length_of_the_last_frame_is_damage() {
    for bit in 0..32 {
        let (folder, path) = recorded();
        let mut bytes = fs::read(&path).unwrap();
        let marker = bytes.windows(4).rposition(|four| four == b"PLFR").unwrap();
        bytes[marker + 4 + bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).unwrap();
        let (summary, _) = run(folder.path());
        let last = (bytes.len() - marker) as u64;
        assert_eq!((summary.bytes_bad, summary.bytes_torn), (last, 0), "{bit}");
        assert_eq!(sorted_samples(folder.path()), rows_of(0..4));
        let copies = bad(folder.path());
        assert_eq!(fs::read(&copies[0]).unwrap(), bytes, "{bit}");
    }
}

#[test]
fn how_many_rows_are_read_behind_a_damaged_beginning_is_told() {
    // The magic bytes, and the frame that says whose it is.
    for (at, rows) in [(3, 50), (28, 0)] {
        let (folder, path) = recorded();
        flip(&path, at);
        let mut told = Vec::new();
        compact(&RealDisk, folder.path(), Options::default(), &mut |step| {
            if let Step::Unread(Error::Damaged { rows, .. }) = step {
                told.push(*rows);
            }
        })
        .unwrap();
        assert_eq!(told, [rows]);
    }
}
