//! Level io: calls, bytes and sizes by file, against what the workload did by construction.

use crate::harness::expect::field;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_io_mechanism, skip, words};
use record::file::{FileKind, FileLine, OtherFiles};
use record::report::Report;
use record::unit::Bytes;
use record::value::{Field, Method};
use std::path::{Path, PathBuf};

each_io_mechanism!("calls":
    reads,
    writes,
    copies,
    shared_descriptors,
    threads,
    deleted,
    names,
    sizes,
    kinds,
    a_tree_of_files,
    direct,
    a_full_table,
    overwritten,
    streams,
    killed,
    borrowed_memory,
    execs,
    a_storm,
    cancelled,
    busy_threads,
    whole_transfers,
    passed_descriptors,
    parted_descriptors,
    raw_calls,
    without_room,
    reopened_streams,
    libaio,
);

/// Exit status of a workload that cannot be done here.
pub(crate) const SKIP: i32 = 77;

/// What was seen of one run.
pub(crate) struct Seen {
    pub(crate) done: Done,
    pub(crate) folder: PathBuf,
    pub(crate) lines: Vec<FileLine>,
    pub(crate) others: Option<OtherFiles>,
}

pub(crate) fn at_level_io(mechanism: Mechanism) -> Run {
    let run = Run::watched(mechanism, Vec::new());
    match mechanism {
        // It has no other level.
        Mechanism::Preload => run,
        _ => run.options(["--level", "io"]),
    }
}

/// Runs a part of the workload in a folder of its own.
pub(crate) fn watch(mechanism: Mechanism, name: &str, part: &str, options: &[&str]) -> Seen {
    watch_in(mechanism, name, part, options, |_| {})
}

/// The same, in a folder that `prepare` filled.
pub(crate) fn watch_in(
    mechanism: Mechanism,
    name: &str,
    part: &str,
    options: &[&str],
    prepare: impl FnOnce(&Path),
) -> Seen {
    let run = at_level_io(mechanism).options(options);
    let folder = run.path("data");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    prepare(&folder);
    let done = run.command(words![program(name), folder, part]).finish();
    let seen = seen_of(done, folder);
    if seen.done.status != SKIP {
        seen.done.expect_status(0);
    }
    seen
}

/// What was seen of a command whose files are in `folder`.
pub(crate) fn seen_of(done: Done, folder: PathBuf) -> Seen {
    let text = std::fs::read_to_string(done.path("r.files.jsonl"));
    let text = text.unwrap_or_else(|error| panic!("{error}\n{}", done.context()));
    let (mut lines, mut others) = (Vec::new(), None);
    for line in text.lines() {
        match serde_json::from_str(line) {
            Ok(file) => lines.push(file),
            Err(_) => others = Some(serde_json::from_str(line).unwrap()),
        }
    }
    Seen {
        done,
        folder,
        lines,
        others,
    }
}

impl Seen {
    /// The one line of a file in the folder of the workload.
    #[track_caller]
    pub(crate) fn of(&self, name: &str) -> &FileLine {
        let path = self.folder.join(name);
        let found: Vec<_> = self
            .lines
            .iter()
            .filter(|line| line.path == path.to_str().unwrap())
            .collect();
        let [line] = found[..] else {
            panic!(
                "{} lines of {}: {:#?}",
                found.len(),
                path.display(),
                self.lines
            );
        };
        line
    }

    #[track_caller]
    fn of_kind(&self, kind: FileKind) -> Vec<&FileLine> {
        self.lines.iter().filter(|line| line.kind == kind).collect()
    }

    pub(crate) fn report(&self) -> &Report {
        self.done.expect_status(0);
        self.done.report()
    }
}

/// Opens, closes, reads, bytes read, writes, bytes written.
#[track_caller]
pub(crate) fn counts(line: &FileLine, truth: [u64; 6]) {
    let counts = &line.counts;
    let seen = [
        counts.opens,
        counts.closes,
        counts.reads,
        counts.bytes_read.0,
        counts.writes,
        counts.bytes_written.0,
    ];
    assert_eq!(seen, truth, "{line:#?}");
}

