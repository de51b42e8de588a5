//! The library in programs that do what it must follow to go on counting, or must own up to.

use crate::files::{Seen, at_level_io, counts, seen_of, watch};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::is_root;
use crate::harness::run::{Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::file::FileLine;
use std::fs::File;
use std::path::Path;
use std::process::Command;

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

/// Other C libraries complain of what they cannot load: its name is taken from them, and so from
/// their children.
#[test]
fn preload_says_that_children_of_other_c_libraries_are_not_seen() {
    let run = at_level_io(Mechanism::Preload);
    let (source, musl) = (program("nothing").with_extension("c"), run.path("musl"));
    let made = Command::new("musl-gcc")
        .arg("-w")
        .arg("-o")
        .args([&musl, &source])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip!("no musl-gcc");
    }
    let done = run.command(words![musl]).finish();
    let notes = done.report().monitor.notes.join("\n");
    let wanted = "no file is seen, nor those of the programs that it starts";
    assert!(notes.contains(wanted), "{notes}");
}

/// A file that is met first by a write was looked at before it.
#[test]
fn preload_the_size_before_the_first_write() {
    let run = at_level_io(Mechanism::Preload);
    let path = run.path("appended");
    std::fs::write(&path, vec![0; 1000]).unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    let script = "head -c 500 /dev/zero >&0";
    let run = run.command(words!["/bin/sh", "-c", script]).input(file);
    let folder = run.folder().canonicalize().unwrap();
    let seen = seen_of(run.finish(), folder);
    let line = seen.of("appended");
    assert_eq!(line.size_before_bytes.unwrap().0, 1000, "{line:#?}");
    assert_eq!(line.size_after_bytes.unwrap().0, 1500, "{line:#?}");
}

/// A process has room for some 32 000 files: those that find none are one sum, each of them once.
#[test]
fn preload_more_files_than_a_process_has_room_for() {
    let seen = watch(
        Mechanism::Preload,
        "calls",
        "crowd",
        &["--max-files", "100000"],
    );
    let others = seen.others.as_ref().expect("a line of the others");
    let inside = |line: &&FileLine| Path::new(&line.path).starts_with(&seen.folder);
    let lines: Vec<_> = seen.lines.iter().filter(inside).collect();
    assert!(lines.len() > 30_000 && lines.len() < 40_000);
    let left = 40_000 - lines.len() as u64;
    assert!((left..left + 10).contains(&others.files), "{others:#?}");
    assert_eq!(others.counts.opens, left);
    assert_eq!(others.counts.closes, left);
    assert_eq!(others.counts.writes, left);
    assert_eq!(others.counts.bytes_written.0, left * 10);
}

/// Behind a filter of system calls nothing is looked up: what is used from then on is counted, and
/// not told by file.
#[test]
fn preload_behind_a_filter_of_system_calls() {
    let seen = shell("exec \"$0\" . filtered");
    assert_eq!(seen.of("ai").counts.writes, 2);
    let others = seen.others.as_ref().expect("a line of the others");
    assert!(others.files >= 1, "{others:#?}");
    assert_eq!((others.counts.opens, others.counts.bytes_written.0), (1, 7));
    let notes = notes(&seen);
    assert!(notes.contains("behind a filter of system calls"), "{notes}");
}

/// Where the path that names the library does not lead to it, the dynamic linker of a program would
/// complain of it on the task's stderr.
#[test]
fn preload_is_left_out_where_its_path_leads_elsewhere() {
    if !is_root() {
        skip!("only root may be another user, or in another pid namespace");
    }
    // Who has no new privileges and becomes another user may not follow it.
    let becomes = words![
        "setpriv",
        "--no-new-privs",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "/bin/echo",
        "hi"
    ];
    let done = at_level_io(Mechanism::Preload).command(becomes).finish();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("hi\n", ""));
    // The /proc of another pid namespace has other processes.
    let run = at_level_io(Mechanism::Preload);
    let prefix = run.path("inner");
    let inside = Command::new("unshare")
        .arg("-pf")
        .arg(plimsoll())
        .args(["run", "--level", "io", "--mechanism", "preload", "--output"])
        .arg(&prefix)
        .args(["--", "/bin/echo", "hi"])
        .output();
    let Ok(inside) = inside.inspect_err(|error| println!("unshare: {error}")) else {
        skip!("no unshare here");
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        (text(&inside.stdout), text(&inside.stderr)),
        ("hi\n".to_owned(), String::new())
    );
    let report = std::fs::read_to_string(prefix.with_extension("json")).unwrap();
    assert!(report.contains("/proc does not lead to it"), "{report}");
}

