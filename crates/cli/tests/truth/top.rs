//! `plimsoll top`: what it tells of a process is what that used, by an agent, by itself and of what
//! is past; and what a person sees on a screen of tmux.

use crate::harness::expect::MIB;
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{Signal, patience, wait_until};
use crate::harness::run::{Run, Running, plimsoll};
use crate::harness::served::{Served, served};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

mod screen;

each_reader!(known_by_construction_from_an_agent_and_from_its_dataset);

/// What `top --batch` with these words tells: a value a line.
fn batch(more: Vec<OsString>) -> Vec<Value> {
    let mut command = words![plimsoll(), "top", "--batch", "--format", "json"];
    command.extend(more);
    let done = Run::bare(command).finish();
    done.expect_status(0);
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
    done.stdout.lines().map(line).collect()
}

/// A process of a reading.
fn process(reading: &Value, pid: u32) -> &Value {
    let all = reading["processes"].as_array().unwrap();
    let found = all.iter().find(|one| one["pid"] == pid);
    found.unwrap_or_else(|| panic!("no {pid} in {reading}"))
}

/// The name of a job that nobody else has.
fn job_name(number: u32) -> String {
    format!("{}{number}", std::process::id())
}

/// 32 MiB that are held, and a job of that name.
fn held(job: &str) -> Running {
    let mut command = words!["env", format!("SLURM_JOB_ID={job}")];
    command.extend(words![program("fill.static"), "32", "hold"]);
    let mut fill = Run::bare(command).start();
    fill.wait_for("ready");
    fill
}

/// A loop that takes all of one CPU that it can get.
fn busy() -> Running {
    Run::bare(words!["/bin/sh", "-c", "while :; do :; done"]).start()
}

/// What `top` with these words tells as soon as the process is told asleep: a reading told before
/// that is one of while it was still filling.
fn until_told_at_rest(words: Vec<OsString>, pid: u32) -> Vec<Value> {
    let mut told = Vec::new();
    wait_until("it is told at rest", || {
        told = batch(words.clone());
        let all = told[0]["processes"].as_array().unwrap();
        all.iter()
            .any(|one| one["pid"] == pid && one["memory"].is_i64() && one["state"] == "S")
    });
    told
}

fn is_held(one: &Value) {
    let number = |name: &str| {
        one[name]
            .as_i64()
            .unwrap_or_else(|| panic!("{name} of {one}"))
    };
    // The peak is not read each time through /proc.
    let names = ["rss", "memory", "rss_peak"];
    let told = names.iter().filter(|name| !one[**name].is_null());
    assert!(told.clone().count() >= 2, "{one}");
    for name in told.copied() {
        let mib = number(name) as f64 / MIB as f64;
        assert!((32.0..34.0).contains(&mib), "{name}: {mib} MiB of {one}");
    }
    assert_eq!(number("threads"), 1, "{one}");
    assert_eq!(one["state"], "S", "{one}");
    let command = one["command"].as_str().unwrap();
    assert!(command.ends_with("fill.static 32 hold"), "{one}");
}

#[test]
fn known_by_construction_by_itself() {
    let name = job_name(1);
    let (fill, busy) = (held(&name), busy());
    let readings = batch(words!["--no-agent", "--count", "3", "--interval", "500ms"]);
    assert_eq!(readings.len(), 3);
    let [first, .., last] = readings.as_slice() else {
        panic!("{readings:?}");
    };
    assert_eq!(first["rates_since_start"], true);
    assert_eq!(last["rates_since_start"], false);
    is_held(process(last, fill.pid()));
    assert_eq!(process(last, fill.pid())["cpu_share"].as_f64(), Some(0.0));
    assert_eq!(process(last, fill.pid())["job"], name.as_str());
    let one = process(last, busy.pid());
    let (used, waited) = (one["cpu_share"].as_f64(), one["cpu_wait_share"].as_f64());
    // It runs or waits for a CPU all of the time.
    let both = used.unwrap() + waited.unwrap_or(1.0);
    assert!(used > Some(0.0) && (0.6..1.4).contains(&both), "{one}");
    let jobs = last["jobs"].as_array().unwrap();
    let job = jobs
        .iter()
        .find(|job| job["identifier"] == name.as_str())
        .unwrap();
    let memory = job["memory"].as_f64().unwrap() / MIB as f64;
    assert!((32.0..34.0).contains(&memory), "{job}");
    fill.send(Signal::KILL);
    busy.send(Signal::KILL);
    fill.finish();
    busy.finish();
}

