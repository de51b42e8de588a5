//! The library in programs that do what it must follow to go on counting, or must own up to.

use crate::files::{Seen, at_level_io, seen_of};
use crate::harness::mechanism::Mechanism;
use crate::harness::run::Run;
use crate::harness::words;
use crate::harness::workload::program;

/// What a shell did in a folder of its own, where `$0` is the workload `calls`.
fn shell(script: &str) -> Seen {
    let run = at_level_io(Mechanism::Preload);
    let folder = run.path("data");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    let script = format!("cd {}; {script}", folder.display());
    let done = run.command(words!["/bin/sh", "-c", script, program("calls")]);
    seen_of(done.finish(), folder)
}

fn notes(seen: &Seen) -> String {
    seen.report().monitor.notes.join("\n")
}

/// Whoever changes or clears the environment has it so, and is counted nevertheless.
#[test]
fn preload_is_put_back_where_the_environment_was_cleared() {
    let seen = shell(
        "append() { \"$@\" . append || exit 1; }
         append env -i \"$0\"
         append env LD_PRELOAD= \"$0\"
         append env LD_PRELOAD=libm.so.6 \"$0\"
         append env -i env -i \"$0\"
         unset LD_PRELOAD
         append \"$0\"
         append env A=1 \"$0\"
         export LD_PRELOAD=libm.so.6
         append \"$0\"",
    );
    let counts = &seen.of("o").counts;
    assert_eq!((counts.opens, counts.writes, counts.closes), (7, 7, 7));
    assert!(!notes(&seen).contains("without the library"));
}

#[test]
fn preload_is_put_back_by_every_way_to_start_a_program() {
    let seen = shell("env -i \"$0\" . execs && env -i \"$0\" . shells");
    let counts = &seen.of("o").counts;
    assert_eq!((counts.opens, counts.writes), (9 + 2, 9 + 2));
}

/// The environment that a program asked for is that which it gets.
#[test]
fn preload_put_back_is_not_to_be_seen() {
    let starts = [
        "env -i",
        "env -i A=1 B=2",
        "env LD_PRELOAD=",
        "env LD_PRELOAD=libm.so.6 B=2",
        "env -i LD_PRELOAD=libm.so.6:libc.so.6 C=3",
        "env -u LD_PRELOAD env A=1",
        "env -i A=1 env",
    ];
    for start in starts {
        let script = format!("{start} \"$0\"");
        let command = words!["/bin/sh", "-c", script, program("facts")];
        let bare = Run::bare(command.clone()).finish();
        let watched = Run::watched(Mechanism::Preload, command).finish();
        let lines = |text: &str| {
            let own = |line: &str| ["PWD=", "_="].iter().any(|it| line.contains(it));
            let lines = text.lines().filter(|it| it.starts_with("env ") && !own(it));
            // Who changes a variable has it in the place that it had.
            let mut lines: Vec<_> = lines.map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&watched.stdout), lines(&bare.stdout), "{start}");
    }
}

/// What a static program clears is not put back; that it ran is said.
#[test]
fn preload_says_which_programs_it_is_not_in() {
    let seen = shell("\"$0.static\" . append; \"$0\" . append");
    assert_eq!(seen.of("o").counts.writes, 1);
    let notes = notes(&seen);
    assert!(
        notes.contains("1 executions were of programs without"),
        "{notes}"
    );
}
