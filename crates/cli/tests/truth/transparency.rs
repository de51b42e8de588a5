//! The task is started as it would be bare: descriptors, signals, ids, limits, terminal, debuggers.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::{SETUID_OWNER, leak, program, setuid_facts};
use crate::harness::{each_mechanism, skip, words};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::Path;

each_mechanism!(
    a_task_sees_what_it_would_see_bare,
    nothing_is_written_into_the_working_directory,
    a_setuid_program_keeps_its_effective_user,
    debuggers_work_inside,
    leak_sanitizer_works_inside,
    a_nested_run_works,
    input_is_passed_untouched,
);

/// Ways to start a program that leave traces in it.
const STARTS: &[&[&str]] = &[
    &[],
    &["nohup"],
    &["nice", "-n", "5"],
    &["taskset", "1"],
    &["env", "-i", "ONLY=this", "PATH=/usr/bin:/bin"],
    &[
        "env",
        "--ignore-signal=PIPE,TTOU,USR1",
        "--block-signal=USR2,ALRM",
    ],
    &[
        "env",
        "--ignore-signal=CHLD",
        "--block-signal=CHLD,TERM,INT",
    ],
    &["env", "--default-signal=PIPE"],
    &[
        "sh",
        "-c",
        "umask 027; ulimit -n 300; ulimit -t 500; exec \"$@\"",
        "sh",
    ],
    &[
        "sh",
        "-c",
        "exec 7</dev/null 9>>/dev/null; exec \"$@\"",
        "sh",
    ],
    &["sh", "-c", "exec \"$@\" <&-", "sh"],
    &["sh", "-c", "exec \"$@\" 2>&-", "sh"],
    &["sh", "-c", "exec \"$@\" <&- 2>&-", "sh"],
    &["sh", "-c", "cd /; exec \"$@\"", "sh"],
    &["setsid", "--wait"],
];

/// What `facts` printed, with what must differ between two runs made the same.
fn facts(done: &Done, traced: bool) -> Vec<String> {
    let folder = done.path("");
    let folder = folder.to_string_lossy();
    let text = done.stdout.replace(folder.trim_end_matches('/'), "FOLDER");
    let keep = |line: &&str| !(traced && line.starts_with("TracerPid:"));
    text.lines().filter(keep).map(str::to_owned).collect()
}

/// Process group and session are numbers that belong to one start when it makes new ones.
fn without_groups(lines: Vec<String>, start: &[&str]) -> Vec<String> {
    let new_session = start.first() == Some(&"setsid");
    lines
        .into_iter()
        .filter(|line| !(new_session && line.starts_with("pgrp ")))
        .collect()
}

fn a_task_sees_what_it_would_see_bare(mechanism: Mechanism) {
    let different: Vec<_> = STARTS
        .iter()
        .filter_map(|start| Some((start, differences(mechanism, start)?)))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    assert!(different.is_empty(), "{different:#?}");
}

/// Lines that only the bare or only the watched task printed; none where `start` is not possible.
fn differences(mechanism: Mechanism, start: &[&str]) -> Option<Vec<String>> {
    let wrapper: Vec<OsString> = start.iter().map(Into::into).collect();
    let run = |run: Run| run.wrapped(wrapper.clone()).finish();
    let bare = run(Run::bare(words![program("facts")]));
    let watched = run(Run::watched(mechanism, words![program("facts")]));
    if bare.status != 0 {
        println!("skipped: {start:?}: {}", bare.stderr);
        return None;
    }
    watched.expect_status(0);
    let traced = mechanism == Mechanism::Ptrace;
    let expected = without_groups(facts(&bare, traced), start);
    let got = without_groups(facts(&watched, traced), start);
    let missing = expected.iter().filter(|line| !got.contains(line));
    let new = got.iter().filter(|line| !expected.contains(line));
    let missing = missing.map(|line| format!("bare: {line}"));
    Some(
        missing
            .chain(new.map(|line| format!("watched: {line}")))
            .collect(),
    )
}

fn nothing_is_written_into_the_working_directory(mechanism: Mechanism) {
    let done = Run::watched(mechanism, words![program("burn"), "50"])
        .options(["--with", "processes,series"])
        .finish();
    done.expect_status(0);
    let left = fs::read_dir(done.path("cwd")).unwrap().count();
    assert_eq!(left, 0, "files in the working directory");
    let mut names: Vec<_> = fs::read_dir(done.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let files = [
        "cwd",
        "r.json",
        "r.processes.jsonl",
        "r.series.csv",
        "stderr",
        "stdout",
    ];
    assert_eq!(names, files);
    assert_eq!(
        done.stderr, "",
        "stderr belongs to the task when the report goes elsewhere"
    );
}

/// Runs bare and watched; both must end and print the same.
#[track_caller]
fn same_as_bare(mechanism: Mechanism, command: Vec<OsString>) -> Done {
    let bare = Run::bare(command.clone()).finish();
    let watched = Run::watched(mechanism, command).finish();
    watched.expect_status(bare.status);
    assert_eq!(watched.stdout, bare.stdout, "{}", watched.context());
    bare
}

/// For the tests as root the task gives up root itself, so that there is a privilege to lose.
fn as_nobody(command: Vec<OsString>) -> Vec<OsString> {
    if !process::is_root() {
        return command;
    }
    let mut all = words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups"
    ];
    all.extend(command);
    all
}

