//! The jobs that an agent finds: jobs made by control groups that are called as Slurm calls them,
//! and jobs that only the environment tells; from the first of their processes to the last.

use crate::harness::dataset::{
    Row, agent, compact, live, live_cells, rows, rows_of, wait_for_reading,
};
use crate::harness::expect::slowness;
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Signal, is_alive, is_root, wait_until};
use crate::harness::run::{Done, Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

each_reader!(
    a_job_from_its_first_process_to_its_last,
    an_escapee_without_environment,
    a_job_by_its_control_group,
    an_agent_that_starts_anew,
    the_first_minute,
    nothing_more_in_the_first_minute,
    who_is_in_no_job,
);

/// An id that no other test uses.
pub(crate) fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}{next:02}", process::uid() + std::process::id())
}

/// The words for an agent that reads in this way.
fn options<'a>(mechanism: Mechanism, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = mechanism.options().to_vec();
    words.extend(["--compact", "never"]);
    words.extend(more);
    words
}

/// A program of a job that only its environment tells, until it is ended.
fn member(id: &str, more: &[&str]) -> Running {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let mut command = words!["/usr/bin/env", format!("SLURM_JOB_ID={id}")];
    command.extend(more.iter().map(OsString::from));
    command.extend(words![program("hold"), file]);
    let mut running = run.command(command).start();
    running.wait_for_pids(&file);
    running
}

fn end(running: Running) {
    running.send(Signal::TERM);
    running.finish();
}

/// What the live segments have of a job.
fn told(dataset: &Path, id: &str) -> Vec<BTreeMap<&'static str, String>> {
    let mut rows = live_cells(dataset, "job");
    rows.retain(|row| row["identifier"] == id);
    rows
}

#[track_caller]
fn wait_for_row(dataset: &Path, id: &str, present: &str) {
    wait_until(&format!("a row of {id}, present {present}"), || {
        let rows = told(dataset, id);
        rows.iter().any(|row| row["present"] == present)
    });
}

/// The rows of a job, in the order of time.
fn jobs(dataset: &Path, id: &str) -> Vec<Row> {
    let mut rows = rows(dataset, "job");
    rows.retain(|row| row.text("identifier").as_deref() == Some(id));
    rows.sort_by_key(|row| row.number("at_ns"));
    rows
}

#[track_caller]
fn stop(agent: Running) -> Done {
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    done
}

/// The identifier and the part of the last row of a process.
#[track_caller]
fn filed(dataset: &Path, table: &str, pid: u32) -> (String, String) {
    let rows = rows_of(dataset, table, pid);
    let last = rows.last().unwrap_or_else(|| panic!("no {table} of {pid}"));
    let text = |column| last.text(column).unwrap_or_else(|| "-".to_owned());
    (text("identifier"), text("subidentifier"))
}

fn pair(identifier: &str, part: &str) -> (String, String) {
    (identifier.to_owned(), part.to_owned())
}

/// A control group of a job's step, called as Slurm calls it; taken away at the end.
pub(crate) struct Step {
    /// Of each hierarchy the folder above all and that of the step.
    groups: Vec<(PathBuf, PathBuf)>,
}

impl Step {
    /// Where version 1 has a freezer, there, else in version 2; `None` where none can be made.
    pub(crate) fn new(id: &str, step: &str) -> Option<Self> {
        Self::in_all(id, step, &["freezer"])
    }