fn reads(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "reads", &[]);
    let report = seen.report();
    assert_eq!(report.monitor.level, "io");
    let line = seen.of("a");
    counts(line, [2, 2, 22, 10_847, 1, 10_000]);
    assert_eq!(line.counts.seeks, 2);
    assert_eq!(line.time_ns, None);
    let [first, ..] = &line.sizes[..] else {
        panic!("{line:#?}");
    };
    assert_eq!((first.bytes.0, first.reads, first.writes), (1000, 10, 0));
    let all: u64 = line
        .size_classes
        .iter()
        .map(|it| it.reads + it.writes)
        .sum();
    assert_eq!(all, 23);
    assert!(line.sizes_exact && line.flags.opened_to_read && line.flags.opened_to_write);
}

fn writes(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "writes", &["--times"]);
    seen.report();
    let line = seen.of("b");
    counts(line, [2, 2, 0, 0, 12, 461]);
    assert_eq!(line.size_before_bytes.unwrap().0, 0);
    assert_eq!(line.size_after_bytes.unwrap().0, 274);
    assert!(line.flags.created && line.flags.appended && !line.flags.opened_to_read);
    let wall = field(&seen.done, "wall_time").whole().unwrap();
    assert!((1..wall).contains(&line.time_ns.unwrap().0), "{line:#?}");
    assert_eq!(line.deleted, Some(false));
}

fn copies(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "copies", &[]);
    seen.report();
    counts(seen.of("from"), [2, 1, 3, 16_096, 1, 20_000]);
    counts(seen.of("c"), [1, 0, 0, 0, 1, 5000]);
    counts(seen.of("d"), [1, 0, 0, 0, 1, 7000]);
    counts(seen.of("e"), [1, 0, 0, 0, 1, 4096]);
    let pipes = seen.of_kind(FileKind::Pipe);
    let mut through = pipes.iter().filter(|pipe| pipe.counts.bytes_read.0 == 4096);
    counts(through.next_back().unwrap(), [0, 0, 1, 4096, 1, 4096]);
}

fn shared_descriptors(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "shared", &[]);
    seen.report();
    let line = seen.of("f");
    counts(line, [1, 3, 0, 0, 12, 120]);
    assert_eq!(line.processes.len(), 2);
}

fn threads(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "threads", &[]);
    seen.report();
    counts(seen.of("g"), [1, 1, 0, 0, 4000, 32_000]);
}

fn deleted(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "deleted", &[]);
    seen.report();
    let line = seen.of("h");
    counts(line, [2, 2, 1, 100, 2, 150]);
    assert_eq!(line.size_after_bytes.unwrap().0, 50);
    assert_eq!(line.deleted, Some(false), "the second one is there");
}

fn names(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "names", &[]);
    seen.report();
    let long = "n".repeat(255);
    let just = "m".repeat(64);
    let deep = format!("{}end", "deep/".repeat(20));
    for name in ["new\nline", "\u{fffd}\u{fffd}", &long, &just, &deep] {
        let line = seen.of(name);
        counts(line, [1, 1, 0, 0, 1, 10]);
        assert_eq!(line.path_hex.is_some(), name.starts_with('\u{fffd}'));
        assert!(!line.path_cut);
    }
    let strange = seen.of("\u{fffd}\u{fffd}");
    assert!(strange.path_hex.as_deref().unwrap().ends_with("2ffffe"));
}

fn sizes(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "sizes", &[]);
    seen.report();
    let line = seen.of("i");
    counts(line, [1, 1, 0, 0, 90, 35_820]);
    assert!(!line.sizes_exact);
    assert_eq!((line.sizes[0].bytes.0, line.sizes[0].writes), (700, 50));
    let classes: Vec<_> = line
        .size_classes
        .iter()
        .map(|it| (it.from_bytes.0, it.writes))
        .collect();
    assert_eq!(
        classes,
        [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 9), (512, 50)]
    );
}

