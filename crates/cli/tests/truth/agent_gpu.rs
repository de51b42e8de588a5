//! The devices of an agent: a stand-in for the driver's library says what it holds and who is on
//! it, the dataset must say the same; what the stand-in runs into is no trouble of the agent's.

use crate::agent_jobs::new_id;
use crate::harness::dataset::{Row, agent, compact, live, rows, wait_for_reading};
use crate::harness::process::{self, Signal, wait_until};
use crate::harness::run::{Done, Run, Running, plimsoll};
use crate::harness::workload::program;
use crate::harness::{executable, words};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// A place with the stand-in, which everyone may read: who asks is nobody where root is the agent.
pub(crate) struct Driver(TempDir);

impl Driver {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("plimsoll-gpu-")
            .permissions(Permissions::from_mode(0o755))
            .tempdir()
            .unwrap();
        let driver = Self(folder);
        let name = "libnvidia-ml.so.1";
        fs::copy(program(name), driver.path(name)).unwrap();
        driver
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that the stand-in reads.
    pub(crate) fn says(&self, name: &str, text: &str) {
        let aside = self.path("aside");
        fs::write(&aside, text).unwrap();
        fs::set_permissions(&aside, Permissions::from_mode(0o644)).unwrap();
        fs::rename(aside, self.path(name)).unwrap();
    }

    /// An agent that loads the stand-in.
    pub(crate) fn agent(&self, more: &[&str]) -> Running {
        let mut options = vec!["--interval", "100ms", "--compact", "never", "--gpu", "on"];
        options.extend(more);
        let file = |variable: &str, name: &str| {
            let path = self.path(name);
            format!("{variable}={}", path.display())
        };
        let place = words![
            "/usr/bin/env",
            format!("LD_LIBRARY_PATH={}", self.0.path().display()),
            file("GPU_PID_FILE", "pid"),
            file("GPU_PART_PID_FILE", "part"),
            file("GPU_TROUBLE", "trouble"),
        ];
        agent(&options).wrapped(place).start()
    }
}

fn dataset(agent: &Running) -> PathBuf {
    agent.folder().join("d")
}

/// Waits until everything was read `count` times more.
#[track_caller]
fn readings(agent: &mut Running, count: usize) {
    for _ in 0..count {
        let dataset = dataset(agent);
        wait_for_reading(agent, &dataset);
    }
}

#[track_caller]
fn stop(agent: Running) -> Done {
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    done
}

fn sleeper() -> Running {
    Run::bare(words!["/bin/sleep", "600"]).start()
}

/// What `node` has of a metric and a device, in the order of time: when, and what.
fn told(dataset: &std::path::Path, metric: &str, device: &str) -> Vec<(i64, i64)> {
    let mut all: Vec<_> = rows(dataset, "node")
        .iter()
        .filter(|row| row.text("metric").as_deref() == Some(metric))
        .filter(|row| row.text("instance").as_deref() == Some(device))
        .map(|row| (row.number("at_ns"), row.number("value")))
        .collect();
    all.sort_unstable();
    all
}

fn of(rows: &[Row], pid: u32, device: &str) -> Vec<Row> {
    let is_it = |row: &&Row| {
        row.number("pid") == i64::from(pid) && row.text("device").as_deref() == Some(device)
    };
    let mut all: Vec<_> = rows.iter().filter(is_it).cloned().collect();
    all.sort_by_key(|row| row.number("at_ns"));
    all
}

