//! Level io: what goes by POSIX aio.

use crate::files::{Seen, counts, watch};
use crate::harness::each_io_mechanism;
use crate::harness::mechanism::Mechanism;

each_io_mechanism!("aio": asked);

fn asked(mechanism: Mechanism, name: &str) {
    let seen = watch(mechanism, name, "asked", &[]);
    counts(seen.of("a"), [1, 1, 4, 1050, 4, 3100]);
    assert_eq!(notes_of_aio(&seen), Vec::<&str>::new());
}

/// What a request moved is told to who asks for it: of others the library says how many they are.
#[test]
fn preload_says_of_how_many_requests_nobody_asked() {
    let seen = watch(Mechanism::Preload, "aio", "unasked", &[]);
    counts(seen.of("a"), [1, 1, 0, 0, 0, 0]);
    let [note] = notes_of_aio(&seen)[..] else {
        panic!("{}", seen.done.context());
    };
    assert!(note.starts_with("1 requests of POSIX aio"), "{note}");
}

fn notes_of_aio(seen: &Seen) -> Vec<&str> {
    let notes = seen.report().monitor.notes.iter().map(String::as_str);
    notes.filter(|note| note.contains("POSIX aio")).collect()
}