fn kinds(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "kinds", &[]);
    seen.report();
    let pipes = seen.of_kind(FileKind::Pipe);
    assert!(
        pipes
            .iter()
            .any(|it| it.counts.bytes_read.0 == 60 && it.counts.writes == 3)
    );
    counts(seen.of("fifo"), [1, 0, 1, 5, 1, 5]);
    assert_eq!(seen.of("fifo").kind, FileKind::Fifo);
    let [memory] = seen.of_kind(FileKind::Memory)[..] else {
        panic!("{:#?}", seen.lines);
    };
    assert_eq!(memory.path, "memfd:plain");
    counts(memory, [0, 0, 0, 0, 1, 123]);
    let sockets = seen.of_kind(FileKind::Socket);
    let through: u64 = sockets.iter().map(|it| it.counts.bytes_read.0).sum();
    assert_eq!((sockets.len(), through), (2, 7 + 11));
    let failing = seen.of("failing");
    assert_eq!((failing.counts.failed, failing.counts.reads), (2, 1));
    assert!(seen.of("mapped").flags.mapped);
    let [folder] = seen.of_kind(FileKind::Directory)[..] else {
        panic!("{:#?}", seen.lines);
    };
    assert_eq!(
        (folder.path.as_str(), folder.counts.opens),
        (seen.folder.to_str().unwrap(), 1)
    );
}

/// The last word of a child comes with its exit, so nothing is lost however fast it was.
fn a_tree_of_files(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "tree", &[]);
    seen.report();
    let prefix = format!("{}/d", seen.folder.display());
    let lines: Vec<_> = seen
        .lines
        .iter()
        .filter(|line| line.path.starts_with(&prefix))
        .collect();
    assert_eq!(lines.len(), 3000);
    for line in lines {
        counts(line, [2, 2, 1, 100, 1, 100]);
        assert_eq!(line.processes.len(), 2);
    }
    let opened = field(&seen.done, "files_opened");
    let method = opened.value().unwrap().method;
    match mechanism {
        // What a library cannot see may have opened more.
        Mechanism::Preload => assert_eq!(method, Method::LowerBound { upper: None }),
        _ => assert_eq!(method, Method::Exact),
    }
    // Its libraries are more.
    assert!(
        (3000..3010).contains(&opened.whole().unwrap()),
        "{opened:?}"
    );
}

fn direct(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "direct", &[]);
    if seen.done.status == SKIP {
        skip!("no direct I/O here");
    }
    seen.report();
    counts(seen.of("j"), [1, 1, 0, 0, 2, 8192]);
    assert!(seen.of("j").flags.direct);
}

fn streams(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "streams", &[]);
    seen.report();
    counts(seen.of("k"), [2, 2, 2, 1000, 10, 1000]);
}

fn killed(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "killed", &[]);
    seen.report();
    let line = seen.of("l");
    counts(line, [1, 0, 0, 0, 7, 210]);
    assert_eq!(line.size_after_bytes.unwrap().0, 210);
}

fn borrowed_memory(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "borrowed", &[]);
    seen.report();
    counts(seen.of("m"), [1, 1, 0, 0, 5, 55]);
    counts(seen.of("n"), [4, 4, 0, 0, 4, 24]);
}

fn execs(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "execs", &[]);
    seen.report();
    counts(seen.of("o"), [9, 9, 0, 0, 9, 27]);
}

fn a_storm(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "storm", &[]);
    seen.report();
    let line = seen.of("p");
    counts(line, [3000, 0, 0, 0, 6000, 30_000]);
    assert!(line.processes_more);
}

fn cancelled(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "cancelled", &[]);
    seen.report();
    counts(seen.of("r"), [1, 1, 0, 0, 1, 9]);
}

