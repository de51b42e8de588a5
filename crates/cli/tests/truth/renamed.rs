//! Level io: files that get other names while they are used, and others that get theirs.

use crate::files::{SKIP, Seen, counts, watch_in};
use crate::harness::mechanism::Mechanism;
use crate::harness::{each_io_mechanism, skip};
use record::file::FileLine;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

each_io_mechanism!("renames":
    rotated,
    dropped,
    closed,
    inherited,
    replaced,
    temporary,
    again,
    copied,
    exchanged,
    folder,
    unclosed,
    late,
    unread,
);

fn seen(mechanism: Mechanism, name: &str, part: &str) -> Seen {
    let make = |folder: &Path| std::fs::write(folder.join("log"), [b'x'; 1000]).unwrap();
    let seen = watch_in(mechanism, name, part, &[], make);
    if seen.done.status != SKIP {
        seen.report();
    }
    seen
}

/// The line is of the file that is there now, and of no other one.
#[track_caller]
fn is_own(seen: &Seen, name: &str, before: u64) {
    let line = seen.of(name);
    let there = std::fs::metadata(seen.folder.join(name)).unwrap();
    assert_eq!(line.inode, Some(there.ino()), "{line:#?}");
    assert_eq!(line.deleted, Some(false), "{line:#?}");
    sized(line, before, there.len());
    let grown = there.len() - before;
    assert_eq!(line.counts.bytes_written.0, grown, "{line:#?}");
    assert_eq!(line.flags.created, before == 0, "{line:#?}");
}

#[track_caller]
fn sized(line: &FileLine, before: u64, after: u64) {
    let sizes = [line.size_before_bytes, line.size_after_bytes];
    let sizes = sizes.map(|size| size.map(|it| it.0));
    assert_eq!(sizes, [Some(before), Some(after)], "{line:#?}");
}

fn rotated(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "rotated");
    counts(seen.of("log.2"), [1, 1, 0, 0, 3, 2301]);
    counts(seen.of("log.1"), [1, 1, 0, 0, 2, 44]);
    counts(seen.of("log"), [1, 1, 0, 0, 1, 7]);
    for (name, before) in [("log.2", 1000), ("log.1", 0), ("log", 0)] {
        is_own(&seen, name, before);
    }
}

/// What has no name any more is told by the first one that it had.
fn dropped(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "dropped");
    for (name, bytes) in [("log.1", 106), ("log.2", 105), ("log.3", 104)] {
        counts(seen.of(name), [1, 1, 0, 0, 1, bytes]);
        is_own(&seen, name, 0);
    }
    let (line, there) = (seen.of("log"), std::fs::metadata(seen.folder.join("log")));
    let gone = 100 + 101 + 102 + 103;
    counts(line, [5, 5, 0, 0, 5, gone + 107]);
    assert_eq!(line.inode, Some(there.unwrap().ino()), "{line:#?}");
    sized(line, 1000, 107);
}

fn closed(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "closed");
    counts(seen.of("log.2"), [1, 1, 0, 0, 1, 2301]);
    counts(seen.of("log.1"), [1, 1, 0, 0, 1, 44]);
    counts(seen.of("log"), [1, 1, 0, 0, 1, 7]);
    for (name, before) in [("log.2", 1000), ("log.1", 0), ("log", 0)] {
        is_own(&seen, name, before);
    }
}

fn inherited(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "inherited");
    counts(seen.of("log.1"), [1, 0, 0, 0, 2, 2060]);
    counts(seen.of("log"), [1, 0, 0, 0, 1, 7]);
    is_own(&seen, "log.1", 1000);
    is_own(&seen, "log", 0);
}

/// What had the name is in its line; which file that is says the last one.
fn replaced(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "replaced");
    let (line, there) = (seen.of("log"), std::fs::metadata(seen.folder.join("log")));
    counts(line, [2, 2, 0, 0, 3, 543]);
    assert_eq!(line.inode, Some(there.unwrap().ino()), "{line:#?}");
    sized(line, 1000, 40);
    assert_eq!((line.removed, line.deleted), (Some(true), Some(false)));
}

/// What was done with a file is told by the name under which it was opened.
fn temporary(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "temporary");
    let path = |name: &str| Some(seen.folder.join(name).to_str().unwrap().to_owned());
    let line = seen.of("temporary");
    counts(line, [1, 1, 0, 0, 2, 5005]);
    sized(line, 0, 5005);
    assert_eq!((&line.renamed_to, line.deleted), (&path("log"), Some(true)));
    let log = seen.of("log");
    counts(log, [1, 1, 1, 1000, 0, 0]);
    assert_eq!(log.renamed_from, path("temporary"));
    assert_ne!(log.inode, line.inode);
}

fn again(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "again");
    let line = seen.of("temporary");
    counts(line, [10, 10, 0, 0, 10, 1045]);
    sized(line, 0, 109);
    counts(seen.of("final"), [0; 6]);
}

fn copied(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "copied");
    counts(seen.of("log"), [2, 2, 1, 1500, 2, 533]);
    sized(seen.of("log"), 1000, 33);
    assert!(seen.of("log").flags.truncated);
    is_own(&seen, "log.1", 0);
}

fn exchanged(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "exchanged");
    if let Some(why) = seen.done.skipped() {
        skip!("{why}");
    }
    counts(seen.of("log"), [1, 1, 0, 0, 2, 501]);
    sized(seen.of("log"), 1000, 1501);
    counts(seen.of("other"), [1, 1, 0, 0, 2, 9]);
    sized(seen.of("other"), 0, 9);
}

fn folder(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "folder");
    counts(seen.of("two/file"), [1, 1, 0, 0, 2, 560]);
    counts(seen.of("one/file"), [1, 1, 0, 0, 1, 7]);
    is_own(&seen, "two/file", 0);
    is_own(&seen, "one/file", 0);
}

/// Nobody looks at it as it is closed, and its first name leads to another file.
fn unclosed(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "unclosed");
    counts(seen.of("log.1"), [1, 0, 0, 0, 2, 2300]);
    counts(seen.of("log"), [1, 0, 0, 0, 1, 7]);
    is_own(&seen, "log.1", 1000);
    is_own(&seen, "log", 0);
}

/// The size of a file at its last close, whoever wrote to it.
fn late(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "late");
    counts(seen.of("log"), [2, 2, 2, 15, 1, 2000]);
    sized(seen.of("log"), 1000, 3070);
    counts(seen.of("other"), [1, 1, 0, 0, 1, 70]);
    sized(seen.of("other"), 3000, 3070);
}

/// Whoever read last need not have looked at the size last.
fn unread(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "unread");
    counts(seen.of("log"), [2, 1, 1, 5, 1, 2000]);
    sized(seen.of("log"), 1000, 3000);
}
