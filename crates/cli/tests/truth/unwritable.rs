//! A stderr that takes nothing: the task runs and ends as it would anywhere.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::{skip, words};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

/// Where a stderr that takes nothing leads, for a shell.
const NOWHERE: &[&str] = &["2>/dev/full", "2>&-"];

/// `run` with this redirection around all of it.
fn redirected(run: Run, redirection: &str) -> Done {
    let script = format!("exec \"$@\" {redirection}");
    run.wrapped(words!["/bin/sh", "-c", script, "sh"]).finish()
}

#[test]
fn the_exit_status_is_the_tasks() {
    let options: &[&[&str]] = &[
        &[],
        &["--format", "json"],
        &["-q", "--append", "/dev/full"],
        &["--format", "json=/dev/full"],
    ];
    for nowhere in NOWHERE {
        for options in options {
            let command = words!["/bin/sh", "-c", "echo out; exit 3"];
            let done = redirected(Run::plain(options, command), nowhere);
            done.expect_status(3);
            assert_eq!(done.stdout, "out\n", "{nowhere}: {}", done.context());
        }
    }
}

#[test]
fn a_refusal_keeps_its_status() {
    for nowhere in NOWHERE {
        let limit = Run::plain(&["--limit", "foo=1"], words!["/bin/true"]);
        redirected(limit, nowhere).expect_status(125);
        let missing = Run::plain(&[], words!["/nonexistent/command"]);
        redirected(missing, nowhere).expect_status(127);
        let word = Run::bare(words![plimsoll(), "doctor", "--nonsense"]);
        redirected(word, nowhere).expect_status(2);
        let compat = Run::bare(words![plimsoll(), "compat", "time", "--nonsense"]);
        assert_ne!(redirected(compat, nowhere).status, 134);
    }
}

/// Its reader is gone.
#[test]
fn a_pipe_without_a_reader() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(plimsoll())
        .args(["run", "--", "/bin/sh", "-c", "exit 3"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3), "{status:?}");
}

#[test]
fn a_terminal_that_went_away() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let no_ctty = OFlags::NOCTTY.bits().cast_signed();
    let mut open = OpenOptions::new();
    let slave: File = open.write(true).custom_flags(no_ctty).open(name).unwrap();
    drop(master);
    let status = Command::new(plimsoll())
        .args(["run", "--", "/bin/sh", "-c", "exit 3"])
        .stderr(slave)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(3), "{status:?}");
}

/// The front has to say that nobody watches, and cannot: the task's status stands all the same.
#[test]
fn a_monitor_that_was_killed() {
    let run = Run::watched(Mechanism::Default, Vec::new()).options(["--on-monitor-death=leave"]);
    let (script, file) = ("exec \"$@\" 2>/dev/full", run.path("pid"));
    let task = "echo $$ >\"$0\"; echo ready >>\"$0\"; read word; exit 3";
    let (reader, writer) = std::io::pipe().unwrap();
    let mut running = run
        .input(reader)
        .wrapped(words!["/bin/sh", "-c", script, "sh"])
        .command(words!["/bin/sh", "-c", task, file])
        .start();
    let task = running.wait_for_pids(&file)[0];
    let ours = process::between(running.pid(), task);
    process::send(ours[0], process::Signal::KILL);
    process::wait_until("the front has adopted the launcher", || {
        process::parent(ours[1]) == Some(running.pid())
    });
    drop(writer);
    running.finish().expect_status(3);
}

/// Log and report on one disk that is full when the running state is due, ten seconds after the
/// start.
#[test]
fn root_a_full_disk_under_the_log_and_the_running_state() {
    if !process::is_root() {
        skip!("only root mounts");
    }
    let mount = "mkdir disk && mount -t tmpfs -o size=64k none disk && cd disk && \
                 cp \"$1\" full.sh || exit 99; \
                 \"$0\" run --output r -- /bin/sh full.sh 2>log; status=$?; \
                 ls -A | grep running; cat log >&2; exit $status";
    let task = "cat /dev/zero >fill 2>log.fill; echo full; sleep 12; echo on; exit 3\n";
    let run = Run::bare(Vec::new());
    let script = run.path("full.sh");
    std::fs::write(&script, task).unwrap();
    let words = words!["/bin/sh", "-c", mount, plimsoll(), script];
    let done = run.command(words).wrapped(words!["unshare", "-m"]).finish();
    if matches!(done.status, 1 | 99) {
        skip!("no file system can be mounted: {}", done.stderr);
    }
    done.expect_status(3);
    assert_eq!(done.stdout, "full\non\n", "{}", done.context());
}