fn busy_threads(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "busy", &[]);
    seen.report();
    for thread in 0..4 {
        for file in 0..100 {
            counts(seen.of(&format!("s{thread}_{file}")), [4, 8, 0, 0, 8, 60]);
        }
    }
    counts(seen.of("t"), [1600, 1600, 0, 0, 1600, 8000]);
    counts(seen.of("u"), [16, 0, 0, 0, 16, 48]);
    let signals = std::fs::metadata(seen.folder.join("v")).unwrap().len();
    counts(seen.of("v"), [1, 0, 0, 0, signals, signals]);
}

fn passed_descriptors(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "passed", &[]);
    seen.report();
    for (name, bytes) in [("aa", 10), ("bb", 20)] {
        let line = seen.of(name);
        assert_eq!((line.counts.opens, line.counts.writes), (1, 1), "{line:#?}");
        assert_eq!(line.counts.bytes_written.0, bytes);
    }
}

fn parted_descriptors(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "parted", &[]);
    seen.report();
    counts(seen.of("ab"), [1, 1, 0, 0, 2, 2]);
    counts(seen.of("ac"), [1, 1, 0, 0, 100, 1200]);
}

fn without_room(mechanism: Mechanism, name: &str) {
    if !Path::new("/dev/full").exists() {
        skip!("no /dev/full here");
    }
    let seen = watch(mechanism, name, "room", &[]);
    let full = seen.lines.iter().find(|line| line.path == "/dev/full");
    let full = full.unwrap_or_else(|| panic!("{:#?}", seen.lines));
    counts(full, [1, 1, 2, 20, 7, 0]);
    assert_eq!((full.counts.failed, full.counts.no_space), (7, 7));
    let of_another = seen.of("ak").counts;
    assert_eq!((of_another.failed, of_another.no_space), (1, 0));
    seen.report();
}

fn raw_calls(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "raw", &[]);
    seen.report();
    counts(seen.of("ad"), [1, 1, 1, 5, 2, 20]);
    counts(seen.of("ae"), [1, 1, 1, 5, 1, 20]);
    assert_eq!(seen.of("ad").counts.seeks, 1);
}

fn reopened_streams(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "reopened", &[]);
    seen.report();
    counts(seen.of("af"), [1, 0, 0, 0, 0, 0]);
    counts(seen.of("ag"), [2, 3, 0, 0, 1, 5]);
}

/// What goes by libaio is in no count, and is said not to be.
fn libaio(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "submits", &[]);
    if seen.done.status == SKIP {
        skip!("no libaio here");
    }
    let notes = seen.report().monitor.notes.join("\n");
    assert!(notes.contains("10 calls of io_submit"), "{notes}");
    assert!(notes.contains("libaio was used"), "{notes}");
    counts(seen.of("ah"), [1, 1, 0, 0, 0, 0]);
    let written = field(&seen.done, "bytes_written");
    let method = written.value().unwrap().method;
    assert_eq!(method, Method::LowerBound { upper: None });
}

fn whole_transfers(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "whole", &[]);
    seen.report();
    let line = seen.of("w");
    counts(line, [2, 3, 88, 73_838, 1, 40_960]);
    assert!(line.sizes_exact && line.counts.failed == 0, "{line:#?}");
    let of_size = |bytes| line.sizes.iter().find(|it| it.bytes.0 == bytes).unwrap();
    assert_eq!((of_size(1024).reads, of_size(512).reads), (62, 20));
    counts(seen.of("x"), [1, 1, 0, 0, 40, 3070]);
}

/// A transfer that was taken for whole and was not: the bytes are exact, and what is not known is
/// said.
#[test]
fn ptrace_transfers_that_were_not_whole() {
    with(Mechanism::Ptrace, |mechanism| {
        let seen = watch(mechanism, "calls", "shrinks", &[]);
        let notes = seen.report().monitor.notes.join("\n");
        assert!(notes.contains("some moved less"), "{notes}");
        counts(seen.of("y"), [2, 1, 33, 3050, 1, 10_000]);
        counts(seen.of("z"), [1, 0, 0, 0, 22, 20_480]);
        assert!(!seen.of("y").sizes_exact && !seen.of("z").sizes_exact);
    });
}

