//! What is told of processes that no reading sees: each that came and went is there with what it
//! used, by programs in the kernel and over netlink.

use super::{quick, texts};
use crate::harness::dataset::{Row, agent, compact, rows, rows_of, wait_for_reading};
use crate::harness::expect::{MIB, Truth};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::process::Stdio;

each_reader!(
    empty_name,
    ends_between_two_readings,
    ends_of_the_wanted,
    long_command_lines_of_the_short
);

/// Without a single reading: each process that came and went is there with what it used.
fn ends_between_two_readings(mechanism: Mechanism) {
    let agent = listening(mechanism);
    let storm = words![
        program("storm"),
        "30",
        "2",
        "fork",
        program("burn.static"),
        "20"
    ];
    let storm = Run::bare(storm).start();
    let parent = i64::from(storm.pid());
    let told = storm.finish();
    told.expect_status(0);
    let killed = Run::bare(words!["/bin/sh", "-c", "kill -9 $$"]).start();
    let (shell, status) = (killed.pid(), killed.finish().status);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    let dataset = done.path("d");
    compact(&dataset);
    // Jobs of this machine that have just begun are read meanwhile; ours is none.
    let is_ours = |row: &Row| row.number("ppid") == parent || row.number("pid") == parent;
    let mut read = rows(&dataset, "sample");
    read.retain(is_ours);
    assert_eq!(read, Vec::new());

    let mut ends = rows(&dataset, "exit");
    ends.retain(is_ours);
    if done.stderr.contains("events were missed") {
        // The machine may be flooded by others. None is there twice all the same.
        assert!(ends.len() <= 31, "{}", ends.len());
        skip!("more came than the agent could take, which it said");
    }
    assert_eq!(ends.len(), 31);
    cpu_is_told(&ends, told.printed("cpu_us") * 1000);
    // Over netlink it is told a moment later: the process may be gone by then.
    let is_over = mechanism == Mechanism::Procfs;
    for row in ends.iter().filter(|row| row.number("ppid") == parent) {
        is_burn(row, is_over && !process::is_root());
        assert_eq!((row.get("exit_code"), row.get("signal")), (Some(0), None));
        if !without_values(row) {
            let peak = row.number("rss_peak");
            assert!((1..4 * MIB as i64).contains(&peak), "{row:?}");
            assert_eq!(row.number("uid"), i64::from(process::uid()));
        }
        let told = rows_of(&dataset, "process", row.number("pid") as u32);
        is_burn(&told[0], is_over);
        match told[0].text("command") {
            Some(command) => {
                let words = ["burn.static", "20"];
                assert!(words.iter().all(|word| command.contains(word)), "{command}");
            }
            None => assert!(is_over),
        }
    }
    let end = rows_of(&dataset, "exit", shell).pop().unwrap();
    assert_eq!((end.get("exit_code"), end.get("signal")), (None, Some(9)));
    assert_eq!(status, 137);
}

/// All arguments of a program that is over before anybody could look, the last one told from its
/// beginning to its end; of longer ones as much as of those that are read.
fn long_command_lines_of_the_short(mechanism: Mechanism) {
    let agent = listening(mechanism);
    let text = |length: usize| {
        let letters = (0..length).map(|at| char::from(b'a' + (at % 23) as u8));
        letters.collect::<String>()
    };
    let lines = [
        (vec![text(3000), text(5000), text(20_000)], false),
        (vec![text(100_000), text(100_000)], true),
    ];
    let mut pids = Vec::new();
    for (arguments, _) in &lines {
        let mut command = words!["/bin/true"];
        command.extend(arguments.iter().map(Into::into));
        let short = Run::bare(command).start();
        pids.push(short.pid());
        short.finish().expect_status(0);
    }
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    let dataset = done.path("d");
    compact(&dataset);
    for (pid, (arguments, is_cut)) in pids.into_iter().zip(lines) {
        let told = rows_of(&dataset, "process", pid).pop();
        let row = told.filter(|row| row.text("command").is_some());
        let Some(row) = row else {
            // Over netlink it is told a moment later: the process may be gone by then.
            assert!(mechanism == Mechanism::Procfs || done.stderr.contains("events were missed"));
            continue;
        };
        let command = row.text("command").unwrap();
        assert!(command.contains(&arguments[0]), "{}", command.len());
        assert_eq!(row.get("command_cut"), is_cut.then_some(1));
        match is_cut {
            true => assert!((128 << 10..129 << 10).contains(&command.len())),
            false => assert!(arguments.iter().all(|word| command.contains(word))),
        }
    }
}