    /// In all these hierarchies, or in version 2.
    fn in_all(id: &str, step: &str, hierarchies: &[&str]) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{}x{next}", std::process::id());
        let v2 = Path::new("/sys/fs/cgroup");
        let v1 = hierarchies.iter().map(|hierarchy| v2.join(hierarchy));
        let v1: Vec<_> = v1.filter(|folder| folder.exists()).collect();
        let groups: Vec<_> = match v1.is_empty() {
            false => {
                let below = format!("uid_0/job_{id}/step_{step}");
                let tops = v1.iter().map(|v1| v1.join(format!("slurm_{name}")));
                tops.map(|top| (top.clone(), top.join(&below))).collect()
            }
            true => {
                let below = format!("slurmstepd.scope/job_{id}/step_{step}/user/task_0");
                let top = v2.join(format!("{name}.slice"));
                vec![(top.clone(), top.join(below))]
            }
        };
        for (_, folder) in &groups {
            fs::create_dir_all(folder).ok()?;
        }
        Some(Self { groups })
    }

    /// Words of a shell that goes into the group and is `script` from then on.
    pub(crate) fn shell(&self, script: &str) -> Vec<OsString> {
        let mut enter = String::new();
        for (_, folder) in &self.groups {
            enter += &format!("echo $$ >'{}/cgroup.procs' && ", folder.display());
        }
        enter += "exec \"$@\"";
        words!["/bin/sh", "-c", enter, "sh", "/bin/sh", "-c", script]
    }

    /// The first file of these that the group of the whole job has, as a number.
    fn of_job(&self, names: &[&str]) -> Option<i64> {
        let jobs = self.groups.iter().flat_map(|(_, folder)| {
            let is_job = |folder: &&Path| {
                let name = folder.file_name().unwrap_or_default();
                name.to_string_lossy().starts_with("job_")
            };
            folder.ancestors().filter(is_job)
        });
        let files = jobs.flat_map(|job| names.iter().map(|name| job.join(name)));
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        let first = |text: String| text.split_whitespace().find_map(|word| word.parse().ok());
        texts.filter_map(first).next()
    }

    /// Lets version 2 count memory and CPU time in the group of the job.
    fn count(&self) {
        for (top, folder) in &self.groups {
            let inside = folder.ancestors().take_while(|folder| *folder != top);
            let mut above: Vec<_> = inside.skip(3).collect();
            above.extend([top.as_path(), Path::new("/sys/fs/cgroup")]);
            for folder in above.iter().rev() {
                // Version 1 has no such file; what is not counted is seen by its missing.
                let _ = fs::write(folder.join("cgroup.subtree_control"), "+memory +cpu");
            }
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // A group is empty a moment after its last process has ended.
        for (top, folder) in &self.groups {
            let pids = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
            for pid in pids.lines().filter_map(|line| line.parse().ok()) {
                process::send(pid, Signal::KILL);
            }
            wait_until("the group is gone", || {
                remove(top);
                !top.exists()
            });
        }
    }
}

fn remove(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove(&entry.path());
        }
    }
    // The next try may do.
    let _ = fs::remove_dir(folder);
}

macro_rules! step {
    ($id:expr, $step:expr) => {
        match Step::new($id, $step) {
            Some(step) => step,
            None => skip!("no control group can be made here"),
        }
    };
}

