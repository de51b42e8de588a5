//! Strangers that have the ids of processes of the task whose ends were lost: they are not counted,
//! and live on when the task is ended.

use crate::harness::expect::number;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Cleanup, Signal};
use crate::harness::run::Run;
use crate::harness::workload::program;
use crate::harness::{skip, words};
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

const WAITING: u32 = 100;
/// More than what any mechanism keeps of events while nobody takes them.
const SHORT: u32 = 40_000;

#[test]
fn bpf() {
    with(Mechanism::Bpf, strangers_are_left_alone);
}

#[test]
fn connector() {
    with(Mechanism::Connector, strangers_are_left_alone);
}

#[test]
fn procfs() {
    with(Mechanism::Procfs, strangers_are_left_alone);
}

/// Processes that have ids of our choice.
struct Strangers {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Strangers {
    fn with_ids(pids: &[u32]) -> Self {
        let mut child = Command::new(program("namesake"))
            .arg("strangers")
            .args(pids.iter().map(u32::to_string))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    /// How many live; then none does.
    fn alive(mut self) -> String {
        drop(self.child.stdin.take());
        let line = self.line();
        self.child.wait().unwrap();
        line
    }
}

fn strangers_are_left_alone(mechanism: Mechanism) {
    let run = Run::watched(mechanism, Vec::new())
        .options(["--grace", "200ms"])
        .input(Stdio::piped());
    let file = run.path("pids");
    let (waiting, short) = (WAITING.to_string(), SHORT.to_string());
    let mut running = run
        .command(words![program("namesake"), "task", file, waiting, short])
        .start();
    let pids = running.wait_for_pids(&file);
    let ours = process::between(running.pid(), pids[0]);
    let _cleanup = Cleanup(pids.iter().chain(&ours).copied().collect());
    // Two passes, so that each is known by a sample too.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(process::send(ours[0], Signal::STOP));
    running.end_input();
    running.wait_for("over");
    let mut strangers = Strangers::with_ids(&pids[1..]);
    let made = strangers.line();
    let alive = made.replace("made", "alive");
    process::send(ours[0], Signal::CONT);
    // They are there when it reads what it lost, and when the task is ended.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.send(Signal::TERM);
    let done = running.finish();
    if let Some(why) = made.strip_prefix("skip ") {
        skip!("{why}");
    }
    let left = strangers.alive();
    assert_ne!(made, "made 0");
    assert_eq!(left, alive, "{}", done.context());
    done.expect_status(128 + 15);
    let report = done.report();
    let lost = report.monitor.events_lost > 0;
    assert_eq!(lost, mechanism != Mechanism::Procfs, "{}", done.context());
    let total = number(&done, "processes_total");
    let truth = f64::from(1 + WAITING + SHORT);
    assert!(total <= truth, "{total} of {truth}\n{}", done.context());
}
