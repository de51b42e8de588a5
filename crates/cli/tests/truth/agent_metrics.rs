//! `/metrics` of an agent: what it tells of jobs is what they used, no counter goes back, the sum
//! is the whole, and no client keeps another from his page.

use crate::agent_jobs::{Step, new_id};
use crate::harness::dataset::{agent, compact, rows, wait_for_reading};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Signal, is_root, wait_until};
use crate::harness::run::{Done, Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

mod clients;
mod page;

use page::{At, Page};

each_reader!(a_job_that_burns, three_jobs_and_one_place, hostile_labels,);

/// An agent that reads often and answers.
fn answering(mechanism: Mechanism, more: &[&str]) -> (Running, At) {
    let mut options = mechanism.options().to_vec();
    options.extend(["--interval", "100ms", "--compact", "never"]);
    options.extend(["--metrics", "127.0.0.1:0"]);
    options.extend(more);
    let agent = agent(&options).start();
    let at = At::of(&agent);
    (agent, at)
}

/// The dataset of an agent.
fn dataset(agent: &Running) -> PathBuf {
    agent.folder().join("d")
}

/// A program of a job that only its environment tells.
fn member(id: &str, more: &[OsString], command: Vec<OsString>) -> Run {
    let mut all = words!["/usr/bin/env", format!("SLURM_JOB_ID={id}")];
    all.extend(more.iter().cloned());
    all.extend(command);
    Run::bare(all)
}

#[track_caller]
fn stop(agent: Running) -> Done {
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    done
}

fn cpu_us(running: &Running) -> f64 {
    let told = running.stdout();
    let line = told.lines().find_map(|line| line.strip_prefix("cpu_us "));
    line.unwrap().trim().parse::<f64>().unwrap() / 1e6
}

fn a_job_that_burns(mechanism: Mechanism) {
    let (mut agent, at) = answering(mechanism, &[]);
    let dataset = dataset(&agent);
    wait_for_reading(&mut agent, &dataset);
    let id = new_id();
    let command = words![program("burn"), "300", "hold"];
    let mut burn = member(&id, &["SLURM_JOB_ACCOUNT=physics".into()], command).start();
    burn.wait_for("cpu_us");
    let told = cpu_us(&burn);
    let labels = [("kind", "job"), ("job_id", id.as_str())];
    let mut last = Page::default();
    wait_until("the job has its time", || {
        last = at.page();
        // Its environment is asked for at leisure, and it may have been told of before.
        let before = last.get("plimsoll_job_cpu_before_seconds", &labels);
        let cpu = last.get("plimsoll_job_cpu_seconds_total", &labels);
        let cpu = cpu.map(|cpu| cpu + before.unwrap_or(0.0));
        cpu.is_some_and(|cpu| (cpu - told).abs() < 0.003 + told * 0.01)
    });
    assert_eq!(last.get("plimsoll_job_processes", &labels), Some(1.0));
    assert_eq!(last.get("plimsoll_job_threads", &labels), Some(1.0));
    let age = last.get("plimsoll_job_age_seconds", &labels).unwrap();
    assert!(age > 0.2, "{age}");
    let resident = last.get("plimsoll_job_resident_bytes", &labels).unwrap();
    assert!((1e5..1e8).contains(&resident), "{resident}");
    let known = [
        ("job_id", id.as_str()),
        ("scheduler", "slurm"),
        ("account", "physics"),
    ];
    assert_eq!(last.get("plimsoll_job_info", &known), Some(1.0));
    // Nothing that another reader would take for something else.
    last.expect_read_by_prometheus();
    at.page_as("text/plain").expect_types_of_text();
    burn.send(Signal::TERM);
    burn.finish();
    wait_until("the job is over and still shown", || {
        let page = at.page();
        page.get("plimsoll_job_processes", &labels) == Some(0.0)
            && page.get("plimsoll_job_processes_ended_total", &labels) >= Some(1.0)
    });
    stop(agent);
}

#[cfg(feature = "nvml")]
#[test]
fn what_a_job_has_of_devices() {
    let driver = crate::agent_gpu::Driver::new();
    let id = new_id();
    let one = member(&id, &[], words!["/bin/sleep", "600"]).start();
    driver.says("pid", &one.pid().to_string());
    let agent = driver.agent(&["--metrics", "127.0.0.1:0"]);
    let at = At::of(&agent);
    let labels = [("kind", "job"), ("job_id", id.as_str())];
    wait_until("the job has its devices", || {
        let page = at.page();
        let memory = page.get("plimsoll_job_gpu_memory_bytes", &labels);
        // Idle but for the first reading.
        let busy = page.get("plimsoll_job_gpu_busy", &labels);
        (memory, busy) == (Some((700 << 20) as f64), Some(0.0))
    });
    let part = [("part", "GPU-1 MIG-1-0")];
    let page = at.page();
    page.expect_read_by_prometheus();
    let used = page.get("plimsoll_gpu_device_memory_used_bytes", &part);
    assert_eq!(used, Some((300 << 20) as f64));
    one.send(Signal::TERM);
    one.finish();
    stop(agent);
}

/// Over netlink some are told without their job.
#[test]
fn processes_shorter_than_the_interval() {
    with(Mechanism::Bpf, shorter_than_the_interval);
}

fn shorter_than_the_interval(mechanism: Mechanism) {
    if !is_root() {
        skip!("control groups are root's, and so are the ends of others' processes");
    }
    let id = new_id();
    let Some(step) = Step::new(&id, "batch") else {
        skip!("no control group can be made here");
    };
    let (mut agent, at) = answering(mechanism, &[]);
    let dataset = dataset(&agent);
    wait_for_reading(&mut agent, &dataset);
    let (storm, burn) = (program("storm"), program("burn"));
    let script = format!(
        "exec '{}' 40 2 fork '{}' 15",
        storm.display(),
        burn.display()
    );
    let running = Run::bare(step.shell(&script)).start();
    let done = running.finish();
    done.expect_status(0);
    let all = done.stdout.lines().rev();
    let told = all.filter_map(|line| line.strip_prefix("cpu_us ")).next();
    let told = told.unwrap().trim().parse::<f64>().unwrap() / 1e6;
    let least = told * 0.99 - 0.003;
    let labels = [("kind", "job"), ("job_id", id.as_str())];
    let mut seen = None;
    wait_until("all ends are told", || {
        let page = at.page();
        seen = page.get("plimsoll_job_cpu_seconds_total", &labels);
        page.get("plimsoll_job_processes_ended_total", &labels) >= Some(41.0)
    });
    let seen = seen.unwrap();
    assert!(
        (least..told * 1.02 + 0.02).contains(&seen),
        "{seen} of {told}"
    );
    stop(agent);
}

/// Jobs come and go, and only one may have series.
fn three_jobs_and_one_place(mechanism: Mechanism) {
    let own = format!("pid:{}", std::process::id());
    let options = ["--metrics-jobs", "1", "--young", "off", "--select", &own];
    let (mut agent, at) = answering(mechanism, &options);
    let folder = dataset(&agent);
    wait_for_reading(&mut agent, &folder);
    let ids = [new_id(), new_id(), new_id()];
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do '{}' 60; sleep 0.1; done; exec sleep 1000",
        program("burn").display()
    );
    let start = |id: &String| member(id, &[], words!["/bin/sh", "-c", script]).start();
    let mut jobs: Vec<_> = ids.iter().map(start).collect();
    let mut before: BTreeMap<String, f64> = BTreeMap::new();
    for round in 0..60 {
        let page = at.page();
        let now = page.counters();
        for (series, value) in &before {
            let is_job = |series: &str| series.contains("kind=\"job\"");
            match now.get(series) {
                Some(later) => assert!(later >= value, "{series}: {value} {later}"),
                None => assert!(is_job(series), "{series} is gone"),
            }
        }
        let shown = page.get("plimsoll_jobs_shown", &[]).unwrap_or_default();
        assert!(shown <= 1.0, "{shown}");
        before = now;
        if round == 30 {
            let first = jobs.remove(0);
            first.send(Signal::KILL);
            first.finish();
        }
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    for job in jobs {
        job.send(Signal::KILL);
        job.finish();
    }
    wait_until("no job", || {
        at.page().get("plimsoll_jobs", &[]) == Some(0.0)
    });
    wait_for_reading(&mut agent, &folder);
    let last = at.page();
    let read_at = last.get("plimsoll_agent_last_reading_timestamp_seconds", &[]);
    let held = last.get("plimsoll_jobs_cpu_held_seconds", &[]).unwrap();
    let sum = last.sum("plimsoll_job_cpu_seconds_total") + held;
    let done = stop(agent);
    let most = spent(&done.path("d"), read_at.unwrap());
    // What was told between that reading and the page, of other tests.
    assert!((sum - most).abs() < 0.01 + most * 0.02, "{sum} {most}");
    let in_jobs = last.sum_of("plimsoll_job_cpu_seconds_total", &["job", "rest", "ended"]);
    assert!(in_jobs > 0.3, "{in_jobs}");
}

/// The most that is told of each process by then, all together, seconds.
fn spent(dataset: &std::path::Path, by: f64) -> f64 {
    let mut most: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for table in ["sample", "exit"] {
        for row in rows(dataset, table) {
            // Microseconds since 1970.
            if row.number("time") as f64 / 1e6 > by + 0.001 {
                continue;
            }
            let key = (row.number("pid"), row.number("start_ns"));
            let least = || match table {
                "exit" => row.get("cpu_time_min"),
                _ => None,
            };
            let cpu = row.get("cpu_time").or_else(least).unwrap_or(0);
            let known = most.entry(key).or_default();
            *known = cpu.max(*known);
        }
    }
    most.values().sum::<i64>() as f64 / 1e9
}

/// What users write into names does not become more lines.
fn hostile_labels(mechanism: Mechanism) {
    let (mut agent, at) = answering(mechanism, &[]);
    let folder = dataset(&agent);
    wait_for_reading(&mut agent, &folder);
    let id = new_id();
    let name = OsString::from_vec(b"SLURM_JOB_NAME=a\n\"b\\\xff} 1\n# EOF".to_vec());
    let hold = Run::bare(Vec::new());
    let file = hold.path("pid");
    let mut running = member(&id, &[name], words![program("hold"), file]).start();
    running.wait_for_pids(&file);
    let mut last = Page::default();
    wait_until("the job is told", || {
        last = at.page();
        last.get("plimsoll_job_info", &[("job_id", id.as_str())]) == Some(1.0)
    });
    last.expect_read_by_prometheus();
    assert!(!last.text().contains("\n\"b"), "{}", last.text());
    running.send(Signal::TERM);
    running.finish();
    stop(agent);
}

/// It ends with the agent; the agent goes on without it.
#[test]
fn the_agent_and_who_answers_end_as_they_should() {
    let (mut agent, at) = answering(Mechanism::Procfs, &[]);
    let folder = dataset(&agent);
    wait_for_reading(&mut agent, &folder);
    let page = at.page();
    assert_eq!(
        page.get("plimsoll_metrics_frames_unread_total", &[]),
        Some(0.0)
    );
    let children = process::children(agent.pid());
    assert_eq!(children.len(), 2, "{children:?}");
    let answers = children[1];
    let status = fs::read_to_string(format!("/proc/{answers}/status")).unwrap();
    let has = |line: &str| status.lines().any(|one| one == line);
    for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
        assert!(has(line), "{line} in {status}");
    }
    agent.send(Signal::KILL);
    agent.finish();
    wait_until("who answers ends", || process::state(answers).is_none());
    let (mut agent, _) = answering(Mechanism::Procfs, &[]);
    let folder = dataset(&agent);
    wait_for_reading(&mut agent, &folder);
    assert!(process::send(
        process::children(agent.pid())[1],
        Signal::KILL
    ));
    wait_until("the agent says so", || {
        let told = fs::read_to_string(agent.folder().join("stderr")).unwrap();
        told.matches("who answers --metrics has ended").count() == 1
    });
    wait_for_reading(&mut agent, &folder);
    agent.send(Signal::TERM);
    agent.finish().expect_status(0);
}
