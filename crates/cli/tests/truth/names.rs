//! Level io: names that a task removes, changes, or truncates a file by.

use crate::files::{SKIP, Seen, watch_in};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::workload::program;
use crate::harness::{each_io_mechanism, skip};
use record::file::FileKind;
use std::path::Path;
use std::process::Command;

each_io_mechanism!("names": removed, renamed, truncated, crowd, own);

fn seen(mechanism: Mechanism, name: &str, part: &str) -> Seen {
    let make = |folder: &Path| {
        let made = Command::new(program(name)).arg(folder).arg("make").status();
        assert!(made.unwrap().success());
    };
    let seen = watch_in(mechanism, name, part, &[], make);
    if seen.done.skipped().is_none() {
        seen.report();
    }
    seen
}

fn removed(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "removed");
    for name in ["a-ten-byte", "b-ten-byte", "c-ten-byte", "f-ten-byte"] {
        let line = seen.of(name);
        assert!(
            line.removed == Some(true) && line.flags.created,
            "{line:#?}"
        );
        assert_eq!((line.kind, line.deleted), (FileKind::File, Some(true)));
        assert_eq!(line.counts.bytes_written.0, 10);
    }
    let fifo = seen.of("fifo");
    assert_eq!(fifo.removed, Some(true));
    assert_eq!((fifo.kind, fifo.counts.opens), (FileKind::Unknown, 0));
    assert_eq!(fifo.size_after_bytes, None);
    for name in ["folder", "second"] {
        let line = seen.of(name);
        assert_eq!(line.removed, Some(true));
        assert_eq!(line.kind, FileKind::Directory);
    }
    let kept = seen.of("kept-ten-b");
    assert_eq!(kept.removed, Some(true));
    assert_eq!((kept.deleted, kept.counts.opens), (Some(false), 2));
    let mentioned = |name: &str| seen.lines.iter().any(|line| line.path.contains(name));
    assert!(!mentioned("never") && !mentioned("link"));
}

fn renamed(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "renamed");
    let path = |name: &str| Some(seen.folder.join(name).to_str().unwrap().to_owned());
    let first = seen.of("first-ten-");
    assert_eq!(first.renamed_to, path("second"));
    assert_eq!((first.deleted, first.removed), (Some(true), Some(false)));
    let second = seen.of("second");
    assert_eq!(second.renamed_from, path("first-ten-"));
    assert_eq!(second.renamed_to, path("sub/third"));
    let third = seen.of("sub/third");
    assert_eq!((third.kind, third.inode), (FileKind::File, first.inode));
    assert_eq!(
        (&third.renamed_from, &third.renamed_to),
        (&path("second"), &None)
    );
    assert_eq!(third.deleted, Some(false));
    assert_eq!(third.counts.opens, 0);
    for (one, other) in [("x-ten-byte", "y-ten-byte"), ("y-ten-byte", "x-ten-byte")] {
        let line = seen.of(one);
        assert_eq!(
            (&line.renamed_from, &line.renamed_to),
            (&path(other), &path(other))
        );
        assert_eq!(line.deleted, Some(false));
    }
    assert!(!seen.lines.iter().any(|line| line.path.contains("never")));
}

fn truncated(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "truncated");
    for name in ["p-ten-byte", "q-ten-byte", "t-ten-byte"] {
        assert!(seen.of(name).flags.truncated, "{name}");
    }
    let whole = seen.of("s-ten-byte");
    assert!(!whole.flags.truncated && whole.flags.appended);
    assert_eq!(seen.of("q-ten-byte").size_after_bytes.unwrap().0, 4);
    let never_opened = seen.of("r");
    assert!(never_opened.flags.truncated && never_opened.removed == Some(false));
    assert_eq!(never_opened.kind, FileKind::File);
    assert_eq!(never_opened.size_after_bytes, None);
}

/// A folder that is renamed from within: the call names it from where it was.
#[test]
fn ptrace_a_folder_that_is_renamed_from_within() {
    with(Mechanism::Ptrace, |it| {
        let seen = seen(it, "names", "within");
        let path = |name: &str| Some(seen.folder.join(name).to_str().unwrap().to_owned());
        assert_eq!(seen.of("inner").renamed_to, path("sub/outer"));
        let outer = seen.of("sub/outer");
        assert_eq!(outer.renamed_from, path("inner"));
        assert_eq!(outer.removed, Some(true));
        assert_eq!(outer.kind, FileKind::Directory);
    });
}