fn a_setuid_program_keeps_its_effective_user(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("ptrace without privilege takes setuid away; it says so");
    }
    let mut tried = 0;
    if let Some(copy) = setuid_facts() {
        let bare = same_as_bare(mechanism, as_nobody(words![copy, "ids"]));
        tried += usize::from(
            bare.stdout
                .contains(&format!(" {SETUID_OWNER} {SETUID_OWNER} gid")),
        );
    }
    if !process::is_root() && Path::new("/usr/bin/passwd").exists() {
        let bare = same_as_bare(mechanism, words!["/usr/bin/passwd", "-S"]);
        tried += usize::from(bare.status == 0);
    }
    if tried == 0 {
        skip!("no setuid program works here");
    }
}

fn debuggers_work_inside(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("a process has one tracer; ptrace says so");
    }
    if Path::new("/usr/bin/strace").exists() {
        let script = "exit 7";
        let command = words!["strace", "-f", "-o", "/dev/null", "/bin/sh", "-c", script];
        let bare = same_as_bare(mechanism, command);
        println!("strace: bare status {}", bare.status);
    }
    if Path::new("/usr/bin/gdb").exists() {
        let batch = ["-q", "-nx", "-batch", "-ex", "run", "-ex", "print 40+2"];
        let mut command = words!["gdb"];
        command.extend(batch.iter().map(OsString::from));
        command.extend(words!["--args", "/bin/sh", "-c", "exit 7"]);
        let watched = Run::watched(mechanism, command.clone()).finish();
        let bare = Run::bare(command).finish();
        watched.expect_status(bare.status);
        let ended = |done: &Done| done.stdout.contains("exited with code 07");
        assert_eq!(ended(&watched), ended(&bare), "{}", watched.context());
    }
}

fn leak_sanitizer_works_inside(mechanism: Mechanism) {
    if !mechanism.is_transparent() {
        skip!("LeakSanitizer does not work under ptrace");
    }
    let Some(program) = leak() else {
        skip!("gcc has no AddressSanitizer here");
    };
    for (word, status) in [("clean", 0), ("leak", 23)] {
        let bare = same_as_bare(mechanism, words![program, word]);
        if bare.status != status {
            println!(
                "skipped: bare status {} where {status} was meant",
                bare.status
            );
        }
    }
}

fn a_nested_run_works(mechanism: Mechanism) {
    if mechanism == Mechanism::Ptrace {
        skip!("a process has one tracer; the inner run does without");
    }
    let run = Run::watched(mechanism, Vec::new());
    let inner = run.path("inner");
    let command = words![
        plimsoll(),
        "run",
        "--output",
        inner,
        "--",
        "/bin/sh",
        "-c",
        "/bin/true; exit 7",
    ];
    let done = run.command(command).finish();
    done.expect_status(7);
    let text = fs::read_to_string(done.path("inner.json")).unwrap();
    let report: record::report::Report = serde_json::from_str(&text).unwrap();
    assert_eq!(report.exit.code, Some(7), "{text}");
}

fn input_is_passed_untouched(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new());
    let data = run.path("data");
    let text = "line of input\n".repeat(20_000);
    fs::write(&data, &text).unwrap();
    let done = run
        .command(words!["cat"])
        .input(File::open(&data).unwrap())
        .finish();
    done.expect_status(0);
    assert_eq!(done.stdout.len(), text.len());
    assert_eq!(done.stdout, text);
}

/// Nobody but the task reads its input: what it leaves is there for the next.
#[test]
fn what_the_task_does_not_read_is_left() {
    let run = Run::bare(Vec::new());
    let data = run.path("data");
    fs::write(&data, "ab\ncd\n").unwrap();
    let script = "\"$0\" run -q -- dd bs=3 count=1 status=none; echo; cat";
    let done = run
        .command(words!["/bin/sh", "-c", script, plimsoll()])
        .input(File::open(&data).unwrap())
        .finish();
    assert_eq!(done.stdout, "ab\n\ncd\n", "{}", done.context());
}

/// A reader downstream sees the end of the pipe when the task ends, not when someone forgets it.
#[test]
fn a_pipe_ends_with_the_task() {
    let script = "\"$0\" run -q -- /bin/echo x | { cat; echo end; }";
    let done = Run::bare(words!["/bin/sh", "-c", script, plimsoll()]).finish();
    assert_eq!(done.stdout, "x\nend\n", "{}", done.context());
}

/// Descriptors 3 and up are the task's; a process of ours that kept one would hold a pipe open.
#[test]
fn no_process_of_ours_keeps_an_inherited_pipe_open() {
    let script = "exec 3>&1; { \"$0\" run -q -- /bin/sh -c 'exec 3>&- >&- ; exec sleep 1' | \
                  { cat; echo end; } ; } 3>&-; echo status $?";
    let done = Run::bare(words!["/bin/sh", "-c", script, plimsoll()]).finish();
    assert_eq!(done.stdout, "end\nstatus 0\n", "{}", done.context());
}