fn a_job_from_its_first_process_to_its_last(mechanism: Mechanism) {
    let id = new_id();
    let mut agent = agent(&options(mechanism, &["--interval", "100ms"])).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let account = "SLURM_JOB_ACCOUNT=physics";
    let begun = sys::clock::boot() as i64;
    let first = member(&id, &[account, "SLURM_JOB_NAME=a b", "SLURM_STEP_ID=0"]);
    wait_for_row(&dataset, &id, "1");
    let second = member(&id, &[account, "SLURM_STEP_ID=1"]);
    wait_until("the second step", || {
        told(&dataset, &id)
            .iter()
            .any(|row| row["steps"] == "2 texts")
    });
    end(first);
    wait_for_reading(&mut agent, &dataset);
    wait_for_reading(&mut agent, &dataset);
    assert!(told(&dataset, &id).iter().all(|row| row["present"] == "1"));
    end(second);
    let ended = sys::clock::boot() as i64;
    wait_for_row(&dataset, &id, "0");
    let done = stop(agent);
    let rows = jobs(&done.path("d"), &id);
    assert!(rows.len() <= 5, "a row for each change: {rows:#?}");
    let ends = rows.iter().filter(|row| row.number("present") == 0);
    assert_eq!(ends.count(), 1, "{rows:#?}");
    let last = rows.last().unwrap();
    let text = |column| last.text(column).unwrap_or_default();
    assert_eq!(last.number("present"), 0);
    assert_eq!(
        (&*text("scheduler"), &*text("account"), &*text("name")),
        ("slurm", "physics", "a b")
    );
    for column in ["account", "name", "identifier"] {
        assert!(text("claimed").contains(column), "{last:?}");
    }
    assert!(!text("claimed").contains("uid"), "{last:?}");
    assert_eq!(last.number("uid"), i64::from(process::uid()));
    for column in ["state", "exit_status", "exit_signal", "memory_limit"] {
        assert!(!last.columns().any(|(name, _)| name == column), "{last:?}");
    }
    assert_eq!(text("exit_absent"), "off");
    // Starts are told in steps of 10 ms.
    let (start, seen) = (last.number("first_start_ns"), last.number("last_seen_ns"));
    assert!(
        (begun - 10_000_000..=seen).contains(&start),
        "{begun} {last:?}"
    );
    assert!(seen <= last.number("at_ns") && start <= ended);
    if mechanism == Mechanism::Bpf {
        // Its end is told by the kernel.
        assert!(seen <= ended, "{seen} {ended}");
    }
}

/// One job of several steps and of somebody who left everything but its control group.
fn an_escapee_without_environment(mechanism: Mechanism) {
    if !is_root() {
        skip!("control groups are root's");
    }
    let id = new_id();
    let (batch, step) = (step!(&id, "batch"), step!(&id, "0"));
    let run = Run::bare(Vec::new());
    let (one, two) = (run.path("one"), run.path("two"));
    let hold = program("hold").display().to_string();
    let script = format!(
        "env -i setsid {hold} '{}' & {hold} '{}'",
        one.display(),
        two.display()
    );
    let mut agent = agent(&options(mechanism, &["--interval", "100ms"])).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let mut running = run.command(batch.shell(&script)).start();
    let (one, two) = (
        running.wait_for_pids(&one)[0],
        running.wait_for_pids(&two)[0],
    );
    let other = Run::bare(step.shell("exec sleep 1000")).start();
    wait_until("both steps", || {
        told(&dataset, &id)
            .iter()
            .any(|row| row["steps"] == "2 texts")
    });
    wait_for_reading(&mut agent, &dataset);
    process::send(two, Signal::KILL);
    running.finish();
    other.send(Signal::KILL);
    other.finish();
    // It is alone now, and the job goes on.
    wait_for_reading(&mut agent, &dataset);
    wait_for_reading(&mut agent, &dataset);
    assert!(told(&dataset, &id).iter().all(|row| row["present"] == "1"));
    process::send(one, Signal::KILL);
    wait_for_row(&dataset, &id, "0");
    let done = stop(agent);
    let rows = jobs(&done.path("d"), &id);
    let ends = rows.iter().filter(|row| row.number("present") == 0);
    assert_eq!(ends.count(), 1, "{rows:#?}");
    let steps = rows.last().unwrap().text("steps").unwrap();
    assert!(steps.contains("batch") && steps.contains('0'), "{steps}");
    assert!(
        !rows[0]
            .text("claimed")
            .unwrap_or_default()
            .contains("identifier")
    );
    for pid in [one, two] {
        assert_eq!(filed(&done.path("d"), "process", pid), pair(&id, "batch"));
        if mechanism == Mechanism::Bpf {
            assert_eq!(filed(&done.path("d"), "exit", pid), pair(&id, "batch"));
        }
    }
}

