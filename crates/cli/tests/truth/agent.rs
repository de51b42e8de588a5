//! `plimsoll agent` and `plimsoll compact`: what programs use, as known by construction, is in the
//! dataset with those values, whoever reads them and however the agent ends.

use crate::harness::dataset::{
    Row, agent, compact, live, read_once, rows, rows_of, wait_for_reading,
};
use crate::harness::expect::{MIB, Truth};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Signal};
use crate::harness::run::{Run, Running, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_reader, executable, words};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

#[cfg(feature = "query")]
mod asked;
mod denied;
mod detail;
mod endpoints;
mod ends;
#[cfg(feature = "query")]
mod plotted;
mod setup;

each_reader!(
    what_programs_use,
    the_program_after_exec,
    hostile_names,
    long_command_lines,
    who_is_wanted,
    a_killed_agent,
    what_is_given_up,
    without_its_keeper,
    compaction_now_and_then,
    compaction_that_fails,
    what_it_costs,
    a_budget_that_is_too_small,
    an_offset,
);

/// Options for readings in quick succession.
fn quick(mechanism: Mechanism, select: &[&str]) -> Vec<String> {
    let mut words: Vec<_> = mechanism
        .options()
        .iter()
        .map(|&word| word.to_owned())
        .collect();
    words.extend(["--interval".to_owned(), "100ms".to_owned()]);
    for kind in select {
        words.extend(["--select".to_owned(), (*kind).to_owned()]);
    }
    words
}

