//! What an agent reads beside its readings: descriptors, weights of memory, variables of the
//! environment; and a process whose memory nobody can read.

use super::{held, quick, texts};
use crate::harness::dataset::{
    Row, agent, compact, live_cells, read_once, rows, rows_of, wait_for_reading,
};
use crate::harness::expect::MIB;
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

each_reader!(
    what_is_open,
    what_memory_weighs,
    variables_that_are_named,
    a_process_that_does_not_answer,
    an_end_beside_one_that_does_not_answer,
);

/// Options for quick readings of these, more of them.
fn options(mechanism: Mechanism, select: &[&str], more: &[&str]) -> Vec<String> {
    let mut options = quick(mechanism, select);
    options.extend(more.iter().map(|&word| word.to_owned()));
    options
}

/// The cells of a process's rows of a table, as they are on the disk now.
fn live_rows(dataset: &Path, table: &str, pid: u32) -> Vec<BTreeMap<&'static str, String>> {
    let mut rows = live_cells(dataset, table);
    rows.retain(|row| row["pid"] == pid.to_string());
    rows
}

fn wait_for_row(
    agent: &Running,
    what: (&str, u32),
    is_wanted: impl Fn(&BTreeMap<&'static str, String>) -> bool,
) {
    let (dataset, (table, pid)) = (agent.folder().join("d"), what);
    process::wait_until(&format!("a row of {table} of {pid}"), || {
        live_rows(&dataset, table, pid).iter().any(&is_wanted)
    });
}

fn what_is_open(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let (read, written) = (run.path("a b"), run.path("out"));
    std::fs::write(&read, "first\nsecond\n").unwrap();
    let script = "exec 5<\"$0\"; read one <&5; echo ready; read two; exec 5<&- 6>>\"$1\"; \
                  echo done; exec sleep 1000";
    let path = run_path(&read);
    let shell = words!["/bin/sh", "-c", script, read, written];
    let mut shell = run.command(shell).input(Stdio::piped()).start();
    shell.wait_for("ready");
    let kind = format!("pid:{}", shell.pid());
    let options = options(mechanism, &[&kind], &["--descriptors", "1s"]);
    let agent = agent(&texts(&options)).start();
    let is = |fd: &'static str, open: &'static str| {
        move |row: &BTreeMap<&'static str, String>| row["fd"] == fd && row["open"] == open
    };
    wait_for_row(&agent, ("descriptor", shell.pid()), is("5", "1"));
    shell.end_input();
    wait_for_row(&agent, ("descriptor", shell.pid()), is("5", "0"));
    wait_for_row(&agent, ("descriptor", shell.pid()), is("6", "1"));
    shell.send(Signal::KILL);
    let pid = shell.pid();
    shell.finish();
    wait_for_row(&agent, ("descriptor", pid), is("6", "0"));
    let dataset = agent.folder().join("d");
    let before = live_rows(&dataset, "descriptor", pid).len();
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let told = rows_of(&done.path("d"), "descriptor", pid);
    assert_eq!(told.len(), before, "{told:#?}");
    let of = |fd: i64| {
        let of = |row: &&Row| row.number("fd") == fd;
        told.iter().filter(of).collect::<Vec<_>>()
    };
    let marks = |fd| {
        of(fd)
            .iter()
            .map(|row| row.number("open"))
            .collect::<Vec<_>>()
    };
    // Opened, closed; each told once.
    assert_eq!((marks(5), marks(6)), (vec![1, 0], vec![1, 0]));
    let first = of(5)[0];
    assert_eq!(first.text("path").as_deref(), Some(&*path));
    assert_eq!(first.text("type").as_deref(), Some("file"));
    assert_eq!(first.text("mode").as_deref(), Some("r"));
    assert_eq!(first.number("position"), 6);
    assert_eq!(of(6)[0].text("mode").as_deref(), Some("w"));
    let input = of(0)[0];
    assert_eq!(input.text("type").as_deref(), Some("pipe"));
    let name = input.text("path").unwrap();
    assert!(name.starts_with("pipe:["), "{name}");
    let last = rows_of(&done.path("d"), "sample", pid).pop().unwrap();
    assert_eq!(last.number("start_ns"), first.number("start_ns"));
}

fn run_path(path: &Path) -> String {
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// Of what two processes share each has the half; what is large is left alone.
fn what_memory_weighs(mechanism: Mechanism) {
    let shared = Run::bare(words![program("share"), "32", "2", "shared", "1000000"]).start();
    let own = held(words![program("fill.static"), "24", "hold"], "ready");
    let large = held(words![program("fill.static"), "300", "hold"], "ready");
    process::wait_until("both have it", || {
        let children = process::children(shared.pid());
        children.len() == 1 && process::state(children[0]) == Some('S')
    });
    let pids = [shared.pid(), own.pid(), large.pid()];
    let kinds = pids.map(|pid| format!("pid:{pid}"));
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    let run = |how: &str| {
        let options = options(mechanism, &kinds, &["--pss", how, "--budget", "100%"]);
        let mut agent = agent(&texts(&options)).start();
        let dataset = agent.folder().join("d");
        for _ in 0..3 {
            wait_for_reading(&mut agent, &dataset);
        }
        agent.send(Signal::TERM);
        let done = agent.finish();
        done.expect_status(0);
        compact(&done.path("d"));
        let last = |pid| {
            let rows = rows_of(&done.path("d"), "sample", pid);
            let weighed = rows.iter().rfind(|row| row.get("pss").is_some());
            weighed.map(|row| (row.number("pss"), row.get("swap_pss")))
        };
        pids.map(last)
    };
    let [shared, own, large] = run("auto");
    let near = |weight: Option<(i64, Option<i64>)>, mib: u64| {
        let (pss, swap) = weight.unwrap();
        let range = (mib * MIB) as i64..((mib + 2) * MIB) as i64;
        assert!(range.contains(&pss), "{pss} of {mib} MiB");
        assert!(swap.is_some());
    };
    near(shared, 16);
    near(own, 24);
    assert_eq!(large, None);
    assert_eq!(run("off"), [None; 3]);
}

/// Only what is named is kept, and of secrets only that they are there.
fn variables_that_are_named(mechanism: Mechanism) {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let hold = words![
        "/usr/bin/env",
        "-i",
        "PLACE=a b=c",
        "API_TOKEN=hidden",
        "OTHER=unseen",
        program("hold.static"),
        file
    ];
    let mut running = run.command(hold).start();
    running.wait_for_pids(&file);
    let kind = format!("pid:{}", running.pid());
    let names = ["--environment", "PLACE,API_TOKEN,MISSING"];
    let done = read_once(&texts(&options(mechanism, &[&kind], &names)));
    compact(&done.path("d"));
    let told = rows_of(&done.path("d"), "process", running.pid());
    let kept = told[0].text("environment").unwrap();
    assert_eq!(kept, "[\"PLACE=a b=c\", \"API_TOKEN=***\"]");
    assert_eq!(told.len(), 1, "{told:#?}");
    let done = read_once(&texts(&quick(mechanism, &[&kind])));
    compact(&done.path("d"));
    let told = rows_of(&done.path("d"), "process", running.pid());
    assert_eq!(told[0].text("environment"), None);
}

/// A process whose memory stays locked, with its pid and that of its child; `None` where it cannot
/// be.
fn silent() -> Option<(Running, u32, u32)> {
    let user = if process::is_root() { "" } else { "-U -r" };
    let enter = format!("exec unshare {user} -m \"$@\"");
    let run = Run::bare(Vec::new());
    let (folder, file) = (run.path("silent"), run.path("pids"));
    std::fs::create_dir(&folder).unwrap();
    let wrapper = words!["/bin/sh", "-c", enter, "sh"];
    let command = words![program("silent"), folder, file];
    let mut running = run.command(command).wrapped(wrapper).start();
    process::wait_until("it is there or cannot be", || {
        file.exists() || process::state(running.pid()).is_none_or(|state| state == 'Z')
    });
    if !file.exists() {
        running.finish().expect_status(99);
        return None;
    }
    let pids = running.wait_for_pids(&file);
    Some((running, pids[0], pids[1]))
}

fn is_complete(row: &BTreeMap<&'static str, String>) -> bool {
    row.contains_key("command") && !row.contains_key("command_absent")
}

/// Readings go on, others are told in full, and it is told what can be; when it is gone nothing
/// waits for it any more.
fn a_process_that_does_not_answer(mechanism: Mechanism) {
    let Some((silent, pid, child)) = silent() else {
        skip!("no file system can be mounted here");
    };
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let own = [std::process::id(), pid].map(|pid| format!("pid:{pid}"));
    let options = quick(mechanism, &[&own[0], &own[1]]);
    let mut agent = agent(&texts(&options)).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    wait_for_row(&agent, ("process", pid), |row| {
        row.get("command_absent").map(String::as_str) == Some("no_answer")
            && row["comm"] == "silent"
            && row["exe"].ends_with("/silent")
    });
    wait_for_row(&agent, ("process", child), is_complete);
    let mut later = run.command(words![program("hold"), file]).start();
    later.wait_for_pids(&file);
    wait_for_row(&agent, ("process", later.pid()), is_complete);
    wait_for_reading(&mut agent, &dataset);
    silent.send(Signal::KILL);
    silent.finish().expect_status(137);
    let threads = format!("/proc/{}/task", agent.pid());
    process::wait_until("the thread comes back", || {
        std::fs::read_dir(&threads).unwrap().count() <= 2
    });
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let mut node = rows(&done.path("d"), "node");
    node.sort_by_key(|row| row.number("at_ns"));
    let values = |metric: &str| {
        let of = |row: &&Row| row.text("metric").as_deref() == Some(metric);
        let values = node.iter().filter(of).map(|row| row.number("value"));
        values.collect::<Vec<_>>()
    };
    let (stuck, silent) = (
        values("agent_reads_stuck"),
        values("agent_reads_unanswered"),
    );
    assert!(stuck.contains(&1) && stuck.last() == Some(&0), "{stuck:?}");
    assert!(silent.is_sorted() && silent.last() > Some(&0), "{silent:?}");
}

/// An agent that is asked to end does, whoever does not answer it.
fn an_end_beside_one_that_does_not_answer(mechanism: Mechanism) {
    let Some((silent, pid, _)) = silent() else {
        skip!("no file system can be mounted here");
    };
    let done = read_once(&texts(&quick(mechanism, &[&format!("pid:{pid}")])));
    compact(&done.path("d"));
    let told = rows_of(&done.path("d"), "process", pid);
    assert_eq!(told[0].text("command_absent").as_deref(), Some("no_answer"));
    assert!(rows_of(&done.path("d"), "sample", pid).len() >= 2);
    silent.send(Signal::KILL);
}