/// What ends before any reading of processes meets it is in what the job's group was charged.
fn a_job_by_its_control_group(mechanism: Mechanism) {
    if !is_root() {
        skip!("control groups are root's");
    }
    let id = new_id();
    let Some(step) = Step::in_all(&id, "batch", &["freezer", "memory", "cpuacct"]) else {
        skip!("no control group can be made here");
    };
    step.count();
    let peak = || step.of_job(&["memory.max_usage_in_bytes", "memory.peak"]);
    // Nanoseconds, or the microseconds behind `usage_usec`.
    let cpu = || {
        let v1 = step.of_job(&["cpuacct.usage"]);
        v1.or_else(|| Some(step.of_job(&["cpu.stat"])? * 1000))
    };
    if peak().is_none() || cpu().is_none() {
        skip!("the kernel does not tell the peak of a control group");
    }
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let (fill, hold) = (program("fill"), program("hold"));
    let script = format!(
        "'{}' 128 exit; exec '{}' '{}'",
        fill.display(),
        hold.display(),
        file.display()
    );
    let mut agent = agent(&options(mechanism, &["--interval", "100ms"])).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let mut running = run.command(step.shell(&script)).start();
    let pid = running.wait_for_pids(&file)[0];
    let before = cpu().unwrap();
    wait_for_row(&dataset, &id, "1");
    for _ in 0..3 {
        wait_for_reading(&mut agent, &dataset);
    }
    process::send(pid, Signal::KILL);
    running.finish();
    wait_for_row(&dataset, &id, "0");
    let done = stop(agent);
    let rows = jobs(&done.path("d"), &id);
    let last = rows.last().unwrap();
    let told = last.number("cgroup_memory_peak");
    assert_eq!(Some(told), peak());
    assert!((128 << 20..160 << 20).contains(&told), "{told}");
    let told = last.number("cgroup_cpu_time");
    assert!((before..=cpu().unwrap()).contains(&told), "{before} {told}");
}

/// What a job was charged is read when one of its processes is killed: its group may be gone long
/// before the next reading.
#[test]
fn root_bpf_what_a_job_that_is_killed_was_charged() {
    with(Mechanism::Bpf, |mechanism| {
        if !is_root() {
            skip!("control groups are root's");
        }
        let id = new_id();
        let Some(step) = Step::in_all(&id, "batch", &["freezer", "memory", "cpuacct"]) else {
            skip!("no control group can be made here");
        };
        step.count();
        let peak = || step.of_job(&["memory.max_usage_in_bytes", "memory.peak"]);
        if peak().is_none() {
            skip!("the kernel does not tell the peak of a control group");
        }
        let mut agent = agent(&options(mechanism, &["--interval", "10s"])).start();
        let dataset = agent.folder().join("d");
        wait_for_reading(&mut agent, &dataset);
        let run = Run::bare(Vec::new());
        let file = run.path("pid");
        let holds = format!("exec '{}' '{}'", program("hold").display(), file.display());
        let mut holds = run.command(step.shell(&holds)).start();
        holds.wait_for_pids(&file);
        wait_for_row(&dataset, &id, "1");
        let fills = format!("exec '{}' 96 hold", program("fill").display());
        let mut fills = Run::bare(step.shell(&fills)).start();
        fills.wait_for("ready");
        let before = peak().unwrap();
        fills.send(Signal::KILL);
        fills.finish();
        // Nobody tells when it was read: long enough, and long before the next reading.
        std::thread::sleep(Duration::from_secs(3));
        end(holds);
        drop(step);
        let done = stop(agent);
        let rows = jobs(&done.path("d"), &id);
        let told = rows.last().unwrap().number("cgroup_memory_peak");
        assert!(told >= before && told >= 96 << 20, "{told} of {before}");
    });
}

