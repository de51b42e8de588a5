//! ptrace: what level io promises beside the counts of files, what it costs the task, and what
//! cannot be traced.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Cleanup, Signal};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::file::FileLine;
use record::report::Process;
use record::socket::SocketLine;
use record::value::{Absent, Field, Method};
use std::path::Path;

const SKIP: i32 = 77;

fn at_level_io() -> Run {
    Run::watched(Mechanism::Ptrace, Vec::new()).options(["--level", "io"])
}

fn files(done: &Done) -> Vec<FileLine> {
    let text = std::fs::read_to_string(done.path("r.files.jsonl")).unwrap();
    let lines = text.lines();
    lines.map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// What a shell and its children did, pipes included, adds up to what the kernel counted in all.
#[test]
fn ptrace_the_sum_over_files_is_what_the_kernel_counted() {
    with(Mechanism::Ptrace, |_| {
        let run = at_level_io();
        let data = run.path("data");
        std::fs::write(&data, vec![7; 3 << 20]).unwrap();
        let script = format!(
            "cat {0} | tr a b | wc -c; for i in 1 2 3; do head -c 1000 {0} > {0}.$i; done; \
             dd if={0} of={0}.4 bs=4096; exit 0",
            data.display()
        );
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        let lines = files(&done);
        let written: u64 = lines.iter().map(|line| line.counts.bytes_written.0).sum();
        assert_eq!(written, field(&done, "bytes_written").whole().unwrap());
        let calls: u64 = lines.iter().map(|line| line.counts.writes).sum();
        assert_eq!(calls, field(&done, "writes").whole().unwrap());
        // Of reads the kernel also counts its own, of programs at their exec.
        let read: u64 = lines.iter().map(|line| line.counts.bytes_read.0).sum();
        let all = field(&done, "bytes_read").whole().unwrap();
        assert!(read <= all && all - read < 64 << 10, "{read} of {all}");
        let double = lines.iter().find(|line| line.path.ends_with("data.4"));
        let counts = double.unwrap().counts;
        assert_eq!((counts.writes, counts.bytes_written.0), (768, 3 << 20));
    });
}

#[test]
fn ptrace_what_outlives_the_command_ends_with_plimsoll() {
    with(Mechanism::Ptrace, |_| {
        let run = at_level_io().options(["--format", "text"]);
        let file = run.path("pid");
        let script = format!("sleep 1000 & echo $! > {}; exit 0", file.display());
        let done = run.command(words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        let pid = std::fs::read_to_string(&file).unwrap();
        process::wait_until_dead(&[pid.trim().parse().unwrap()]);
        assert!(done.stderr.contains("ended by Plimsoll"), "{}", done.stderr);
        let notes = done.report().monitor.notes.join("\n");
        assert!(notes.contains("when Plimsoll ends is killed"), "{notes}");
    });
}

/// Without its tracer a task would have calls that fail: the kernel ends it before.
#[test]
fn ptrace_the_task_ends_with_a_killed_monitor() {
    with(Mechanism::Ptrace, |_| {
        let run = at_level_io();
        let (pid, wrong) = (run.path("pid"), run.path("wrong"));
        let script = format!(
            "printf '%s\\nready\\n' $$ > {}; while cat /dev/null; do :; done; echo wrong > {}",
            pid.display(),
            wrong.display()
        );
        let mut running = run.command(words!["/bin/sh", "-c", script]).start();
        let task = running.wait_for_pids(&pid)[0];
        let ours = process::between(running.pid(), task);
        let _cleanup = Cleanup(ours.iter().copied().chain([task]).collect());
        process::send(ours[0], Signal::KILL);
        process::wait_until_dead(&[task]);
        let done = running.finish();
        assert_ne!(done.status, 0);
        assert!(!wrong.exists(), "a call failed without its tracer");
    });
}

/// What stops a thread for its tracer is no switch of the task, in all and by process.
#[test]
fn ptrace_its_stops_are_not_the_tasks_switches() {
    with(Mechanism::Ptrace, |_| {
        let (children, naps) = (100, 5);
        for level in ["events", "io"] {
            let options = ["--level", level, "--with", "processes"];
            let run = Run::watched(Mechanism::Ptrace, Vec::new()).options(options);
            let command = words![program("naps"), "100", "5", "10"];
            let done = run.command(command).finish();
            done.expect_status(0);
            // Each nap, each wait, each end; what a busy machine adds.
            let (least, most) = (children * naps, children * (naps + 2) + 60);
            let truth = Truth::between(least, most);
            holds(&done, "switches_voluntary", truth, Rigour::Near);
            let text = std::fs::read_to_string(done.path("r.processes.jsonl")).unwrap();
            let of_each = text.lines().map(|line| {
                let process: Process = serde_json::from_str(line).unwrap();
                let switches = process.usage.get("switches_voluntary").unwrap().whole();
                switches.unwrap() * process.folded
            });
            let sum: u64 = of_each.sum();
            assert!((least..=most).contains(&sum), "{level}: {sum}\n{text}");
            let told = |note: &String| note.contains("switches_voluntary");
            let notes = &done.report().monitor.notes;
            assert!(notes.iter().any(told), "{notes:#?}");
        }
    });
}

/// At level events nothing stops a call.
#[test]
fn ptrace_installs_a_filter_at_level_io_alone() {
    with(Mechanism::Ptrace, |_| {
        let ask = || words!["grep", "Seccomp:", "/proc/self/status"];
        let bare = Run::bare(ask()).finish();
        let events = Run::watched(Mechanism::Ptrace, ask()).finish();
        assert_eq!(events.stdout, bare.stdout);
        let io = at_level_io().command(ask()).finish();
        assert_eq!(io.stdout, "Seccomp:\t2\n");
    });
}

fn sockets(name: &str) {
    let run = at_level_io();
    let folder = run.path("data");
    std::fs::create_dir(&folder).unwrap();
    let done = run.command(words![program(name), folder, "tcp"]).finish();
    if done.status == SKIP {
        skip!("no 127.0.0.1 here");
    }
    done.expect_status(0);
    let text = std::fs::read_to_string(done.path("r.sockets.jsonl")).unwrap();
    let lines: Vec<SocketLine> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |bytes| lines.iter().find(|line| line.counts.bytes_read.0 == bytes);
    let (server, client) = (of(20_256).unwrap(), of(777).unwrap());
    assert_eq!(server.counts.bytes_written.0, 777);
    assert_eq!((client.counts.writes, client.counts.reads), (22, 1));
    assert_eq!(client.counts.bytes_written.0, 20_256);
    assert_eq!(*field(&done, "network_sent"), Field::absent(Absent::Off));
}

#[test]
fn ptrace_what_went_through_sockets() {
    with(Mechanism::Ptrace, |_| sockets("sockets"));
}

#[test]
fn ptrace_what_a_static_program_sent_through_sockets() {
    with(Mechanism::Ptrace, |_| sockets("sockets.static"));
}

/// The calls of a ring are in no counts: that is said.
#[test]
fn ptrace_says_that_rings_are_unseen() {
    with(Mechanism::Ptrace, |_| {
        let run = at_level_io();
        let data = run.path("data");
        std::fs::write(&data, vec![7; 1 << 20]).unwrap();
        let done = run.command(words![program("uring"), data]).finish();
        if done.status == SKIP {
            skip!("io_uring is not to be had here");
        }
        done.expect_status(0);
        let notes = done.report().monitor.notes.join("\n");
        assert!(notes.contains("io_uring"), "{notes}");
    });
}

/// One that is closed again is remembered.
#[test]
fn ptrace_says_that_a_closed_ring_was_unseen() {
    with(Mechanism::Ptrace, |it| a_closed_ring(it, "uring.static"));
}

#[test]
fn preload_says_that_a_closed_ring_was_unseen() {
    a_closed_ring(Mechanism::Preload, "uring");
}

fn a_closed_ring(mechanism: Mechanism, name: &str) {
    let run = crate::files::at_level_io(mechanism);
    let data = run.path("data");
    // Nothing to read: it is not held for long, and no sample meets it.
    std::fs::write(&data, []).unwrap();
    let done = run.command(words![program(name), data, "-1"]).finish();
    if done.status == SKIP {
        skip!("io_uring is not to be had here");
    }
    done.expect_status(0);
    let notes = done.report().monitor.notes.join("\n");
    assert!(notes.contains("io_uring was used"), "{notes}");
    let read = field(&done, "bytes_read").value().unwrap().method;
    assert_eq!(read, Method::LowerBound { upper: None });
}

/// Children that ask not to be traced would lose their calls: they are traced all the same.
fn untraced(name: &str) {
    let run = at_level_io();
    let data = run.path("data");
    std::fs::write(&data, []).unwrap();
    let done = run.command(words![program(name), data]).finish();
    if done.status == SKIP {
        skip!("no clone3 here");
    }
    done.expect_status(0);
    let whole = |name| field(&done, name).whole();
    assert_eq!(whole("processes_total"), Some(3));
    assert_eq!(std::fs::metadata(done.path("data")).unwrap().len(), 300);
    let path = done.path("data").canonicalize().unwrap();
    let lines = files(&done);
    let line = lines.iter().find(|it| Path::new(&it.path) == path).unwrap();
    assert_eq!((line.counts.opens, line.counts.writes), (2, 2));
    assert_eq!(line.counts.bytes_written.0, 300);
}

#[test]
fn ptrace_children_that_ask_not_to_be_traced() {
    with(Mechanism::Ptrace, |_| untraced("untraced"));
}

#[test]
fn ptrace_children_of_a_static_program_that_ask_not_to_be_traced() {
    with(Mechanism::Ptrace, |_| untraced("untraced.static"));
}

/// At level events nothing stops a call, so such children go their way. What they used is in the
/// totals all the same, and nothing that was counted by tracing is called exact.
fn escaped(how: &'static str, processes: u64) {
    let bytes = (8 * MIB).to_string();
    let command = words![program("escaped"), "300", bytes, how];
    let done = Run::watched(Mechanism::Ptrace, command).finish();
    done.expect_status(0);
    let started = Truth::cpu(300_000_000, 100_000_000);
    holds(&done, "cpu_time", started, Rigour::Near);
    let read = Truth::between(8 * MIB, 8 * MIB + (64 << 10));
    holds(&done, "bytes_read", read, Rigour::Near);
    for name in ["cpu_time", "bytes_read", "reads"] {
        let value = field(&done, name).value().unwrap();
        assert_eq!(value.method, Method::Exact, "{name}");
        assert!(value.source.starts_with("wait chain"), "{}", value.source);
    }
    for name in ["processes_total", "processes_peak"] {
        holds(&done, name, Truth::between(1, processes), Rigour::Sampled);
    }
    for name in [
        "processes_total",
        "processes_peak",
        "threads_peak",
        "rss_peak",
    ] {
        let value = field(&done, name).value().unwrap();
        assert_ne!(value.method, Method::Exact, "{name}\n{}", done.context());
    }
    let notes = done.report().monitor.notes.join("\n");
    assert!(notes.contains("CLONE_UNTRACED"), "{notes}");
}

#[test]
fn ptrace_an_only_child_that_escapes() {
    with(Mechanism::Ptrace, |_| escaped("alone", 2));
}

#[test]
fn ptrace_a_child_that_escapes_beside_another() {
    with(Mechanism::Ptrace, |_| escaped("among", 3));
}

#[test]
fn ptrace_an_orphan_that_escaped() {
    with(Mechanism::Ptrace, |_| escaped("orphan", 3));
}

/// Where nobody escapes all of it is exact: programs, threads, pipes, orphans.
#[test]
fn ptrace_a_tree_without_escapes_is_exact() {
    with(Mechanism::Ptrace, |_| {
        let script = format!(
            "{} 4 50 & ls -R /usr/include | sort | wc -l; (sleep 0.1 &); {} 20 exit; \
             for i in 1 2 3 4 5; do cat /etc/passwd | head -1; done; wait; sleep 0.2",
            program("threads").display(),
            program("fill").display()
        );
        let done = Run::watched(Mechanism::Ptrace, words!["/bin/sh", "-c", script]).finish();
        done.expect_status(0);
        for name in [
            "processes_total",
            "processes_peak",
            "threads_peak",
            "cpu_time",
            "reads",
        ] {
            let value = field(&done, name).value().unwrap();
            assert_eq!(value.method, Method::Exact, "{name}\n{}", done.context());
        }
        let notes = done.report().monitor.notes.join("\n");
        assert!(!notes.contains("CLONE_UNTRACED"), "{notes}");
    });
}