fn texts(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Starts a program that holds on until it is ended, once it says where it is.
fn held(command: Vec<std::ffi::OsString>, says: &str) -> Running {
    let mut running = Run::bare(command).start();
    running.wait_for(says);
    running
}

fn what_programs_use(mechanism: Mechanism) {
    let options = quick(mechanism, &["all"]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let burn = held(words![program("burn"), "300", "hold"], "cpu_us");
    let fill = held(words![program("fill.static"), "48", "hold"], "ready");
    wait_for_reading(&mut agent, &dataset);
    let told = burn.stdout();
    let told: u64 = told.trim().trim_start_matches("cpu_us ").parse().unwrap();
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    let dataset = done.path("d");
    let rows_alive = live(&dataset).len();
    let printed = compact(&dataset).stderr;
    assert!(printed.contains("rows in"), "{printed}");
    assert_eq!(rows(&dataset, "sample").len(), rows_alive);

    let burned = rows_of(&dataset, "sample", burn.pid());
    let times: Vec<_> = burned.iter().map(|row| row.number("cpu_time")).collect();
    assert!(times.is_sorted() && times.len() >= 2, "{times:?}");
    let last = *times.last().unwrap() as f64;
    // It told before it went to sleep.
    let truth = Truth::near_cpu(told * 1000, 0.01, 3_000_000);
    assert!(truth.takes(last), "{last} of {told}");
    let filled = rows_of(&dataset, "sample", fill.pid());
    for column in ["rss_anon", "rss_peak", "rss"] {
        let bytes = filled.iter().filter_map(|row| row.get(column)).max();
        // Through `/proc` the peak is not in every reading: on a busy machine in none, or in the
        // first alone.
        let is_late = bytes.is_none_or(|bytes| (bytes as u64) < 48 * MIB);
        if is_late && column == "rss_peak" && mechanism == Mechanism::Procfs {
            continue;
        }
        let bytes = bytes.unwrap() as u64;
        assert!((48 * MIB..50 * MIB).contains(&bytes), "{column}: {bytes}");
    }
    is_told(&dataset, &burn, "burn", &["300", "hold"]);
    is_told(&dataset, &fill, "fill.static", &["48", "hold"]);
}

/// That the dataset says who a process is, once.
fn is_told(dataset: &std::path::Path, running: &Running, name: &str, arguments: &[&str]) {
    let mut told = rows_of(dataset, "process", running.pid());
    // Not what an exec told.
    told.retain(|row| row.get("exec_ns").is_none());
    let last = told.last().unwrap();
    assert_eq!(last.text("comm").as_deref(), Some(name));
    let path = program(name).canonicalize().unwrap();
    assert_eq!(last.text("exe").as_deref(), path.to_str());
    let command = last.text("command").unwrap();
    assert!(
        arguments.iter().all(|word| command.contains(word)),
        "{command}"
    );
    assert_eq!(last.number("euid"), i64::from(process::uid()));
    assert_eq!(last.number("ppid"), i64::from(std::process::id()));
}

/// A name changes at the exec, and whatever has a name of a secret is hidden.
fn the_program_after_exec(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let script = "read line; exec \"$0\" \"$1\"";
    let shell = words![
        "/bin/sh",
        "-c",
        script,
        program("hold"),
        file,
        "--password=hidden"
    ];
    let mut shell = run.command(shell).input(Stdio::piped()).start();
    let kind = format!("pid:{}", shell.pid());
    let options = quick(mechanism, &[&kind]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    shell.end_input();
    shell.wait_for_pids(&file);
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let mut told = rows_of(&done.path("d"), "process", shell.pid());
    told.retain(|row| row.get("exec_ns").is_none());
    let execs: Vec<_> = told.iter().map(|row| row.number("exec")).collect();
    assert_eq!(
        (execs.first(), execs.last()),
        (Some(&0), Some(&1)),
        "{told:#?}"
    );
    let (first, last) = (&told[0], &told[told.len() - 1]);
    let command = first.text("command").unwrap();
    assert!(
        command.contains("read line") && !command.contains("hidden"),
        "{command}"
    );
    assert_eq!(last.text("comm").as_deref(), Some("hold"));
    let ids: BTreeSet<_> = told.iter().map(|row| row.number("start_ns")).collect();
    assert_eq!(ids.len(), 1, "one life");
}

/// Blanks, parentheses, line ends and bytes that are no text shift nothing.
fn hostile_names(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let name = OsStr::from_bytes(b"a b) S 1\n\xff");
    let (copy, file) = (run.folder().join(name), run.path("pid"));
    executable::copy(program("hold.static"), &copy, "755");
    let mut running = run.command(words![copy, file]).start();
    running.wait_for_pids(&file);
    let options = quick(mechanism, &[&format!("pid:{}", running.pid())]);
    let done = read_once(&texts(&options));
    compact(&done.path("d"));
    let last = rows_of(&done.path("d"), "sample", running.pid())
        .pop()
        .unwrap();
    assert_eq!(last.number("ppid"), i64::from(std::process::id()));
    assert_eq!(last.number("threads"), 1);
    assert_eq!(last.text("state").as_deref(), Some("S"));
    let told = rows_of(&done.path("d"), "process", running.pid());
    let comm = told[0].text("comm").unwrap();
    assert_eq!(comm, "\u{fffd}a b) S 1\n\\xff");
}

fn long_command_lines(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let word = "x".repeat(100_000);
    let mut running = run
        .command(words![program("hold"), file, word, word])
        .start();
    running.wait_for_pids(&file);
    let options = quick(mechanism, &[&format!("pid:{}", running.pid())]);
    let done = read_once(&texts(&options));
    compact(&done.path("d"));
    let told = rows_of(&done.path("d"), "process", running.pid());
    let command = told[0].text("command").unwrap();
    let kept = command.matches('x').count();
    assert!((100_000..128 << 10).contains(&kept), "{kept}");
    assert_eq!(told[0].number("command_cut"), 1);
}

/// The processes that an agent reads.
fn read(mechanism: Mechanism, select: &[&str]) -> BTreeSet<u32> {
    let options = quick(mechanism, select);
    let done = read_once(&texts(&options));
    let rows = live(&done.path("d"));
    rows.iter().map(|(pid, _)| *pid as u32).collect()
}

fn who_is_wanted(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let (one, two) = (run.path("one"), run.path("two"));
    let script = "\"$0\" \"$1\" & setsid \"$0\" \"$2\" & wait";
    let shell = words!["/bin/sh", "-c", script, program("hold"), one, two];
    let mut shell = run.command(shell).start();
    let (one, two) = (shell.wait_for_pids(&one)[0], shell.wait_for_pids(&two)[0]);
    let all = BTreeSet::from([shell.pid(), one, two]);
    assert_eq!(read(mechanism, &[&format!("pid:{}", shell.pid())]), all);
    assert_eq!(read(mechanism, &[&format!("session:{two}")]), [two].into());
    let some = [format!("pgrp:{two}"), format!("pid:{one}")];
    assert_eq!(read(mechanism, &[&some[0], &some[1]]), [one, two].into());
    let own = read(mechanism, &[&format!("user:{}", process::uid())]);
    assert!(own.is_superset(&all), "{own:?}");
}

/// Whatever was on the disk when the agent was killed is in the Parquet files.
fn a_killed_agent(mechanism: Mechanism) {
    let options = quick(mechanism, &["all"]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let before: BTreeSet<_> = live(&dataset).into_iter().collect();
    agent.send(Signal::KILL);
    let done = agent.finish();
    assert_eq!(done.status, 137);
    compact(&done.path("d"));
    let kept = rows(&done.path("d"), "sample");
    let instant = |row: &Row| (row.number("pid"), row.number("at_ns"));
    let kept: BTreeSet<_> = kept.iter().map(instant).collect();
    assert!(before.len() > 1 && kept.is_superset(&before));
    assert_eq!(live(&done.path("d")), Vec::new());
}

/// A number in base 16 in `/proc/PID/status`.
#[track_caller]
fn hex(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(line.unwrap().trim_start_matches(':').trim(), 16).unwrap()
}

/// The one child of an agent.
#[track_caller]
fn keeper(agent: u32) -> u32 {
    let children = process::children(agent);
    assert_eq!(children.len(), 1, "{children:?}");
    children[0]
}

/// Who reads keeps what reading needs, who writes keeps nothing; neither can get more.
fn what_is_given_up(mechanism: Mechanism) {
    const DAC_READ_SEARCH: u64 = 1 << 2;
    const SYS_PTRACE: u64 = 1 << 19;
    const SYSLOG: u64 = 1 << 34;
    const PERFMON_AND_BPF: u64 = 3 << 38;
    const NET_ADMIN: u64 = 1 << 12;
    let options = quick(mechanism, &["all"]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let mut left = DAC_READ_SEARCH | SYS_PTRACE | SYSLOG;
    left |= match mechanism {
        Mechanism::Bpf => PERFMON_AND_BPF,
        _ => NET_ADMIN,
    };
    let keeper = keeper(agent.pid());
    for (pid, left) in [(agent.pid(), left), (keeper, 0)] {
        for set in ["CapPrm", "CapEff", "CapInh"] {
            assert_eq!(hex(pid, set) & !left, 0, "{set} of {pid}");
        }
        assert_eq!((hex(pid, "NoNewPrivs"), hex(pid, "Seccomp")), (1, 2));
    }
    agent.send(Signal::TERM);
    agent.finish().expect_status(0);
    process::wait_until("the keeper ends", || process::state(keeper).is_none());
}

/// An agent that cannot make files any more says so and ends: what it had written is there.
fn without_its_keeper(mechanism: Mechanism) {
    let options = quick(mechanism, &["all"]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    assert!(process::send(keeper(agent.pid()), Signal::KILL));
    let done = agent.finish();
    assert_ne!(done.status, 0);
    assert!(
        done.stderr.contains("the keeper of the dataset has ended"),
        "{}",
        done.stderr
    );
    compact(&done.path("d"));
    assert!(!rows(&done.path("d"), "sample").is_empty());
}

/// An agent compacts what is whole while it goes on; every reading is there once in the end.
fn compaction_now_and_then(mechanism: Mechanism) {
    let mut options = quick(mechanism, &["all"]);
    options.extend(["--compact".to_owned(), "1s".to_owned()]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let before: BTreeSet<_> = live(&dataset).into_iter().collect();
    let told = agent.folder().join("stderr");
    // Where the agent was slow to begin, its first segment has ends of processes alone.
    process::wait_until("a compaction of samples is told", || {
        let told = std::fs::read_to_string(&told).unwrap();
        told.contains("bytes a row") && !rows(&dataset, "sample").is_empty()
    });
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let instant = |row: &Row| (row.number("pid"), row.number("at_ns"));
    let all: Vec<_> = rows(&done.path("d"), "sample")
        .iter()
        .map(instant)
        .collect();
    let each: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(all.len(), each.len());
    assert!(before.len() > 1 && each.is_superset(&before));
}

/// A compaction that fails is told, counted, and made good by the next one.
fn compaction_that_fails(mechanism: Mechanism) {
    let mut options = quick(mechanism, &["all"]);
    options.extend(["--compact".to_owned(), "1s".to_owned()]);
    let agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    process::wait_until("the dataset is there", || dataset.exists());
    // Where the folder of files that are not finished belongs.
    std::fs::write(dataset.join("aside"), "").unwrap();
    let told = agent.folder().join("stderr");
    process::wait_until("a compaction fails", || {
        let told = std::fs::read_to_string(&told).unwrap();
        told.contains("warning: the dataset stays as it is: ")
    });
    std::fs::remove_file(dataset.join("aside")).unwrap();
    process::wait_until("samples are compacted", || {
        !rows(&dataset, "sample").is_empty()
    });
    // What is counted is in the next reading, and that in a later compaction.
    let failures = || {
        let told = std::fs::read_to_string(&told).unwrap();
        told.matches("the dataset stays as it is").count() as i64
    };
    process::wait_until("compactions are counted", || {
        let node = rows(&dataset, "node");
        let most = |name: &str| {
            let is_it = |row: &&Row| row.text("metric").as_deref() == Some(name);
            let counts = node.iter().filter(is_it).map(|row| row.number("value"));
            counts.max()
        };
        most("agent_compactions") > Some(0) && most("agent_compactions_failed") == Some(failures())
    });
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let is_failed = |row: &&Row| row.text("metric").as_deref() == Some("agent_compactions_failed");
    let node = rows(&done.path("d"), "node");
    let failed = node.iter().filter(is_failed).map(|row| row.number("value"));
    let told = done.stderr.matches("the dataset stays as it is").count() as i64;
    assert_eq!(failed.max(), Some(told));
}

/// An agent tells what it costs itself, as the kernel counts it.
fn what_it_costs(mechanism: Mechanism) {
    let mut options = quick(mechanism, &["all"]);
    options.extend(["--duration", "2s"].map(str::to_owned));
    let done = agent(&texts(&options)).finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let mut node = rows(&done.path("d"), "node");
    node.sort_by_key(|row| row.number("at_ns"));
    let values = |metric: &str| {
        let of = |row: &&Row| row.text("metric").as_deref() == Some(metric);
        let values = node.iter().filter(of).map(|row| row.number("value"));
        values.collect::<Vec<_>>()
    };
    let (cpu, longest) = (values("agent_cpu_time"), values("agent_reading_longest"));
    assert!(
        cpu.len() > 2 && cpu.is_sorted() && longest.is_sorted(),
        "{cpu:?} {longest:?}"
    );
    let (cpu, longest) = (*cpu.last().unwrap(), *longest.last().unwrap());
    assert!((1..=cpu).contains(&longest), "{longest} of {cpu}");
    assert!(values("agent_memory_peak").last() > Some(&(1 << 20)));
    assert!(values("agent_written").is_sorted());
    assert_eq!(values("agent_rows_lost").last(), Some(&0));
}

/// An agent that may cost next to nothing reads less and less often.
fn a_budget_that_is_too_small(mechanism: Mechanism) {
    let mut options = quick(mechanism, &["all"]);
    options.extend(["--budget", "0.0001%", "--duration", "3s"].map(str::to_owned));
    let done = agent(&texts(&options)).finish();
    done.expect_status(0);
    for every in ["200.0 ms", "400.0 ms"] {
        let told = format!("reading every {every} now, to keep within the budget");
        assert!(done.stderr.contains(&told), "{}", done.stderr);
    }
    compact(&done.path("d"));
    let rows = rows(&done.path("d"), "sample");
    let instants: BTreeSet<_> = rows.iter().map(|row| row.number("at_ns")).collect();
    assert!((2..8).contains(&instants.len()), "{instants:?}");
}

/// Readings come so long behind whole intervals of the time of day, or later.
fn an_offset(mechanism: Mechanism) {
    const SECOND_US: i64 = 1_000_000;
    const OFFSET_US: i64 = 400_000;
    let mut options: Vec<_> = mechanism
        .options()
        .iter()
        .map(|&it| it.to_owned())
        .collect();
    let more = [
        "--interval",
        "1s",
        "--offset",
        "400ms",
        "--duration",
        "3500ms",
    ];
    options.extend(more.map(str::to_owned));
    let done = agent(&texts(&options)).finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let rows = rows(&done.path("d"), "sample");
    let late = rows
        .iter()
        .map(|row| (row.number("time") - OFFSET_US).rem_euclid(SECOND_US));
    let late: BTreeSet<_> = late.collect();
    // On a busy machine some come later than others.
    assert!(
        late.first().is_some_and(|least| *least < SECOND_US / 4),
        "{late:?}"
    );
}

/// Of a process that does not run both ways tell the same, field by field.
#[test]
fn both_readers_tell_the_same() {
    with(Mechanism::Bpf, |_| {
        let burn = held(words![program("burn"), "50", "hold"], "cpu_us");
        burn.send(Signal::STOP);
        process::wait_until("it is stopped", || process::state(burn.pid()) == Some('T'));
        let kind = format!("pid:{}", burn.pid());
        let read = |mechanism| {
            let mut options = quick(mechanism, &[&kind]);
            // Not in every reading.
            options.extend(["--pss".to_owned(), "off".to_owned()]);
            // As long as every reading has every detail.
            for word in options.iter_mut().filter(|word| *word == "100ms") {
                *word = "2s".to_owned();
            }
            let done = read_once(&texts(&options));
            compact(&done.path("d"));
            let row = rows_of(&done.path("d"), "sample", burn.pid())
                .pop()
                .unwrap();
            let cells = row
                .columns()
                .filter(|(name, _)| !["time", "at_ns"].contains(name));
            let cells = cells.map(|(name, value)| (name.to_owned(), value.to_string()));
            cells.collect::<BTreeMap<_, _>>()
        };
        let (mut one, mut other) = (read(Mechanism::Bpf), read(Mechanism::Procfs));
        // Of these `/proc` shows ticks of 10 ms, and shares the time out as it did when it was read
        // before: neither part of it goes back.
        for name in ["cpu_user", "cpu_system", "tree_cpu_user", "tree_cpu_system"] {
            let [one, other] = [&mut one, &mut other].map(|row| {
                let cell = row.remove(name).unwrap();
                cell.parse::<i64>().unwrap()
            });
            assert!((one - other).abs() <= 30_000_000, "{name}: {one}, {other}");
        }
        assert_eq!(one, other);
        assert!(one.len() > 30, "{one:?}");
    });
}

#[test]
fn what_is_no_kind_is_refused() {
    for kind in ["everything", "pid:x", "user:no such user", "job"] {
        let command = words![plimsoll(), "agent", "--dataset", "d", "--select", kind];
        let mut clean = words!["/usr/bin/env", "-i"];
        clean.extend(command);
        let done = Run::bare(clean).finish();
        done.expect_status(2);
        assert!(!done.path("cwd/d").exists());
    }
}