#[test]
fn devices_and_who_is_on_them_are_in_the_dataset() {
    let driver = Driver::new();
    let (one, other) = (sleeper(), sleeper());
    driver.says("pid", &one.pid().to_string());
    driver.says("part", &other.pid().to_string());
    let mut agent = driver.agent(&[]);
    readings(&mut agent, 3);
    let done = stop(agent);
    let told_so = "reading devices of NVIDIA by NVML";
    assert!(done.stderr.contains(told_so), "{}", done.context());
    let dataset = done.path("d");
    let samples = rows(&dataset, "sample");
    let instants: BTreeSet<_> = samples.iter().map(|row| row.number("at_ns")).collect();
    let gpu = rows(&dataset, "gpu");
    for (who, device, memory, busy) in [
        (one.pid(), "GPU-0", 700 << 20, Some(0)),
        (other.pid(), "GPU-1 MIG-1-0", 300 << 20, None),
    ] {
        let rows = of(&gpu, who, device);
        assert!(rows.len() >= 3, "{gpu:?}");
        for (place, row) in rows.iter().enumerate() {
            assert_eq!(row.number("memory"), memory);
            // The mean of 40 and 60 %, and idle from then on.
            let busy = busy.map(|later| if place == 0 { 500_000 } else { later });
            assert_eq!(row.get("busy"), busy, "{row:?}");
            assert!(instants.contains(&row.number("at_ns")), "{row:?}");
            let is_sample = |it: &Row| {
                let same = |column: &str| it.number(column) == row.number(column);
                same("pid") && same("start_ns") && same("at_ns")
            };
            assert!(samples.iter().any(is_sample), "{row:?}");
        }
    }
    // The other process on the first device is none of this machine's, or somebody else.
    let known: BTreeSet<_> = gpu.iter().map(|row| row.number("pid")).collect();
    assert!(known.is_subset(&[one.pid(), other.pid(), 8].map(i64::from).into()));
    let energy = told(&dataset, "gpu_device_energy", "GPU-0");
    let values: Vec<_> = energy.iter().map(|(_, value)| *value).collect();
    let each: Vec<i64> = (1..=values.len() as i64).map(|n| n * 1_000_000).collect();
    assert_eq!(values, each, "a joule a reading");
    assert!(energy.iter().all(|(at, _)| instants.contains(at)));
    for (metric, device, value) in [
        ("gpu_device_busy", "GPU-0", 700_000),
        ("gpu_device_power", "GPU-0", 250_500_000),
        ("gpu_device_temperature", "GPU-0", 61_000),
        ("gpu_device_memory_used", "GPU-1 MIG-1-0", 300 << 20),
        ("gpu_device_memory", "GPU-1 MIG-1-0", 5 << 30),
    ] {
        let told = told(&dataset, metric, device);
        assert_eq!(told.len(), energy.len(), "{metric}");
        assert!(told.iter().all(|(_, it)| *it == value), "{metric} {told:?}");
    }
    assert_eq!(told(&dataset, "gpu_device_power", "GPU-1"), []);
}

#[test]
fn only_the_processes_that_are_wanted_are_told() {
    let driver = Driver::new();
    let (one, other) = (sleeper(), sleeper());
    driver.says("pid", &one.pid().to_string());
    driver.says("part", &other.pid().to_string());
    let wanted = format!("pid:{}", other.pid());
    let mut agent = driver.agent(&["--select", &wanted]);
    readings(&mut agent, 2);
    let done = stop(agent);
    let gpu = rows(&done.path("d"), "gpu");
    assert!(!gpu.is_empty());
    let pid = i64::from(other.pid());
    assert!(gpu.iter().all(|row| row.number("pid") == pid), "{gpu:?}");
}

/// What `watch` tells at once of a job and its devices.
#[track_caller]
fn watched(socket: &str, job: &str) -> Vec<Value> {
    let mut command = words![plimsoll(), "agent", "watch", "--once", "--socket", socket];
    let select = format!("job:{job}");
    command.extend(words![
        "--format",
        "json",
        "--tables",
        "gpu,sample",
        "--select",
        select
    ]);
    let done = Run::bare(command).finish();
    done.expect_status(0);
    let lines = done.stdout.lines().map(|line| line.parse().unwrap());
    lines.filter(|it: &Value| it["record"] == "gpu").collect()
}

