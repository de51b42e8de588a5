//! Signals sent to `plimsoll run` by other processes: passed on once, then the tree ends.

use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::Run;
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::report::ExitType;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

each_mechanism!(
    a_signal_is_passed_on_once,
    sigterm_ends_the_whole_tree,
    a_deaf_task_is_killed_after_the_grace,
    the_status_after_sigterm_is_the_tasks_own,
    a_stopped_task_is_ended_on_request,
    continuing_plimsoll_continues_the_task,
    what_the_task_sends_to_its_own_group_ends_nothing,
);

/// A shell that minds no signal sends one to its group, and so to Plimsoll: bare it goes on.
fn what_the_task_sends_to_its_own_group_ends_nothing(mechanism: Mechanism) {
    for signal in ["INT", "TERM", "HUP"] {
        let script = format!("trap '' {signal}; kill -{signal} 0; sleep 1; exit 5");
        let command = words!["setsid", "--wait"];
        let done = Run::watched(mechanism, words!["/bin/sh", "-c", script])
            .options(["--grace", "200ms"])
            .wrapped(command)
            .finish();
        done.expect_status(5);
        assert_eq!(done.report().exit.kind, ExitType::Normal, "{signal}");
    }
}

fn a_signal_is_passed_on_once(mechanism: Mechanism) {
    for (signal, name, totals) in [
        (Signal::INT, "INT", "total 1 0 0 0 0 0"),
        (Signal::TERM, "TERM", "total 0 1 0 0 0 0"),
        (Signal::HUP, "HUP", "total 0 0 1 0 0 0"),
        (Signal::QUIT, "QUIT", "total 0 0 0 1 0 0"),
    ] {
        let mut running = Run::watched(mechanism, words![program("counter")])
            .options(["--grace", "60s"])
            .input(Stdio::piped())
            .start();
        running.wait_for("ready");
        running.send(signal);
        running.wait_for(&format!("got {name} 1"));
        running.end_input();
        let done = running.finish();
        done.expect_status(3);
        assert!(done.stdout.contains(totals), "{name}: {}", done.stdout);
        assert_eq!(
            done.report().exit.kind,
            ExitType::Normal,
            "{}",
            done.context()
        );
    }
}

fn sigterm_ends_the_whole_tree(mechanism: Mechanism) {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let run = Run::watched(mechanism, Vec::new()).options(["--grace", "300ms"]);
        let file = run.path("pids");
        let mut running = run.command(words![program("stubborn"), file]).start();
        let pids = running.wait_for_pids(&file);
        running.send(signal);
        let done = running.finish();
        let alive: Vec<_> = pids.iter().filter(|pid| process::is_alive(**pid)).collect();
        process::wait_until_dead(&pids);
        assert!(
            alive.is_empty(),
            "{signal:?}: alive when plimsoll had ended: {alive:?}"
        );
        done.expect_status(128 + signal.as_raw());
        let exit = &done.report().exit;
        assert_eq!(exit.kind, ExitType::Signal, "{}", done.context());
        assert_eq!(exit.signal, Some(signal.as_raw()));
    }
}

fn a_deaf_task_is_killed_after_the_grace(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new()).options(["--grace", "300ms"]);
    let file = run.path("pids");
    let mut running = run
        .command(words![program("stubborn"), file, "main"])
        .start();
    let pids = running.wait_for_pids(&file);
    running.send(Signal::TERM);
    let done = running.finish();
    process::wait_until_dead(&pids);
    done.expect_status(128 + 9);
}

/// The process that the request reaches is stopped with the command.
fn a_stopped_task_is_ended_on_request(mechanism: Mechanism) {
    let script = "kill -STOP $$; exit 9";
    let running = Run::watched(mechanism, words!["/bin/sh", "-c", script])
        .options(["--grace", "200ms"])
        .start();
    process::wait_until("it is stopped", || {
        process::state(running.pid()) == Some('T')
    });
    running.send(Signal::TERM);
    let done = running.finish();
    done.expect_status(128 + 9);
    let exit = &done.report().exit;
    let told = exit.cause.as_deref().unwrap_or_default();
    assert!(told.contains("SIGTERM was sent to plimsoll"), "{told}");
}

/// As bare, where there is one process to continue.
fn continuing_plimsoll_continues_the_task(mechanism: Mechanism) {
    let script = "kill -STOP $$; exit 9";
    let running = Run::watched(mechanism, words!["/bin/sh", "-c", script]).start();
    process::wait_until("it is stopped", || {
        process::state(running.pid()) == Some('T')
    });
    running.send(Signal::CONT);
    let done = running.finish();
    done.expect_status(9);
}

/// What was stopped by the group, the monitor with it, is continued by the pid that is known.
#[test]
fn a_group_that_was_stopped_is_continued_by_plimsoll_alone() {
    // It leads a group of its own then, which is not that of the tests.
    let script = "echo ready; read line; exit 9";
    let mut running = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", script])
        .wrapped(words!["setsid"])
        .input(Stdio::piped())
        .start();
    running.wait_for("ready");
    let group = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
    rustix::process::kill_process_group(group, Signal::STOP).unwrap();
    process::wait_until("it is stopped", || {
        process::state(running.pid()) == Some('T')
    });
    running.send(Signal::CONT);
    running.end_input();
    running.finish().expect_status(9);
}

/// A front that is slow to read what waits for it is continued again and again: it alone.
#[test]
fn what_continues_the_front_continues_nobody_else() {
    if !Path::new("/usr/bin/strace").exists() {
        skip!("no strace");
    }
    let running = Run::watched(
        Mechanism::Default,
        words!["/bin/sh", "-c", "kill -STOP $$; exit 9"],
    )
    .options(["--grace", "300ms"])
    .start();
    process::wait_until("it is stopped", || {
        process::state(running.pid()) == Some('T')
    });
    let mut slowing = Command::new("/usr/bin/strace")
        .args(["-qq", "-o", "/dev/null", "-e", "trace=read"])
        .args(["-e", "inject=read:delay_enter=100000", "-p"])
        .arg(running.pid().to_string())
        .spawn()
        .unwrap();
    process::wait_until("it is slow", || {
        process::state(running.pid()) == Some('t') || slowing.try_wait().unwrap().is_some()
    });
    running.send(Signal::TERM);
    // The monitor looks after its front each time.
    for _ in 0..40 {
        for monitor in process::children(running.pid()) {
            process::send(monitor, Signal::WINCH);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let done = running.finish();
    if !slowing.wait().unwrap().success() {
        skip!("strace may not attach");
    }
    done.expect_status(128 + 9);
}

fn the_status_after_sigterm_is_the_tasks_own(mechanism: Mechanism) {
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = Run::watched(mechanism, words!["/bin/sh", "-c", script]).start();
    running.wait_for("ready");
    running.send(Signal::TERM);
    let done = running.finish();
    done.expect_status(9);
    assert_eq!(done.report().exit.code, Some(9));
}