/// A job that is over before anybody has read it: its group is gone by then too.
#[test]
fn root_bpf_a_job_shorter_than_the_interval() {
    with(Mechanism::Bpf, |mechanism| {
        if !is_root() {
            skip!("control groups are root's");
        }
        let id = new_id();
        let interval = format!("{}s", 2 * slowness());
        let mut agent = agent(&options(mechanism, &["--interval", &interval])).start();
        let dataset = agent.folder().join("d");
        wait_for_reading(&mut agent, &dataset);
        let step = step!(&id, "7");
        let shell = Run::bare(step.shell("/bin/true; exec /bin/false")).finish();
        assert_eq!(shell.status, 1);
        drop(step);
        wait_for_row(&dataset, &id, "0");
        let done = stop(agent);
        let dataset = done.path("d");
        let ends = rows(&dataset, "exit").into_iter();
        let ends = ends.filter(|row| row.text("identifier").as_deref() == Some(&id));
        let mut ends: Vec<_> = ends
            .map(|row| {
                (
                    row.text("comm").unwrap(),
                    row.text("subidentifier").unwrap(),
                )
            })
            .collect();
        ends.sort();
        assert_eq!(ends, [pair("false", "7"), pair("true", "7")]);
        let programs = rows(&dataset, "process").into_iter();
        let programs = programs.filter(|row| row.text("identifier").as_deref() == Some(&id));
        let programs: BTreeSet<_> = programs.map(|row| row.text("comm").unwrap()).collect();
        assert_eq!(programs, ["false", "sh", "true"].map(str::to_owned).into());
        let rows = jobs(&dataset, &id);
        // On a slow machine somebody was asked while it was there: that has a row of its own.
        let (last, before) = rows.split_last().unwrap();
        assert_eq!(last.number("present"), 0, "{rows:#?}");
        assert!(before.iter().all(|row| row.number("present") == 1));
        assert!(last.number("last_seen_ns") < last.number("at_ns"));
        let absent = last.text("environment_absent");
        assert!(
            ["gone", "not_applicable"].contains(&&*absent.unwrap()),
            "{last:?}"
        );
    });
}

/// Of a job that only the environment tells, children that nobody has read are known by their
/// parents.
#[test]
fn bpf_children_of_a_member_end_in_its_job() {
    with(Mechanism::Bpf, |mechanism| {
        let id = new_id();
        let mut agent = agent(&options(mechanism, &["--interval", "500ms"])).start();
        let dataset = agent.folder().join("d");
        wait_for_reading(&mut agent, &dataset);
        let run = Run::bare(Vec::new()).input(std::process::Stdio::piped());
        let script = "read line; env -i /bin/true; :";
        let job = format!("SLURM_JOB_ID={id}");
        let shell = words!["/usr/bin/env", job, "/bin/sh", "-c", script];
        let mut shell = run.command(shell).start();
        wait_for_row(&dataset, &id, "1");
        shell.end_input();
        shell.finish();
        wait_for_row(&dataset, &id, "0");
        let done = stop(agent);
        let ends = rows(&done.path("d"), "exit").into_iter();
        let ends = ends.filter(|row| row.text("identifier").as_deref() == Some(&id));
        let ends: BTreeSet<_> = ends.map(|row| row.text("comm").unwrap()).collect();
        assert_eq!(ends, ["sh", "true"].map(str::to_owned).into());
    });
}

fn an_agent_that_starts_anew(mechanism: Mechanism) {
    let id = new_id();
    let job = member(&id, &["SLURM_JOB_ACCOUNT=physics"]);
    let words = options(mechanism, &["--interval", "100ms"]);
    let run = Run::bare(Vec::new());
    let dataset = run.path("d");
    for signal in [Signal::TERM, Signal::KILL] {
        let before = told(&dataset, &id).len();
        let mut command = words![
            crate::harness::run::plimsoll(),
            "agent",
            "--dataset",
            dataset
        ];
        command.extend(words.iter().map(OsString::from));
        let mut agent = Run::bare(command).start();
        wait_for_reading(&mut agent, &dataset);
        wait_until("a row of the job", || told(&dataset, &id).len() > before);
        let seen = live(&dataset).iter().map(|(_, at)| *at).max().unwrap();
        agent.send(signal);
        agent.finish();
        if signal == Signal::TERM {
            // When it was there last is known up to the agent's end.
            let rows = told(&dataset, &id);
            let last = rows
                .iter()
                .filter_map(|row| row["last_seen_ns"].parse::<i64>().ok());
            assert!(last.max().unwrap() >= seen, "{rows:#?}");
        }
    }
    assert!(is_alive(job.pid()));
    let rows = told(&dataset, &id);
    assert!(rows.iter().all(|row| row["present"] == "1"), "{rows:#?}");
    end(job);
}