fn known_by_construction_from_an_agent_and_from_its_dataset(mechanism: Mechanism) {
    let served = served(mechanism, "100ms", &[]);
    let name = job_name(if mechanism == Mechanism::Bpf { 2 } else { 3 });
    let fill = held(&name);
    let pid = fill.pid();
    let live = words!["--socket", served.socket, "--count", "1", "--job", name];
    let told = until_told_at_rest(live, pid);
    is_held(process(&told[0], pid));
    let all = told[0]["processes"].as_array().unwrap();
    assert!(
        all.iter().all(|one| one["job"] == name.as_str()),
        "{told:?}"
    );
    if cfg!(feature = "query") {
        let past = words!["--dataset", served.dataset, "--count", "1"];
        let told = until_told_at_rest(past, pid);
        is_held(process(&told[0], pid));
        assert_eq!(process(&told[0], pid)["job"], name.as_str());
        // Before it began.
        let first = words![
            "--dataset",
            served.dataset,
            "--count",
            "1",
            "--at",
            "2000-01-01"
        ];
        let mut command = words![plimsoll(), "top", "--batch"];
        command.extend(first);
        let done = Run::bare(command).finish();
        done.expect_status(1);
        assert!(
            done.stderr.contains("no readings within"),
            "{}",
            done.stderr
        );
    }
    job_now(&served, &name, pid);
    fill.send(Signal::KILL);
    fill.finish();
    served.end();
}

/// `plimsoll job`, as the agent tells it.
fn job_now(served: &Served, name: &str, pid: u32) {
    if !cfg!(feature = "query") {
        return;
    }
    let job = |more: &[&str]| {
        let mut command = words![plimsoll(), "job", name, "--socket", served.socket];
        command.extend(more.iter().map(OsString::from));
        let done = Run::bare(command).finish();
        done.expect_status(0);
        done.stdout
    };
    let told: Value = serde_json::from_str(&job(&["--format", "json"])).unwrap();
    let host = &told["hosts"][0];
    assert_eq!(
        (&told["is_live"], &host["processes"]),
        (&true.into(), &1.into())
    );
    for column in ["memory_peak", "rss_peak"] {
        let mib = host[column].as_i64().unwrap() as f64 / MIB as f64;
        assert!((32.0..34.0).contains(&mib), "{column}: {told}");
    }
    assert_eq!(told["longest"][0]["pid"], pid);
    let command = told["longest"][0]["command"].as_str().unwrap();
    assert!(command.ends_with("fill.static 32 hold"), "{told}");
    let screen = job(&[]);
    assert!(
        screen.starts_with(&format!("job {name} (slurm): here now")),
        "{screen}"
    );
}

/// What a job's processes used that came and went between two readings is told in its cores.
#[test]
fn those_who_came_and_went_are_counted() {
    if !crate::harness::process::is_root() {
        skip!("what ends used is told to root, by BPF");
    }
    let served = served(Mechanism::Default, "1s", &[]);
    let name = job_name(4);
    let burn = program("burn.static").display().to_string();
    let script = format!("while :; do {burn} 20 >/dev/null; done");
    let mut command = words!["env", format!("SLURM_JOB_ID={name}")];
    command.extend(words!["/bin/sh", "-c", script]);
    let job = Run::bare(command).start();
    let told = batch(words!["--socket", served.socket, "--count", "5"]);
    job.send(Signal::KILL);
    job.finish();
    let ends = served.end();
    if !ends.stderr.contains("by bpf") {
        skip!("what ends used is told by BPF");
    }
    let last = told.last().unwrap();
    let jobs = last["jobs"].as_array().unwrap();
    let job = jobs
        .iter()
        .find(|job| job["identifier"] == name.as_str())
        .unwrap();
    assert!(job["ended"].as_i64() > Some(3), "{job}");
    let ended = job["ended"].as_f64().unwrap();
    // A busy machine lets the agent pass over a reading.
    let at = |reading: &Value| reading["at_ns"].as_f64().unwrap();
    let seconds = (at(last) - at(&told[told.len() - 2])) / 1e9;
    // 20 ms of each, and what it takes to begin and to end.
    let used = job["cores"].as_f64().unwrap() * seconds;
    assert!(
        (ended * 0.018..ended * 0.04 + 0.1).contains(&used),
        "{seconds} s: {job}"
    );
}
