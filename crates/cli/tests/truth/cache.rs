//! Level io: the page cache, against what the workload made it do by construction.

use crate::files::{SKIP, Seen, watch_in};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::workload::program;
use record::file::{FileKind, PageCache};
use record::unit::Bytes;
use std::path::Path;
use std::process::Command;

/// One test of each function with a dynamic program and with a static one.
macro_rules! dynamic_and_static {
    ($($check:ident),* $(,)?) => { $(
        mod $check {
            use crate::harness::mechanism::{Mechanism, with};
            #[test]
            fn bpf() {
                with(Mechanism::Bpf, |it| super::$check(it, "cache"));
            }
            #[test]
            fn bpf_static() {
                with(Mechanism::Bpf, |it| super::$check(it, "cache.static"));
            }
        }
    )* };
}

dynamic_and_static!(read, map, write, store, send, reused, overlay);

/// Of `a`: 3 MiB and a page.
const COLD: Bytes = Bytes((3 << 20) + 4096);
const MIB: Bytes = Bytes(1 << 20);

/// Runs a part beside files whose pages are clean; nothing if that cannot be done here.
fn seen(mechanism: Mechanism, name: &str, part: &str) -> Option<Seen> {
    let make = |folder: &Path| {
        let made = Command::new(program(name)).arg(folder).arg("make").status();
        assert!(made.unwrap().success());
    };
    let seen = watch_in(mechanism, name, part, &[], make);
    if seen.done.status == SKIP {
        let why = seen.done.skipped().unwrap_or("no reason told");
        println!("skipped: {why}");
        return None;
    }
    seen.report();
    // Where nothing comes from storage or goes there (tmpfs, a file system of another machine) the
    // cache is no truth.
    let none = |what| seen.done.printed(what) == 0;
    let only_writes = ["write", "store", "reused"].contains(&part);
    if !only_writes && none("read_bytes") {
        println!("skipped: nothing comes from storage here");
        return None;
    }
    if part != "read" && part != "map" && none("write_bytes") {
        println!("skipped: nothing goes to storage here");
        return None;
    }
    Some(seen)
}

#[track_caller]
fn pages(seen: &Seen, name: &str) -> PageCache {
    let line = seen.of(name);
    assert_eq!(line.kind, FileKind::File);
    line.page_cache.expect("this kernel tells of pages")
}

/// A second reading finds the pages there.
fn read(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "read") else {
        return;
    };
    let wanted = PageCache {
        filled: COLD,
        ..PageCache::default()
    };
    assert_eq!(pages(&seen, "a"), wanted);
    let read = seen.of("a").counts.bytes_read.0;
    assert_eq!(read, 2 * ((3 << 20) + 100));
}

fn map(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "map") else {
        return;
    };
    let wanted = PageCache {
        mapped_filled: COLD,
        ..PageCache::default()
    };
    assert_eq!(pages(&seen, "a"), wanted);
    assert_eq!(seen.of("a").counts.bytes_read.0, 0);
}

/// What is written again before it is written out is dirty already.
fn write(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "write") else {
        return;
    };
    let wanted = PageCache {
        dirtied: MIB,
        ..PageCache::default()
    };
    assert_eq!(pages(&seen, "c"), wanted);
    assert_eq!(seen.of("c").counts.bytes_written, Bytes(4 << 20));
}

fn store(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "store") else {
        return;
    };
    let pages = pages(&seen, "b");
    assert_eq!((pages.mapped_dirtied, pages.dirtied), (MIB, Bytes(0)));
    assert_eq!(seen.of("b").counts.bytes_written.0, 0);
}

fn send(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "send") else {
        return;
    };
    let (from, to) = (pages(&seen, "a"), pages(&seen, "d"));
    assert_eq!((from.filled, from.dirtied), (COLD, Bytes(0)));
    assert_eq!((to.filled, to.dirtied), (Bytes(0), COLD));
}

/// Two files, one after the other, with one inode number.
fn reused(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "reused") else {
        return;
    };
    let (small, large) = (pages(&seen, "small"), pages(&seen, "large"));
    assert_eq!(large.mapped_dirtied, MIB);
    assert_eq!(small.mapped_dirtied, Bytes(4096));
}

/// Pages of a file that was copied up are told by the number of the file below.
fn overlay(mechanism: Mechanism, name: &str) {
    let Some(seen) = seen(mechanism, name, "overlay") else {
        return;
    };
    let pages = pages(&seen, "over/a");
    assert_eq!(pages.mapped_filled, COLD);
    assert!(pages.mapped_dirtied.0 >= 4096, "{pages:?}");
}

/// Who is not asked says nothing.
#[test]
fn the_library_does_not_know() {
    with(Mechanism::Preload, |mechanism| {
        let Some(seen) = seen(mechanism, "cache", "write") else {
            return;
        };
        assert_eq!(seen.of("c").page_cache, None);
    });
}
