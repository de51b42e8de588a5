//! Who sees what: his own processes in full, of others what `/proc` shows to everybody.

use super::{Lines, Served, lacks, served};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal, is_root, wait_until};
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, words};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

each_reader!(
    of_anothers_process_only_what_proc_shows,
    own_processes_in_full,
    who_it_is_whenever_it_executes,
    a_process_that_may_not_be_looked_into,
);

/// What only its user and root may know.
const PRIVATE: [&str; 4] = ["bytes_written", "disk_read", "tree_bytes_read", "pss"];

fn as_nobody() -> Vec<OsString> {
    words![
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups"
    ]
}

/// A process that has written to its stdout, and waits.
fn burner(wrapper: Vec<OsString>) -> Running {
    let mut burn = Run::bare(words![program("burn"), "10", "hold"]);
    burn = burn.wrapped(wrapper);
    let mut burn = burn.start();
    burn.wait_for("cpu_us");
    burn
}

fn stop(burn: Running) {
    burn.send(Signal::TERM);
    burn.finish();
}

/// What is told of a process, once it was looked at.
#[track_caller]
fn told(served: &Served, wrapper: &[OsString], pid: u32) -> Lines {
    let mut last = Lines(Vec::new());
    wait_until("it is told of", || {
        last = served.told_to(wrapper.to_vec(), pid);
        let is_idle = last.all("sample").any(|line| line["state"] == "S");
        is_idle
            && last
                .all("process")
                .last()
                .is_some_and(|line| line.get("uid").is_some())
    });
    last
}

/// The same, once what it transferred was read, too.
#[track_caller]
fn told_in_full(served: &Served, wrapper: &[OsString], pid: u32) -> Lines {
    let mut last = Lines(Vec::new());
    wait_until("what it wrote is told", || {
        last = told(served, wrapper, pid);
        last.last("sample")["bytes_written"].as_i64() > Some(0)
    });
    last
}

/// Whether this is all that everybody may know.
#[track_caller]
fn expect_restricted(lines: &Lines) {
    let (sample, who) = (lines.last("sample"), lines.last("process"));
    for name in PRIVATE {
        assert!(lacks(sample, "no_permission", name), "{name}: {sample}");
    }
    for name in ["cpu_time", "state", "threads", "ppid"] {
        assert!(sample.get(name).is_some(), "{name}: {sample}");
    }
    for name in ["exe", "cwd", "environment", "identifier"] {
        assert!(lacks(who, "no_permission", name), "{name}: {who}");
    }
    for name in [
        "comm",
        "uid",
        "cgroup",
        "nice",
        "signals_ignored",
        "cpus_allowed",
    ] {
        assert!(who.get(name).is_some(), "{name}: {who}");
    }
    assert_eq!(lines.last("reading")["restricted"], true);
}

fn of_anothers_process_only_what_proc_shows(mechanism: Mechanism) {
    let served = served(mechanism, "100ms", &[]);
    if !is_root() {
        // Init is root's.
        expect_restricted(&told(&served, &[], 1));
        served.end();
        return;
    }
    let burn = burner(Vec::new());
    expect_restricted(&told(&served, &as_nobody(), burn.pid()));
    let full = told_in_full(&served, &[], burn.pid());
    let sample = full.last("sample");
    assert!(full.last("process").get("exe").is_some());
    assert_eq!(full.last("reading")["restricted"], false);
    assert!(sample["absent"].get("no_permission").is_none(), "{sample}");
    // The end of another's process is told without how it ended and what it transferred.
    let options = ["--format", "json", "--tables", "exit"];
    let mut watch = served.watch(&options).wrapped(as_nobody()).start();
    watch.wait_for("\"reading\"");
    let pid = burn.pid();
    stop(burn);
    let has_ended = |text: &str| {
        let lines = Lines::so_far(text);
        lines.all("exit").any(|line| line["pid"] == pid)
    };
    wait_until("its end is told", || has_ended(&watch.stdout()));
    watch.send(Signal::INT);
    let lines = Lines::so_far(&watch.finish().stdout);
    let end = lines.all("exit").find(|line| line["pid"] == pid).unwrap();
    for name in ["exit_code", "signal", "bytes_written"] {
        assert!(lacks(end, "no_permission", name), "{name}: {end}");
    }
    served.end();
}

fn own_processes_in_full(mechanism: Mechanism) {
    let served = served(mechanism, "100ms", &[]);
    let user = if is_root() { as_nobody() } else { Vec::new() };
    let burn = burner(user.clone());
    let lines = told_in_full(&served, &user, burn.pid());
    let (sample, who) = (lines.last("sample"), lines.last("process"));
    assert_eq!(who["uid"], 65534, "{who}");
    assert!(sample["absent"].get("no_permission").is_none(), "{sample}");
    assert!(who["exe"].as_str().unwrap().ends_with("/burn"), "{who}");
    stop(burn);
    served.end();
}

/// An exec may be told before or after who somebody is was read, and says less of him.
fn who_it_is_whenever_it_executes(mechanism: Mechanism) {
    let served = served(mechanism, "100ms", &[]);
    let start = || {
        // At another moment between two readings each time, in some while one is made.
        thread::sleep(Duration::from_millis(7));
        let script = "sleep 0.15; exec \"$0\" 0 hold";
        Run::bare(words!["sh", "-c", script, program("burn.static")]).start()
    };
    let all: Vec<Running> = (0..150).map(|_| start()).collect();
    let mut left: Vec<i64> = all.iter().map(|one| one.pid().into()).collect();
    wait_until("it is told who each of them is", || {
        let watch = served.watch(&["--once", "--format", "json", "--tables", "process"]);
        let lines = Lines::of(&watch.finish().expect_status(0).stdout);
        left.retain(|pid| {
            let mut of = lines.all("process").filter(|line| line["pid"] == *pid);
            let last = of.next_back();
            !last.is_some_and(|last| last["uid"] == process::uid() && last["comm"] == "burn.static")
        });
        left.is_empty()
    });
    all.into_iter().for_each(stop);
    served.end();
}

/// Whose files in `/proc` are root's may not be looked into, not by his own user either.
fn a_process_that_may_not_be_looked_into(mechanism: Mechanism) {
    let served = served(mechanism, "100ms", &[]);
    let user = if is_root() { as_nobody() } else { Vec::new() };
    let words = words![program("spaces"), "hidden", "8", "600000"];
    let hidden = Run::bare(words).wrapped(user.clone()).start();
    let stat = format!("/proc/{}/stat", hidden.pid());
    wait_until("it is hidden", || {
        fs::metadata(&stat).unwrap().uid() == 0 && process::state(hidden.pid()) == Some('S')
    });
    let mut last = Lines(Vec::new());
    wait_until("it is told so", || {
        last = told(&served, &user, hidden.pid());
        lacks(last.last("sample"), "no_permission", "bytes_written")
    });
    assert_eq!(last.last("process")["uid"], 65534);
    expect_restricted(&last);
    stop(hidden);
    served.end();
}