/// Two jobs have one device each; one of them leaves it.
#[test]
fn what_a_job_has_of_devices_now_is_told() {
    let driver = Driver::new();
    let (id, other_id) = (new_id(), new_id());
    let of_job = |id: &str| {
        let job = format!("SLURM_JOB_ID={id}");
        let command = words!["/usr/bin/env", job, "/bin/sleep", "600"];
        Run::bare(command).start()
    };
    let (one, other) = (of_job(&id), of_job(&other_id));
    driver.says("pid", &one.pid().to_string());
    driver.says("part", &other.pid().to_string());
    let socket = driver.path("agent.sock").display().to_string();
    let mut agent = driver.agent(&["--socket", &socket]);
    readings(&mut agent, 3);
    for (who, job, device, memory) in [
        (&one, &id, "GPU-0", 700 << 20),
        (&other, &other_id, "GPU-1 MIG-1-0", 300 << 20),
    ] {
        let told = watched(&socket, job);
        let [row] = told.as_slice() else {
            panic!("{told:?}");
        };
        let key = (&row["pid"], &row["device"], &row["memory"]);
        assert_eq!(key, (&who.pid().into(), &device.into(), &memory.into()));
        #[cfg(feature = "query")]
        {
            let mut command = words![plimsoll(), "job", job, "--socket", socket];
            command.extend(words!["--format", "json"]);
            let done = Run::bare(command).finish();
            done.expect_status(0);
            let whole: Value = done.stdout.parse().unwrap();
            let told = whole["gpus"].as_array().unwrap();
            assert_eq!(told.len(), 1, "{}", done.context());
            let key = (&told[0]["device"], &told[0]["memory_peak"]);
            assert_eq!(key, (&device.into(), &memory.into()));
            assert_eq!(whole["gpus_told"], 3);
        }
    }
    driver.says("pid", "0");
    readings(&mut agent, 3);
    assert_eq!(watched(&socket, &id), [Value::Null; 0]);
    assert_eq!(watched(&socket, &other_id).len(), 1);
    stop(agent);
}

/// A driver runs into trouble: the agent goes on, says it once, and tells of devices again after.
fn trouble(what: &str, words: &str) {
    let driver = Driver::new();
    driver.says("trouble", "none");
    let one = sleeper();
    driver.says("pid", &one.pid().to_string());
    let mut agent = driver.agent(&["--gpu-patience", "400ms"]);
    readings(&mut agent, 2);
    driver.says("trouble", what);
    wait_until("the trouble is noticed", || agent.printed().contains(words));
    let before = live(&dataset(&agent)).len();
    readings(&mut agent, 2);
    assert!(live(&dataset(&agent)).len() > before);
    driver.says("trouble", "none");
    let healed = sys::clock::boot() as i64;
    let mut told_again = 0;
    wait_until("the devices are told again", || {
        told_again = instants_of_devices(&dataset(&agent), healed);
        told_again >= 2
    });
    let done = stop(agent);
    assert_eq!(done.stderr.matches(words).count(), 1, "{}", done.context());
    let restarts = told(&done.path("d"), "agent_gpu_restarts", "");
    let (_, restarts) = restarts.last().unwrap();
    assert!(*restarts >= 1, "{restarts}");
    let energy = told(&done.path("d"), "gpu_device_energy", "GPU-0");
    let starts = energy.iter().filter(|(_, value)| *value == 1_000_000);
    assert!(starts.count() >= 2, "loaded again: {energy:?}");
}

/// Instants from `since` on at which the live segments have a process on a device.
fn instants_of_devices(dataset: &std::path::Path, since: i64) -> usize {
    let all = crate::harness::dataset::live_series(dataset, "gpu");
    all.range(since..).count()
}

#[test]
fn a_driver_that_hangs_is_left_behind() {
    trouble("hang", "did not answer within 400.0 ms");
}