/// Where a program runs within another one, what the kernel knows is that other's: none of it is
/// believed.
#[test]
fn preload_within_valgrind() {
    // It is a static program, which loads the other one by itself.
    let seen = within(&["valgrind", "-q", "--trace-children=yes"]);
    if let Some(seen) = seen {
        let notes = seen.done.report().monitor.notes.join("\n");
        assert!(notes.contains("without the library"), "{notes}");
    }
}

/// Likewise of one that follows paths in place of the kernel.
#[test]
fn preload_within_proot() {
    if let Some(seen) = within(&["proot"]) {
        counts(seen.of("a"), [2, 2, 22, 10_847, 1, 10_000]);
    }
}

/// What was seen of a shell that a tool runs within itself; it does as it does without us.
fn within(tool: &[&str]) -> Option<Seen> {
    let [name, options @ ..] = tool else {
        panic!("no tool");
    };
    let found = Command::new(name).arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: no {name} here");
        return None;
    }
    let command = |folder: &Path| {
        let script = "cd \"$1\" && echo a | cat && \"$0\" . reads && \"$0\" . streams; exit 5";
        let mut words = words![*name];
        words.extend(options.iter().map(Into::into));
        words.extend(words!["/bin/sh", "-c", script, program("calls"), folder]);
        words
    };
    let bare = Run::bare(Vec::new());
    let words = command(&bare.folder().canonicalize().unwrap());
    let bare = bare.command(words).finish();
    if bare.status != 5 {
        println!("skipped: {name} does not work here: {}", bare.context());
        return None;
    }
    let run = at_level_io(Mechanism::Preload);
    let folder = run.folder().canonicalize().unwrap();
    let words = command(&folder);
    let seen = seen_of(run.command(words).finish(), folder);
    seen.done.expect_status(bare.status);
    assert_eq!(seen.done.stdout, bare.stdout);
    assert_eq!(seen.done.stderr, bare.stderr);
    Some(seen)
}

/// What the dynamic linker shows instead of running a program is what it shows without us.
#[test]
fn preload_is_not_shown_by_ldd() {
    let script = "ldd /bin/sh | sed 's/ (0x.*//'; LD_TRACE_LOADED_OBJECTS=1 env -i true; exit 3";
    let command = words!["/bin/sh", "-c", script];
    let bare = Run::bare(command.clone()).finish();
    if !bare.stdout.contains("libc.so") {
        skip!("no ldd here: {}", bare.context());
    }
    let watched = Run::watched(Mechanism::Preload, command).finish();
    watched.expect_status(3);
    let lines = |text: &str| {
        let names = text.lines().map(|it| it.split(" (0x").next());
        names.map(|it| it.map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(lines(&watched.stdout), lines(&bare.stdout));
}

/// What the C library opens in the child of a `posix_spawn` came to be there.
#[test]
fn preload_files_that_a_spawned_program_was_given() {
    let run = at_level_io(Mechanism::Preload);
    let folder = run.path("data");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    for name in ["old", "kept"] {
        std::fs::write(folder.join(name), "text").unwrap();
    }
    let prints = words![program("spawned"), folder, "/bin/pwd"];
    let seen = seen_of(run.command(prints).finish(), folder);
    seen.done.expect_status(0);
    let created = |name: &str| seen.of(name).flags.created;
    assert_eq!(["new", "old", "kept"].map(created), [true, false, false]);
    assert_eq!(seen.of("new").counts.writes, 1);
}
