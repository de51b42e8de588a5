//! Level io: calls that a program makes by their number, `syscall(2)`.

use crate::files::{SKIP, Seen, counts, watch};
use crate::harness::mechanism::Mechanism;
use crate::harness::{each_io_mechanism, skip};
use record::file::FileKind;

each_io_mechanism!("numbers": vectors, copies, shared, names, messages);

fn seen(mechanism: Mechanism, name: &str, part: &str) -> Seen {
    let seen = watch(mechanism, name, part, &[]);
    if seen.done.status != SKIP {
        seen.report();
    }
    seen
}

fn vectors(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "vectors");
    if seen.done.status == SKIP {
        skip!("no openat2 here");
    }
    let line = seen.of("a");
    counts(line, [1, 2, 2, 27, 2, 27]);
    let flags = &line.flags;
    assert!(
        flags.created && flags.truncated && !flags.mapped,
        "{line:#?}"
    );
}

fn copies(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "copies");
    counts(seen.of("from"), [1, 0, 3, 9000, 1, 10_000]);
    counts(seen.of("to"), [1, 0, 0, 0, 3, 9000]);
    assert!(seen.of("from").flags.mapped && !seen.of("to").flags.mapped);
    let pipes = seen.lines.iter().filter(|it| it.kind == FileKind::Pipe);
    let moved: Vec<_> = pipes
        .map(|it| (it.counts.bytes_read.0, it.counts.bytes_written.0))
        .filter(|moved| *moved != (0, 0))
        .collect();
    let told = moved.contains(&(2000, 1000)) && moved.contains(&(0, 1000));
    assert!(told, "{moved:?}");
}

fn shared(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "shared");
    for (name, bytes) in [("b", 10), ("c", 5), ("d", 3)] {
        counts(seen.of(name), [1, 0, 0, 0, 1, bytes]);
    }
}

fn names(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "names");
    assert_eq!(seen.of("gone").removed, Some(true));
    assert_eq!(seen.of("folder").removed, Some(true));
    let there = seen.folder.join("there").to_str().unwrap().to_owned();
    assert_eq!(seen.of("moved").renamed_to, Some(there));
    assert!(seen.of("cut").flags.truncated);
}

fn messages(mechanism: Mechanism, name: &str) {
    let seen = seen(mechanism, name, "messages");
    let sockets = seen.lines.iter().filter(|it| it.kind == FileKind::Socket);
    let mut moved: Vec<_> = sockets
        .map(|it| &it.counts)
        .map(|it| [it.reads, it.bytes_read.0, it.writes, it.bytes_written.0])
        .collect();
    moved.sort();
    assert_eq!(moved, [[0, 0, 4, 600], [4, 600, 0, 0]]);
}
