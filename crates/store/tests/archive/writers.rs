//! Many who write at once, and one who packs meanwhile.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WRITERS: u64 = 32;
const EACH: u64 = 40;

#[test]
fn what_many_write_is_there_once_while_another_packs() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a");
    // All of them make it.
    let folder = |path: &Path| Folder::create(path).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let path = path.clone();
                scope.spawn(move || {
                    add(&folder(&path), writer * EACH + 1..(writer + 1) * EACH + 1);
                })
            })
            .collect();
        let packers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut packing = archive(&path);
                    while !is_over.load(Ordering::Relaxed) {
                        packing.pack(SystemTime::now(), &|_| true).unwrap();
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                let count = all(&archive(&path), &Filter::default()).len();
                assert!(count >= last, "{count} after {last}");
                last = count;
            }
        });
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        for done in written {
            done.unwrap();
        }
        for packer in packers {
            packer.join().unwrap();
        }
        reader.join().unwrap();
    });
    let mut archive = archive(&path);
    let everyone = numbers(1..WRITERS * EACH + 1);
    assert_eq!(all(&archive, &Filter::default()), everyone);
    archive.pack(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), everyone);
    assert_eq!(archive.count().unwrap(), (WRITERS * EACH, 0));
    assert_eq!(archive.folder().packs().unwrap().len(), 1);
    assert!(archive.damaged().unwrap().is_empty());
}

#[test]
fn what_is_taken_in_again_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    let take = |archive: &mut Archive, numbers: std::ops::Range<u64>| {
        let mut intake = archive.intake();
        for number in numbers {
            intake.take(attempt(number), Texts::default()).unwrap();
        }
        let taken = intake.end(now()).unwrap();
        (taken.new, taken.known)
    };
    assert_eq!(take(&mut archive, 1..1001), (1000, 0));
    let files = archive.folder().packs().unwrap();
    assert_eq!(take(&mut archive, 1..1001), (0, 1000));
    assert_eq!(archive.folder().packs().unwrap(), files);
    // A few get files of their own, and are known as well.
    assert_eq!(take(&mut archive, 999..1004), (3, 2));
    assert_eq!(archive.count().unwrap(), (1000, 3));
    assert_eq!(take(&mut archive, 990..1004), (0, 14));
    let mut intake = archive.intake();
    assert!(intake.take(attempt(5000), Texts::default()).unwrap());
    assert!(!intake.take(attempt(5000), Texts::default()).unwrap());
}

#[test]
fn copying_one_into_another_merges_them() {
    let home = tempfile::tempdir().unwrap();
    let (one, other) = (home.path().join("one"), home.path().join("other"));
    let mut first = archive(&one);
    add(first.folder(), 1..101);
    first.pack(now(), &|_| true).unwrap();
    add(first.folder(), 101..111);
    let mut second = archive(&other);
    add(second.folder(), 51..121);
    second.pack(now(), &|_| true).unwrap();
    add(second.folder(), 1..5);
    let copied = std::process::Command::new("cp")
        .arg("-r")
        .arg(one.join("."))
        .arg(&other)
        .status();
    assert!(copied.unwrap().success());
    second.refresh(now(), &|_| true).unwrap();
    assert_eq!(all(&second, &Filter::default()), numbers(1..121));
    second.pack(now(), &|_| true).unwrap();
    assert_eq!(all(&second, &Filter::default()), numbers(1..121));
    assert_eq!(second.count().unwrap(), (120, 0));
    assert_eq!(second.folder().packs().unwrap().len(), 1);
    // Nothing is left to do.
    let packed = second.pack(now(), &|_| true).unwrap();
    assert_eq!((packed.attempts, packed.removed), (0, 0));
}