/// What an open truncates is told as it was before, or not at all where the kernel has no place to
/// look at it.
fn overwritten(mechanism: Mechanism, name: &str) {
    let old = [("o1", 5000), ("o2", 700), ("o3", 100)];
    let make = |folder: &Path| {
        for (name, bytes) in old {
            std::fs::write(folder.join(name), vec![b'x'; bytes]).unwrap();
        }
    };
    let seen = watch_in(mechanism, name, "overwrites", &[], make);
    for (name, bytes) in old.into_iter().chain([("o4", 0)]) {
        let line = seen.of(name);
        let sizes = (line.size_before_bytes, line.size_after_bytes);
        let mut wanted = (Some(Bytes(bytes as u64)), Some(Bytes(7)));
        if mechanism.is_in_kernel() && sizes.0.is_none() && ["o1", "o2"].contains(&name) {
            wanted.0 = None;
        }
        assert_eq!(sizes, wanted, "{line:#?}");
        assert!(line.flags.truncated, "{line:#?}");
        assert_eq!(line.flags.created, name == "o4");
    }
}

/// Beyond the bound the least busy files are one sum, and nothing is missing.
fn a_full_table(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "tree", &["--max-files", "100"]);
    seen.report();
    assert_eq!(seen.lines.len(), 100);
    let others = seen.others.expect("a line of the others");
    let lines: u64 = seen
        .lines
        .iter()
        .map(|line| line.counts.bytes_written.0)
        .sum();
    assert_eq!(lines + others.counts.bytes_written.0, 3000 * 100);
    let opens: u64 = seen.lines.iter().map(|line| line.counts.opens).sum();
    assert_eq!(
        opens + others.counts.opens,
        field(&seen.done, "opens").whole().unwrap()
    );
    let opened = field(&seen.done, "files_opened");
    match mechanism {
        // It may have missed some.
        Mechanism::Preload => assert!(opened.whole() >= Some(3000)),
        _ => assert!(matches!(opened, Field::Present(it) if it.method == Method::Exact)),
    }
    let sums = &seen.report().file_systems;
    let written: u64 = sums.iter().map(|it| it.counts.bytes_written.0).sum();
    assert_eq!(written, 3000 * 100);
    assert!(sums.iter().map(|it| it.files).sum::<u64>() >= 3000);
}

/// What a shell and its children did, pipes included, adds up to what the kernel counted in all.
#[test]
fn bpf_the_sum_over_files_is_what_the_kernel_counted() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--level", "io"]);
        let data = run.path("data");
        std::fs::write(&data, vec![7; 3 << 20]).unwrap();
        let script = format!(
            "cat {0} | tr a b | wc -c; for i in 1 2 3; do head -c 1000 {0} > {0}.$i; done; exit 0",
            data.display()
        );
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        let text = std::fs::read_to_string(done.path("r.files.jsonl")).unwrap();
        // The last line may be that of the others, which has pages of programs only.
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|it| serde_json::from_str(it).unwrap())
            .collect();
        let sum = |name: &str| -> u64 { lines.iter().filter_map(|line| line[name].as_u64()).sum() };
        assert_eq!(
            sum("bytes_written"),
            field(&done, "bytes_written").whole().unwrap()
        );
        // Of reads the kernel also counts its own, of programs at their exec.
        let calls = sum("writes");
        assert_eq!(calls, field(&done, "writes").whole().unwrap());
    });
}

