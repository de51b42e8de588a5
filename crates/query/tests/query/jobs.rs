//! A job on one screen, of a dataset whose every number is known.

use crate::dataset::{AT, Agent, MIB, SECOND, Value, engine};
use query::job::{Job, notes};
use query::{Heed, Params};
use std::path::Path;

fn second(second: i64) -> i64 {
    AT as i64 + second * SECOND as i64
}

fn named(agent: &mut Agent, pid: i64, job: &'static str) {
    let key = [
        ("pid", Value::Int(pid)),
        ("start_ns", Value::Int(second(0))),
        ("identifier", Value::Text(job)),
    ];
    agent.cells(0, "process", &key);
}

fn ended(agent: &mut Agent, pid: i64, (start, end): (i64, i64), cpu: i64) {
    let row = [
        ("pid", Value::Int(pid)),
        ("start_ns", Value::Int(second(start))),
        ("end_ns", Value::Int(second(end))),
        ("comm", Value::Text("short")),
        ("cpu_time", Value::Int(cpu * SECOND as i64)),
        ("identifier", Value::Text("9")),
    ];
    agent.cells(end, "exit", &row);
}

fn of(dataset: &Path, job: &str) -> Job {
    let params = Params {
        job: Some(job.to_owned()),
        ..Params::default()
    };
    let job = Job::of(&engine(dataset), &params, &mut |_| Heed::Go);
    job.unwrap().unwrap()
}

/// A shell waits for programs that no reading meets; another job is young and read each second.
#[test]
fn short_processes_are_in_the_most_cpus_that_were_busy() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    named(&mut agent, 100, "9");
    named(&mut agent, 900, "8");
    for at in 0..=20_i64 {
        let cpu = |share: i64| vec![("cpu_time", at * SECOND as i64 * share / 10)];
        let mut there = vec![((900, second(0)), cpu(10))];
        if at % 10 == 0 {
            there.insert(0, ((100, second(0)), cpu(1)));
        }
        agent.reading(at, &there, &[]);
        match at {
            3 => ended(&mut agent, 200, (1, 3), 2),
            13 => ended(&mut agent, 300, (11, 13), 6),
            18 => ended(&mut agent, 400, (11, 18), 10),
            _ => {}
        }
    }
    agent.close();
    let job = of(folder.path(), "9");
    let [host] = job.hosts.as_slice() else {
        panic!("{job:?}");
    };
    // 0.1 of the shell, and in the second ten seconds 16 s of two others.
    let peak = host.cores_peak.unwrap();
    assert!((peak - 1.7).abs() < 1e-9, "{peak}");
    assert_eq!(host.cpu_time, Some(20 * SECOND as i64));
    assert_eq!(host.period_ns, Some(10 * SECOND as i64));
}

/// The last one ends between two readings, as those of most jobs do: what it used since the reading
/// before is told of the time up to then.
#[test]
fn the_last_end_of_a_job_is_in_the_most_cpus_that_were_busy() {
    for round in 0..8_i64 {
        let folder = tempfile::tempdir().unwrap();
        let mut agent = Agent::new(folder.path(), 1);
        named(&mut agent, 100, "9");
        for at in 0..=round + 2 {
            let cpu = ("cpu_time", at * SECOND as i64 / 10);
            agent.reading(2 * at, &[((100, second(0)), vec![cpu])], &[]);
        }
        let last = 2 * (round + 2);
        for (pid, end) in [(200, 1), (300, last + 1)] {
            ended(&mut agent, pid, (end - 1, end), 1);
        }
        agent.close();
        let job = of(folder.path(), "9");
        let peak = job.hosts[0].cores_peak.unwrap();
        assert!((peak - 1.0).abs() < 1e-9, "{peak}");
    }
}

/// Of a job that was killed for want of memory, the one that wanted it and not those beside it.
#[test]
fn of_those_that_were_killed_the_largest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    named(&mut agent, 100, "9");
    agent.reading(1, &[((100, second(0)), vec![("rss", MIB)])], &[]);
    // The last one is as large, and ended by itself.
    for (pid, signal, mib) in [(200, 9, 2), (300, 9, 90), (400, 9, 3), (500, 0, 95)] {
        let mut row = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(second(1))),
            ("end_ns", Value::Int(second(2))),
            ("comm", Value::Text("grow")),
            ("rss_peak", Value::Int(mib * MIB)),
            ("identifier", Value::Text("9")),
        ];
        match signal {
            0 => row.push(("exit_code", Value::Int(0))),
            signal => row.push(("signal", Value::Int(signal))),
        }
        agent.cells(2, "exit", &row);
    }
    agent.close();
    let killed = of(folder.path(), "9").killed.unwrap();
    assert_eq!((killed.pid, killed.rss_peak), (300, Some(90 * MIB)));
}

/// Two processes of the job on one device, and one of another job on another.
#[test]
fn what_a_job_has_of_a_device_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    for (pid, job) in [(100, "9"), (200, "9"), (300, "8")] {
        named(&mut agent, pid, job);
    }
    for at in 1..=2 {
        let there = [100, 200, 300].map(|pid| ((pid, second(0)), vec![("rss", MIB)]));
        agent.reading(at, &there, &[]);
        let rows = [
            ((100, second(0)), "GPU-1", [10 * at * MIB, 200_000]),
            ((200, second(0)), "GPU-1", [30 * MIB, 400_000]),
            ((300, second(0)), "GPU-2", [500 * MIB, 900_000]),
        ];
        agent.devices(at, &rows);
    }
    agent.close();
    let job = of(folder.path(), "9");
    assert_eq!(job.gpus_told, None, "it was given none");
    let [gpu] = job.gpus.as_slice() else {
        panic!("{job:?}");
    };
    let told = (gpu.device.as_str(), gpu.memory_peak);
    assert_eq!(told, ("GPU-1", Some(50 * MIB)));
    let (mean, peak) = (gpu.busy_mean.unwrap(), gpu.busy_peak.unwrap());
    assert!((mean - 0.6).abs() < 1e-9 && (peak - 0.6).abs() < 1e-9);
}

/// Both were given two: the one's host tells of devices, but not while it runs.
#[test]
fn devices_that_nobody_told_of_are_not_idle() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    for (pid, job) in [(100, "9"), (200, "8")] {
        named(&mut agent, pid, job);
        let row = [
            ("scheduler", Value::Text("slurm")),
            ("identifier", Value::Text(job)),
            // By accounting, or by its environment alone.
            match job {
                "9" => ("gpus_allocated", Value::Int(2)),
                _ => ("gpus_requested", Value::Int(2)),
            },
        ];
        agent.cells(0, "job", &row);
    }
    for at in 1..=4 {
        let pid = if at <= 2 { 100 } else { 200 };
        let mut of_machine = vec![("gpu_device_busy", "card0", 0)];
        if at > 2 {
            of_machine.push(("gpu_device_busy", "GPU-1", 0));
            of_machine.push(("gpu_device_power", "GPU-1", 5));
            of_machine.push(("gpu_device_busy", "GPU-2", 0));
        }
        let there = [((pid, second(0)), vec![("rss", MIB)])];
        agent.reading(at, &there, &of_machine);
    }
    agent.close();
    for (job, told, words) in [
        ("9", 0, "its 2 GPUs are not told of by any reading"),
        ("8", 2, "2 of 2 GPUs met no process of it in any reading"),
    ] {
        let job = of(folder.path(), job);
        assert_eq!(job.gpus_told, Some(told));
        let notes = notes(&job);
        assert!(notes.iter().any(|note| note == words), "{notes:?}");
    }
}