#[test]
fn a_driver_that_crashes_is_left_behind() {
    trouble("crash", "was ended by signal 11");
}

/// The pids that have the stand-in loaded.
fn loaded(agent: &Running) -> Vec<u32> {
    let mut all = process::descendants(agent.pid());
    all.push(agent.pid());
    all.retain(|pid| {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"));
        maps.is_ok_and(|maps| maps.contains("libnvidia-ml"))
    });
    all
}

#[test]
fn who_asks_is_another_process_without_privilege_and_ends_with_the_agent() {
    let driver = Driver::new();
    driver.says("trouble", "none");
    let mut agent = driver.agent(&[]);
    readings(&mut agent, 2);
    let all = process::descendants(agent.pid());
    let loaded = loaded(&agent);
    let [asker] = *loaded.as_slice() else {
        panic!("{loaded:?} of {all:?}");
    };
    assert_ne!(asker, agent.pid());
    let status = fs::read_to_string(format!("/proc/{asker}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split_whitespace().next().unwrap().to_owned()
    };
    let uid = if process::is_root() {
        65_534
    } else {
        process::uid()
    };
    assert_eq!(field("Uid:"), uid.to_string());
    assert_eq!(field("CapEff:"), "0".repeat(16));
    assert_eq!(
        (field("NoNewPrivs:"), field("Seccomp:")),
        ("1".into(), "2".into())
    );
    // It cannot answer any more, and the agent cannot tell it anything.
    driver.says("trouble", "hang");
    readings(&mut agent, 1);
    agent.send(Signal::KILL);
    process::wait_until_dead(&all);
}

#[test]
fn the_program_is_asked_where_there_is_no_library() {
    let driver = Driver::new();
    fs::remove_file(driver.path("libnvidia-ml.so.1")).unwrap();
    let one = sleeper();
    let script = format!(
        "#!/bin/sh\ncase $1 in --query-gpu*) echo 'GPU-5, Name, 30, 200, 1000, Disabled';; \
         *) echo 'GPU-5, {}, 150';; esac\n",
        one.pid()
    );
    executable::script(driver.path("nvidia-smi"), &script);
    let options = ["--interval", "200ms", "--compact", "never", "--gpu", "on"];
    let path = format!("PATH={}:/usr/bin:/bin", driver.0.path().display());
    let mut agent = agent(&options)
        .wrapped(words!["/usr/bin/env", path])
        .start();
    wait_until("there are rows", || {
        instants_of_devices(&dataset(&agent), 0) >= 2
    });
    readings(&mut agent, 1);
    let done = stop(agent);
    let told_so = "reading devices of NVIDIA by nvidia-smi";
    assert!(done.stderr.contains(told_so), "{}", done.context());
    let dataset = done.path("d");
    let rows = of(&rows(&dataset, "gpu"), one.pid(), "GPU-5");
    assert!(rows.iter().all(|row| row.number("memory") == 150 << 20));
    let busy = told(&dataset, "gpu_device_busy", "GPU-5");
    assert!(busy.len() >= 2 && busy.iter().all(|(_, it)| *it == 300_000));
}

#[test]
fn where_there_is_no_driver_the_reason_is_said() {
    let mut agent = agent(&["--interval", "100ms", "--compact", "never", "--gpu", "on"]).start();
    if fs::exists("/dev/nvidiactl").unwrap() {
        crate::harness::skip!("this machine has a driver");
    }
    wait_until("the reason is said", || {
        let said = "this machine does not tell: devices of NVIDIA (";
        agent.printed().contains(said)
    });
    readings(&mut agent, 1);
    let done = stop(agent);
    assert!(rows(&done.path("d"), "gpu").is_empty());
    let off = crate::harness::dataset::read_once(&["--interval", "100ms", "--gpu", "off"]);
    let said = "devices of NVIDIA (not asked for)";
    assert!(off.stderr.contains(said), "{}", off.context());
}