/// A task goes on after its command: what it did up to the report is in there.
#[test]
fn bpf_a_survivor_is_read_while_it_lives() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--level", "io"]);
        let data = run.path("data");
        let script = format!(
            "(exec 3>{0}; echo hello >&3; echo >{0}.ready; exec sleep 20) & \
             while [ ! -s {0}.ready ]; do sleep 0.01; done; exit 0",
            data.display()
        );
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        let text = std::fs::read_to_string(done.path("r.files.jsonl")).unwrap();
        let lines = text
            .lines()
            .filter_map(|it| serde_json::from_str::<FileLine>(it).ok());
        let path = data.canonicalize().unwrap();
        let written: u64 = lines
            .filter(|line| line.path == path.to_str().unwrap())
            .map(|line| line.counts.bytes_written.0)
            .sum();
        assert_eq!(written, 6);
    });
}

/// Sizes that a living thread gave up are with the others.
#[test]
fn bpf_sizes_of_a_survivor() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--level", "io"]);
        let data = run.path("data");
        let script = format!(
            "(exec 3>{0}; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf %${{i}}s >&3; done; \
             echo >{0}.ready; exec sleep 20) & \
             while [ ! -s {0}.ready ]; do sleep 0.01; done; exit 0",
            data.display()
        );
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        let text = std::fs::read_to_string(done.path("r.files.jsonl")).unwrap();
        let mut lines = text
            .lines()
            .filter_map(|it| serde_json::from_str::<FileLine>(it).ok());
        let path = data.canonicalize().unwrap();
        let line = lines.find(|line| line.path == path.to_str().unwrap());
        let line = line.unwrap();
        assert!(!line.sizes_exact, "{line:#?}");
        let classes: Vec<_> = line.size_classes.iter().map(|it| it.writes).collect();
        assert_eq!(classes, [1, 2, 4, 5], "{line:#?}");
    });
}

/// Without programs in the kernel a library counts; what else cannot is told before the start.
#[test]
fn level_io_is_for_any_user() {
    let done = Run::plain(&["--level", "io"], words!["/bin/true"]).finish();
    done.expect_status(0);
    let by = match Mechanism::Bpf.missing() {
        Some(_) => "level io by preload+",
        None => "level io by bpf",
    };
    assert!(done.stderr.contains(by), "{}", done.stderr);
    let done = Run::plain(
        &["--level", "io", "--mechanism", "procfs"],
        words!["/bin/true"],
    );
    let done = done.finish();
    done.expect_status(125);
    assert!(
        done.stderr
            .contains("its mechanisms are bpf, agent, preload and ptrace"),
        "{}",
        done.stderr
    );
}

/// What goes through an io_uring is in no counter of the kernel's, but by file it is.
#[test]
fn bpf_what_goes_through_an_io_uring_is_counted() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--level", "io"]);
        let (data, out) = (run.path("data"), run.path("out"));
        std::fs::write(&data, vec![7; 1 << 20]).unwrap();
        let done = run
            .command(words![program("uring"), &data, "0", &out])
            .finish();
        if done.status == SKIP {
            skip!("io_uring is not to be had here");
        }
        done.expect_status(0);
        let text = std::fs::read_to_string(done.path("r.files.jsonl")).unwrap();
        let lines: Vec<FileLine> = text
            .lines()
            .filter_map(|it| serde_json::from_str(it).ok())
            .collect();
        let line_of = |path: &std::path::Path| {
            let path = path.canonicalize().unwrap();
            let mut of = lines
                .iter()
                .filter(|line| line.path == path.to_str().unwrap());
            let line = of.next().unwrap_or_else(|| panic!("{path:?}: {lines:#?}"));
            assert!(of.next().is_none(), "{path:?}: {lines:#?}");
            line
        };
        // 16 whole blocks, one read that finds the end, and what went to the pipe.
        counts(line_of(&data), [1, 0, 18, (1 << 20) + 1000, 0, 0]);
        let written = line_of(&out);
        counts(written, [1, 0, 0, 0, 4, 16 << 10]);
        assert!(
            written.flags.created && written.flags.appended,
            "{written:?}"
        );
    });
}
