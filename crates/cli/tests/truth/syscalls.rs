//! `--syscalls`: calls by kind and process, against what the workload did by construction.

use crate::files::SKIP;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::call::{CallCounts, ProcessCallLine};

fn watch(mechanism: Mechanism, name: &str) -> (Done, Vec<ProcessCallLine>) {
    let run = Run::watched(mechanism, Vec::new()).options(["--syscalls"]);
    let done = run.command(words![program(name)]).finish();
    done.expect_status(0);
    let text = std::fs::read_to_string(done.path("r.syscalls.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines = lines.collect();
    (done, lines)
}

/// Of the task.
fn of(done: &Done, name: &str) -> CallCounts {
    let lines = &done.report().system_calls;
    let line = lines.iter().find(|line| line.name == name);
    line.map(|line| line.counts).unwrap_or_default()
}

fn counted(mechanism: Mechanism, name: &str) {
    let (done, lines) = watch(mechanism, name);
    let asked = of(&done, "getppid");
    assert_eq!((asked.calls, asked.errors), (1500, 0));
    let renamed = of(&done, "renameat2");
    assert_eq!((renamed.calls, renamed.errors), (7, 7));
    let synced = of(&done, "fsync");
    assert_eq!((synced.calls, synced.errors), (1, 1));
    let slept = of(&done, "nanosleep");
    assert_eq!((slept.calls, slept.errors), (5, 0));
    assert!(slept.time_ns.0 >= 100_000_000, "{slept:?}");
    assert_eq!(of(&done, "exit_group").calls, 2);
    let mut by_process: Vec<_> = lines
        .iter()
        .filter(|line| line.name == "getppid")
        .map(|line| line.counts.calls)
        .collect();
    by_process.sort_unstable();
    assert_eq!(by_process, [300, 1200]);
    // The sums are those of the lines.
    for line in &done.report().system_calls {
        let mut sum = CallCounts::default();
        let same = lines.iter().filter(|it| it.name == line.name);
        same.for_each(|it| sum.add(&it.counts));
        assert_eq!(sum, line.counts, "{}", line.name);
    }
}

#[test]
fn bpf_calls_are_counted_by_kind_and_process() {
    with(Mechanism::Bpf, |mechanism| counted(mechanism, "syscalls"));
}

#[test]
fn agent_calls_are_counted_by_kind_and_process() {
    with(Mechanism::Agent, |mechanism| counted(mechanism, "syscalls"));
}

#[test]
fn bpf_calls_of_a_static_program() {
    with(Mechanism::Bpf, |mechanism| {
        counted(mechanism, "syscalls.static");
    });
}

/// Of a call that a filter refuses the kernel tells the return only.
#[test]
fn bpf_calls_that_a_filter_refuses() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--syscalls"]);
        let done = run.command(words![program("syscalls"), "refused"]).finish();
        if done.status == SKIP {
            skip!("no filters of calls here");
        }
        done.expect_status(0);
        let refused = of(&done, "getuid");
        assert_eq!((refused.calls, refused.errors), (10, 10));
        assert_eq!(refused.time_ns.0, 0);
        let unknown = of(&done, "call_-1");
        assert_eq!((unknown.calls, unknown.errors), (3, 3));
        assert_eq!(of(&done, "getsid").calls, 1);
        assert_eq!(of(&done, "exit_group").calls, 1);
    });
}

/// What a living thread counted is read at the end of the command.
#[test]
fn bpf_calls_of_a_survivor() {
    with(Mechanism::Bpf, |mechanism| {
        let run = Run::watched(mechanism, Vec::new()).options(["--syscalls"]);
        let ready = run.path("ready");
        let script = format!(
            "(kill -0 $$; kill -0 $$; kill -0 $$; echo > {0}; exec sleep 20) & \
             while [ ! -s {0} ]; do sleep 0.01; done; exit 0",
            ready.display()
        );
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        assert_eq!(of(&done, "kill").calls, 3);
    });
}

/// Who may not have the programs, or asks for others, is told before the task starts.
#[test]
fn syscalls_say_what_they_need() {
    let done = Run::plain(&["--syscalls"], words!["/bin/true"]).finish();
    if Mechanism::Bpf.missing().is_some() {
        done.expect_status(125);
        assert!(done.stderr.contains("--syscalls"), "{}", done.stderr);
    } else {
        done.expect_status(0);
        assert!(done.stderr.contains("system call"), "{}", done.stderr);
    }
    for other in [["--mechanism", "procfs"], ["--level", "query"]] {
        let mut options = vec!["--syscalls"];
        options.extend(other);
        let done = Run::plain(&options, words!["/bin/true"]).finish();
        done.expect_status(125);
        assert!(
            done.stderr.contains("its mechanism is bpf"),
            "{}",
            done.stderr
        );
    }
}