/// A job is read more often in its first minute (here 3 s), and nobody else is.
fn the_first_minute(mechanism: Mechanism) {
    let (more, after) = between(mechanism, "200ms");
    // An emulated machine is late for most of them.
    let least = if slowness() > 1 { 1 } else { 3 };
    assert!(more >= least, "{more} readings more");
    assert_eq!(after, 0, "readings later");
}

fn nothing_more_in_the_first_minute(mechanism: Mechanism) {
    assert_eq!(between(mechanism, "off"), (0, 0));
}

/// How often the process of a job was read at instants when others were not: in its first time,
/// and later.
fn between(mechanism: Mechanism, young: &str) -> (usize, usize) {
    const AGE: i64 = 3_000_000_000;
    let id = new_id();
    let more = ["--interval", "1s", "--young", young, "--young-age", "3s"];
    let mut agent = agent(&options(mechanism, &more)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    let other = std::process::id();
    let job = member(&id, &[]);
    let pid = job.pid();
    let instants = |pid: u32| -> BTreeSet<i64> {
        let rows = live(&dataset).into_iter();
        rows.filter(|row| row.0 == i64::from(pid))
            .map(|row| row.1)
            .collect()
    };
    let begun = sys::clock::boot() as i64;
    wait_until("its first time is long over", || {
        instants(other).range(begun + AGE..).count() >= 3
    });
    agent.send(Signal::TERM);
    // Its folder is there as long as this is.
    let _done = agent.finish();
    let alone: Vec<_> = instants(pid)
        .difference(&instants(other))
        .copied()
        .collect();
    let late = alone.iter().filter(|at| **at >= begun + AGE).count();
    end(job);
    (alone.len() - late, late)
}

/// On a node without jobs all are filed under what its operator calls it; a job keeps its name.
fn who_is_in_no_job(mechanism: Mechanism) {
    let id = new_id();
    let job = member(&id, &["SLURM_STEP_ID=3"]);
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let mut alone = run.command(words![program("hold"), file]).start();
    alone.wait_for_pids(&file);
    let more = [
        "--interval",
        "100ms",
        "--identifier",
        "LOGIN",
        "--subidentifier",
        "gate 1",
    ];
    let mut agent = agent(&options(mechanism, &more)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    // The short one is known by its parent.
    let own = std::process::id().to_string();
    wait_until("we are filed", || {
        let rows = live_cells(&dataset, "process");
        rows.iter()
            .any(|row| row["pid"] == own && row.contains_key("identifier"))
    });
    let short = Run::bare(words!["/bin/true"]).start();
    let (short, alone_pid, job_pid) = (
        {
            let pid = short.pid();
            short.finish();
            pid
        },
        alone.pid(),
        job.pid(),
    );
    wait_for_reading(&mut agent, &dataset);
    let done = stop(agent);
    let dataset = done.path("d");
    assert_eq!(
        filed(&dataset, "process", alone_pid),
        pair("LOGIN", "gate 1")
    );
    assert_eq!(filed(&dataset, "process", job_pid), pair(&id, "3"));
    if mechanism == Mechanism::Bpf {
        assert_eq!(filed(&dataset, "exit", short), pair("LOGIN", "gate 1"));
    }
    assert!(jobs(&dataset, "LOGIN").is_empty());
    end(alone);
    end(job);
}