/// The names that 32-bit programs remove are not told: that is said.
#[test]
fn ptrace_says_that_calls_of_32_bit_programs_are_unseen() {
    with(Mechanism::Ptrace, |it| {
        let seen = seen(it, "names", "compat");
        if seen.done.status == SKIP {
            skip!("no calls of 32-bit programs here");
        }
        let line = seen.of("z-ten-byte");
        assert_eq!((line.deleted, line.removed), (Some(true), None));
        let notes = seen.report().monitor.notes.join("\n");
        assert!(notes.contains("1 file calls of 32-bit programs"), "{notes}");
    });
}

fn crowd(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "crowd");
    for who in ["first", "second", "sub/child"] {
        for number in 0..50 {
            let line = seen.of(&format!("{who}-{number}-ten-byte"));
            assert!(
                line.removed == Some(true) && line.flags.created,
                "{line:#?}"
            );
            assert_eq!((line.processes.len(), line.deleted), (1, Some(true)));
        }
    }
    let pid = |name: &str| seen.of(name).processes[0];
    assert_eq!(pid("first-0-ten-byte"), pid("second-0-ten-byte"));
    assert_ne!(pid("first-0-ten-byte"), pid("sub/child-0-ten-byte"));
    let inner = seen.of("one/inner-ten-byte");
    assert_eq!((inner.flags.created, inner.removed), (true, Some(false)));
    assert_eq!(seen.of("two/inner-ten-byte").removed, Some(true));
    assert_eq!(
        seen.lines
            .iter()
            .filter(|it| it.removed == Some(true))
            .count(),
        151
    );
}

/// The library's room for names has a bound: what finds none is counted.
#[test]
fn preload_says_how_many_names_found_no_room() {
    let seen = seen(Mechanism::Preload, "names", "lengthy");
    let report = seen.report();
    let lost = report.monitor.notes.iter().find_map(|note| {
        let (count, _) =
            note.split_once(" removed, renamed or truncated names could not be told")?;
        count.parse::<u64>().ok()
    });
    // Of those that found room two are in a block of 8 KiB each.
    assert_eq!(lost, Some(3000 - 2 * (8192 / 16)));
    let cut: Vec<_> = seen.lines.iter().filter(|it| it.flags.truncated).collect();
    assert!(
        cut.len() == 1 && cut[0].path.ends_with("x/cut-ten-byte"),
        "{cut:#?}"
    );
    assert_eq!(
        cut[0].path.len(),
        seen.folder.as_os_str().len() + 14 * 251 + 13
    );
}

/// What is another file for each process is that of the task, or told to be unknown: never ours.
fn own(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "own");
    let foreign: Vec<_> = seen
        .lines
        .iter()
        .filter(|line| line.path.contains("own-") || line.path.starts_with("/dev/fd"))
        .filter(|line| !line.path.starts_with(seen.folder.to_str().unwrap()))
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
    let sockets = seen
        .lines
        .iter()
        .filter(|line| line.kind == FileKind::Socket);
    assert_eq!(sockets.map(|line| line.counts.executions).sum::<u64>(), 0);
    // The library's names are told when the process has ended; those of programs in the kernel may
    // be.
    let notes = seen.report().monitor.notes.join("\n");
    let lost = notes.contains("removed, renamed or truncated names could not be told");
    if mechanism == Mechanism::Preload || (mechanism.is_in_kernel() && lost) {
        assert!(lost, "{notes}");
        assert_eq!(seen.of("own-a-ten-").removed, None);
        return;
    }
    assert_eq!(seen.of("own-a-ten-").removed, Some(true));
    let path = seen.folder.join("own-c");
    assert_eq!(seen.of("own-b-ten-").renamed_to.as_deref(), path.to_str());
    assert!(seen.of("own-d-ten-").flags.truncated);
}

/// The name of a file without one, and where one is whose name changed while it was open.
#[test]
fn ptrace_a_file_that_gets_another_name_has_one_line() {
    with(Mechanism::Ptrace, |it| {
        let seen = seen(it, "names", "linked");
        if let Some(why) = seen.done.skipped() {
            skip!("{why}");
        }
        let unnamed: Vec<_> = seen
            .lines
            .iter()
            .filter(|it| it.path.contains("/#"))
            .collect();
        let [line] = unnamed[..] else {
            panic!("{unnamed:#?}");
        };
        assert_eq!(line.counts.bytes_written.0, 10);
        assert_eq!(line.size_after_bytes.unwrap().0, 10);
        assert_eq!(seen.of("moved-ten-byte").size_after_bytes.unwrap().0, 15);
    });
}

#[test]
fn preload_a_file_that_was_renamed_and_never_closed_has_its_size() {
    let seen = seen(Mechanism::Preload, "names", "linked");
    if let Some(why) = seen.done.skipped() {
        skip!("{why}");
    }
    assert_eq!(seen.of("moved-ten-byte").size_after_bytes.unwrap().0, 15);
}
