//! Times where the clocks of the task are not those of the kernel (`time_namespaces(7)`).

use crate::harness::expect::number;
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
use crate::harness::{each_mechanism, skip, words};
use record::report::Process;
use std::process::{Command, Stdio};

each_mechanism!(a_clock_that_is_ahead, a_clock_that_is_behind);

/// A shell whose child sleeps for half a second, 100 ms after its start, where the clocks are so
/// many seconds ahead of the kernel's; nothing if no such place can be made.
fn apart(mechanism: Mechanism, boottime: &str, monotonic: &str) -> Option<Done> {
    let wrapper = words![
        "unshare",
        "--time",
        "--fork",
        "--boottime",
        boottime,
        "--monotonic",
        monotonic
    ];
    let (first, rest) = wrapper.split_first()?;
    let mut trial = Command::new(first);
    trial.args(rest).arg("true").stderr(Stdio::null());
    if !trial.status().is_ok_and(|status| status.success()) {
        return None;
    }
    let script = "sleep 0.1; sleep 0.5; exit 0";
    let done = Run::watched(mechanism, words!["/bin/sh", "-c", script])
        .options(["--interval", "50ms", "--with", "processes"])
        .wrapped(wrapper)
        .finish();
    done.expect_status(0);
    Some(done)
}

fn check(mechanism: Mechanism, boottime: &str, monotonic: &str) {
    let Some(done) = apart(mechanism, boottime, monotonic) else {
        skip!("no time namespace for this user or kernel");
    };
    let wall = number(&done, "wall_time");
    assert!((600e6..500e9).contains(&wall), "{wall}\n{}", done.context());
    let text = std::fs::read_to_string(done.path("r.processes.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let processes: Vec<Process> = lines.collect();
    let sleeper = processes
        .iter()
        .find(|one| one.command.last().is_some_and(|word| word == "0.5"));
    let Some(sleeper) = sleeper else {
        panic!("who slept is not among {processes:?}");
    };
    let start = sleeper.start_ns.0 as f64;
    let end = sleeper.end_ns.map_or(wall, |end| end.0 as f64);
    // A start by samples is in steps of 10 ms.
    assert!(start >= 90e6 && start < wall, "{start} of {wall}");
    assert!(end - start >= 400e6 && end <= wall + 100e6, "{start} {end}");
}

fn a_clock_that_is_ahead(mechanism: Mechanism) {
    check(mechanism, "1000000", "200000");
}

fn a_clock_that_is_behind(mechanism: Mechanism) {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: u64 = uptime.split('.').next().unwrap().parse().unwrap();
    // No clock may be below 0.
    let behind = format!("-{}", seconds / 2);
    check(mechanism, &behind, "1000000");
}
