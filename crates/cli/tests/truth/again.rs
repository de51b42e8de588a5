//! Level io: what comes after another of its kind is not taken for it, against what the workload
//! did by construction.

use crate::files::{Seen, watch};
use crate::harness::each_io_mechanism;
use crate::harness::mechanism::Mechanism;
use record::file::{FileKind, FileLine};
use record::socket::SocketLine;

each_io_mechanism!("again": datagrams, pipes, counters, moved, folders, links);

fn seen(mechanism: Mechanism, name: &str, part: &str) -> Seen {
    watch(mechanism, name, part, &[])
}

impl Seen {
    fn all(&self, kind: FileKind) -> Vec<&FileLine> {
        let of_kind = |line: &&FileLine| line.kind == kind;
        self.lines.iter().filter(of_kind).collect()
    }
}

fn datagrams(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "datagrams");
    let text = std::fs::read_to_string(seen.done.path("r.sockets.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<SocketLine> = lines.collect();
    // Who traces does not learn of their ends.
    if mechanism != Mechanism::Ptrace {
        let mut peers: Vec<_> = lines.iter().filter_map(|line| line.peer.clone()).collect();
        peers.sort();
        let ports = 40_000..40_030;
        let expected: Vec<_> = ports.map(|port| format!("127.0.0.1:{port}")).collect();
        assert_eq!(peers, expected, "{}", seen.done.context());
    }
    assert_eq!(lines.len(), 30);
    for line in &lines {
        assert_eq!((line.counts.writes, line.counts.bytes_written.0), (1, 10));
        assert_eq!(line.counts.closes, 1);
    }
}

fn pipes(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "pipes");
    let through = |line: &&&FileLine| line.counts.bytes_read.0 == 10;
    let pipes = seen.all(FileKind::Pipe);
    assert_eq!(pipes.iter().filter(through).count(), 30, "{pipes:#?}");
    for pipe in pipes.iter().filter(through) {
        assert_eq!(pipe.counts.bytes_written.0, 10);
        assert_eq!(
            (pipe.counts.reads, pipe.counts.writes, pipe.counts.closes),
            (1, 1, 2)
        );
    }
}

fn counters(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "counters");
    let calls = |path: &str| {
        let lines = seen.lines.iter().filter(|line| line.path == path);
        let counts: Vec<_> = lines
            .map(|line| (line.counts.reads, line.counts.writes))
            .collect();
        counts
    };
    assert_eq!(calls("anon_inode:[eventfd]"), [(5, 5)], "{:#?}", seen.lines);
    assert_eq!(calls("anon_inode:[timerfd]"), [(3, 0)]);
    let closes = |path: &str| {
        let lines = seen.lines.iter().filter(|line| line.path == path);
        lines.map(|line| line.counts.closes).collect::<Vec<_>>()
    };
    assert_eq!(closes("anon_inode:[pidfd]"), [1], "{:#?}", seen.lines);
    if seen.done.stdout.contains("no O_TMPFILE") {
        return;
    }
    let unnamed = seen.folder.join("#");
    let unnamed = unnamed.to_str().unwrap();
    let unnamed = seen
        .lines
        .iter()
        .filter(|line| line.path.starts_with(unnamed));
    let unnamed: Vec<_> = unnamed
        .map(|line| (line.flags.created, line.counts.writes))
        .collect();
    assert_eq!(unnamed, [(true, 1)], "{:#?}", seen.lines);
}

fn moved(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "moved");
    let counts = |name: &str| {
        let counts = seen.of(name).counts;
        (counts.opens, counts.bytes_read.0, counts.bytes_written.0)
    };
    assert_eq!(counts("stage/deep/a"), (1, 0, 10));
    assert_eq!(counts("final/deep/a"), (1, 10, 0));
    assert_eq!(counts("final/deep/b"), (1, 0, 10));
    assert!(
        !seen
            .lines
            .iter()
            .any(|line| line.path.ends_with("stage/deep/b"))
    );
}

fn folders(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "folders");
    for job in 0..20 {
        let line = seen.of(&format!("job{job}/tmp/out"));
        assert_eq!((line.counts.opens, line.counts.bytes_written.0), (1, 10));
        assert!(
            line.removed == Some(true) && line.flags.created,
            "{line:#?}"
        );
    }
}

fn links(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "links");
    let counts = |name: &str| {
        let counts = seen.of(name).counts;
        (counts.opens, counts.bytes_read.0, counts.bytes_written.0)
    };
    assert_eq!(counts("one/name"), (1, 0, 10));
    assert_eq!(counts("two/name"), (2, 20, 0));
}

/// What a file was before the first write of a program that found it open.
mod inherited {
    use super::seen;
    use crate::harness::mechanism::{Mechanism, with};
    use record::unit::Bytes;

    fn check(mechanism: Mechanism, name: &str) {
        let seen = seen(mechanism, name, "inherited");
        let line = seen
            .lines
            .iter()
            .find(|line| line.path.ends_with("/stdout"));
        let sizes = line.map(|line| (line.size_before_bytes, line.size_after_bytes));
        assert_eq!(
            sizes,
            Some((Some(Bytes(0)), Some(Bytes(5)))),
            "{:#?}",
            seen.lines
        );
    }

    #[test]
    fn bpf() {
        with(Mechanism::Bpf, |it| check(it, "again"));
    }

    #[test]
    fn ptrace() {
        with(Mechanism::Ptrace, |it| check(it, "again"));
    }
}
