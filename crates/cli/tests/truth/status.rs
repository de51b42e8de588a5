//! Exit statuses: the task's own; 127, 126 and 125 when there was no task.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::Run;
use crate::harness::{each_mechanism, executable, skip, words};
use record::report::ExitType;
use std::ffi::OsString;
use std::fs;

each_mechanism!(
    the_status_is_the_tasks_own,
    a_task_that_dies_of_a_signal_is_128_and_it,
    a_command_that_is_not_there_is_127,
    what_cannot_be_executed_is_126,
    a_script_without_interpreter_line_runs_or_is_126,
);

fn the_status_is_the_tasks_own(mechanism: Mechanism) {
    for status in [0, 1, 3, 77, 125, 126, 127, 137, 255] {
        let command = words!["/bin/sh", "-c", format!("exit {status}")];
        let done = Run::watched(mechanism, command).finish();
        done.expect_status(status);
        let exit = &done.report().exit;
        assert_eq!(exit.kind, ExitType::Normal, "{}", done.context());
        assert_eq!(
            (exit.code, exit.status, exit.signal),
            (Some(status), Some(status), None)
        );
    }
}

fn a_task_that_dies_of_a_signal_is_128_and_it(mechanism: Mechanism) {
    for signal in [6, 9, 11, 13, 15] {
        let command = words!["/bin/sh", "-c", format!("kill -{signal} $$")];
        let done = Run::watched(mechanism, command).finish();
        done.expect_status(128 + signal);
        let exit = &done.report().exit;
        assert_eq!(exit.kind, ExitType::Signal, "{}", done.context());
        assert_eq!((exit.code, exit.signal), (None, Some(signal)));
        assert_eq!(exit.status, Some(128 + signal));
    }
}

fn a_command_that_is_not_there_is_127(mechanism: Mechanism) {
    for name in [
        "no-such-command-anywhere",
        "./no-such-file",
        "/no/such/folder/command",
    ] {
        not_started(mechanism, 127, words![name]);
    }
}

/// Says who could not be started, on stderr and in the report.
#[track_caller]
fn not_started(mechanism: Mechanism, status: i32, command: Vec<OsString>) {
    let name = command[0].to_string_lossy().into_owned();
    let plain = Run::plain(mechanism.options(), command.clone()).finish();
    plain.expect_status(status);
    assert!(plain.stderr.contains(&name), "who? {}", plain.context());
    for quiet in [&["-q"][..], &["-q", "--append", "/dev/null"]] {
        let done = Run::plain(quiet, command.clone()).finish();
        done.expect_status(status);
        assert_eq!(done.stderr.matches(&name).count(), 1, "{}", done.context());
    }
    let done = Run::watched(mechanism, command).finish();
    done.expect_status(status);
    let exit = &done.report().exit;
    assert_eq!(exit.kind, ExitType::NotStarted, "{}", done.context());
    assert_eq!(
        (exit.code, exit.status),
        (None, Some(status)),
        "{}",
        done.context()
    );
}

fn what_cannot_be_executed_is_126(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let plain = run.path("plain");
    fs::write(&plain, "not a program").unwrap();
    for file in [plain.clone(), run.folder().to_owned()] {
        not_started(mechanism, 126, words![file]);
    }
}

/// A file with the x bit but no known format: a shell runs it, exec alone refuses it.
fn a_script_without_interpreter_line_runs_or_is_126(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let script = run.path("script");
    executable::script(&script, "exit 5\n");
    let done = run.command(words![script]).finish();
    assert!(matches!(done.status, 5 | 126), "{}", done.context());
}

/// Options that are wrong end with 125 and a message, and nothing is run.
#[test]
fn nonsense_is_refused_before_the_task_starts() {
    let cases: &[(&[&str], &str)] = &[
        (&["--limit", "memory=4X"], "4GiB"),
        (&["--limit", "wall=soon"], "90s"),
        (&["--limit", "memory=0"], "memory"),
        (
            &["--limit", "wall=99999999999h"],
            "too large: at most 100000d",
        ),
        (&["--limit", "memory=99999999999TiB"], "at most 8000000TiB"),
        (&["--limit", "processes=1.5"], "whole number"),
        (&["--limit", "speed=3"], "speed"),
        (&["--limit", "wall"], "NAME=VALUE"),
        (&["--limit", "wall=1s,wall=2s"], "wall"),
        (&["--limit", "wall=1s", "--limit", "wall=2s"], "wall"),
        (&["--limits", "/no/such/file"], "/no/such/file"),
        (&["--interval", "0"], "interval"),
        (&["--interval", "often"], "interval"),
        (&["--level", "7"], "7"),
        (&["--times"], "--level io"),
        (&["--level", "io", "--mechanism", "procfs"], "bpf"),
        (&["--mechanism", "magic"], "magic"),
        (&["--level", "events", "--mechanism", "procfs"], "procfs"),
        (&["--limit-exit-code", "0"], "0"),
        (&["--limit-exit-code", "256"], "256"),
        (&["--grace", "never"], "grace"),
        (&["--with", "processes"], "output"),
        (&["--no-such-option"], "no-such-option"),
        (&["--on-monitor-death", "cry"], "cry"),
        (&["--attempt", "0"], "0"),
    ];
    for (options, part) in cases {
        let run = Run::plain(options, Vec::new());
        let mark = run.path("mark");
        let done = run.command(words!["/bin/touch", mark]).finish();
        done.expect_status(125);
        assert!(
            done.stderr.contains(part),
            "{options:?}: `{part}` not in: {}",
            done.stderr
        );
        assert!(!mark.exists(), "{options:?}: the task ran");
    }
}

#[test]
fn no_command_and_an_empty_one_are_125() {
    Run::plain(&[], Vec::new()).finish().expect_status(125);
    Run::plain(&[], words![""]).finish().expect_status(125);
}

#[test]
fn limits_from_a_bad_file_are_125() {
    for text in [
        "wall = ",
        "speed = 3",
        "memory = true",
        "{\"wall\": 1",
        "wall = 1\nwall = 2",
    ] {
        let run = Run::plain(&[], words!["true"]);
        let file = run.path("limits");
        fs::write(&file, text).unwrap();
        let run = run.options(words!["--limits", file]);
        run.finish().expect_status(125);
    }
}

/// A mechanism asked for by name and not to be had: 125, and what to do.
#[test]
fn bpf_without_rights_is_125_with_advice() {
    if process::is_root() {
        skip!("root has the rights");
    }
    let done = Run::plain(&["--mechanism", "bpf"], words!["true"]).finish();
    done.expect_status(125);
    assert!(
        done.stderr.contains("root") || done.stderr.contains("CAP_"),
        "{}",
        done.stderr
    );
}

/// Options end at the first word that is none: the task's own options are its own.
#[test]
fn options_behind_the_command_belong_to_it() {
    let command = words!["/bin/echo", "--limit", "nonsense", "--", "--quiet"];
    let done = Run::plain(&["--quiet"], command).finish();
    done.expect_status(0);
    assert_eq!(done.stdout, "--limit nonsense -- --quiet\n");
    let without = Run::bare(words![
        crate::harness::run::plimsoll(),
        "run",
        "-q",
        "echo",
        "-n",
        "x"
    ]);
    assert_eq!(without.finish().expect_status(0).stdout, "x");
}