/// An agent that listens and does not read.
fn listening(mechanism: Mechanism) -> Running {
    let mut options = quick(mechanism, &["all"]);
    for word in options.iter_mut().filter(|word| *word == "100ms") {
        *word = "1h".to_owned();
    }
    let agent = agent(&texts(&options)).start();
    process::wait_until("it listens", || {
        agent.printed().contains("reading processes")
    });
    agent
}

/// A name that its process has made empty is empty. Where nobody told it there is none, and never
/// that of the command line in its place.
fn empty_name(mechanism: Mechanism) {
    let agent = listening(mechanism);
    let empty = Run::bare(words![program("renamed"), ""]).start();
    let other = Run::bare(words![program("renamed"), "other"]).start();
    let pids = [&empty, &other].map(|running| running.pid());
    empty.finish().expect_status(0);
    other.finish().expect_status(0);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    let dataset = done.path("d");
    compact(&dataset);
    for (pid, name) in pids.into_iter().zip(["", "other"]) {
        let end = rows_of(&dataset, "exit", pid).pop().unwrap();
        match (mechanism, process::is_root()) {
            // Without taskstats it is what its last program began with, if anybody saw that.
            (Mechanism::Procfs, false) => {
                let told = end.text("comm").unwrap_or_default();
                assert!([name, "renamed", ""].contains(&told.as_str()), "{end:?}");
            }
            _ => assert_eq!(end.text("comm").as_deref(), Some(name), "{end:?}"),
        }
    }
}

/// That it has its name, or none where nobody was quick enough to read it.
fn is_burn(row: &Row, may_lack: bool) {
    let name = row.text("comm");
    if may_lack && name.is_none() {
        return;
    }
    assert_eq!(name.as_deref(), Some("burn.static"), "{row:?}");
}

/// Of what is too short for a reading only what a wanted process brought forth is told.
fn ends_of_the_wanted(mechanism: Mechanism) {
    let script = "read line; sh -c 'exit 3; true'; /bin/true; read line";
    let shell = Run::bare(words!["/bin/sh", "-c", script]).input(Stdio::piped());
    let mut shell = shell.start();
    let options = quick(mechanism, &[&format!("pid:{}", shell.pid())]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let pid = i64::from(shell.pid());
    shell.end_input();
    Run::bare(words!["/bin/true"]).finish().expect_status(0);
    shell.finish().expect_status(1);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let ends = rows(&done.path("d"), "exit");
    let who = |row: &Row| (row.number("ppid") == pid, row.number("exit_code"));
    let (own, of_children): (Vec<_>, Vec<_>) =
        ends.iter().partition(|row| row.number("pid") == pid);
    let mut told: Vec<_> = of_children.into_iter().map(who).collect();
    told.sort_unstable();
    assert_eq!(told, [(true, 0), (true, 3)]);
    // The shell itself was there before the agent; over netlink nothing else is told of it.
    let lacks: Vec<_> = own
        .iter()
        .map(|row| row.get("cpu_time").is_none())
        .collect();
    assert_eq!(lacks, [mechanism != Mechanism::Bpf]);
    let own: Vec<_> = own.into_iter().map(who).collect();
    assert_eq!(own, [(false, 1)]);
}

/// Whether the kernel told no more than that it has ended: over netlink, without root.
fn without_values(row: &Row) -> bool {
    let is_without = row.get("faults_minor").is_none();
    assert!(!is_without || process::uid() != 0, "{row:?}");
    is_without
}

/// The CPU time of these rows is together as it was, or a bound below it by a tick each.
fn cpu_is_told(ends: &[Row], truth_ns: u64) {
    const TICK: i64 = 10_000_000;
    let sum = |name| ends.iter().filter_map(|row| row.get(name)).sum::<i64>();
    let (exact, least) = (sum("cpu_time"), sum("cpu_time_min"));
    if least > 0 {
        let most = truth_ns as i64;
        let lowest = most - TICK * ends.len() as i64;
        assert!((lowest..=most + TICK).contains(&least), "{least} of {most}");
        assert_eq!(exact, 0, "both a value and a bound");
    } else if !ends.iter().all(without_values) {
        // Its own last lines are in no number that it tells.
        let truth = Truth::near_cpu(truth_ns, 0.02, 5_000_000);
        assert!(truth.takes(exact as f64), "{exact} of {truth_ns}");
    }
}
