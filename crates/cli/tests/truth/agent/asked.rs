//! `plimsoll query` and `job`: what an agent is just writing and what is compacted is told alike,
//! with the values that are known by construction.

use super::{quick, texts};
use crate::harness::dataset::{agent, compact, wait_for_reading};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_reader, words};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

each_reader!(asked_while_it_is_written);

fn asked(dataset: &Path, question: &[&str]) -> Done {
    let mut command = words![plimsoll(), "query", dataset];
    command.extend(question.iter().map(std::ffi::OsString::from));
    let done = Run::bare(command).finish();
    done.expect_status(0);
    done
}

/// The cells of the only row that has this text.
fn cells(done: &Done, text: &str) -> Vec<String> {
    let mut rows = done.stdout.lines().filter(|line| line.contains(text));
    let row = rows.next().unwrap_or_else(|| panic!("{}", done.context()));
    assert_eq!(rows.next(), None, "{}", done.context());
    row.split(',').map(str::to_owned).collect()
}

/// A child that is not left behind.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The reader of the answer has a pipe that is full, and does not go.
#[test]
fn who_asks_may_stop_though_nobody_reads() {
    let agent = agent(&texts(&quick(Mechanism::Procfs, &["all"])));
    let dataset = agent.path("d");
    let mut agent = agent.start();
    wait_for_reading(&mut agent, &dataset);
    let rows = "SELECT a.pid, b.pid, c.pid FROM sample a, sample b, sample c";
    for signal in [Signal::INT, Signal::TERM] {
        let mut command = Command::new(plimsoll());
        command.arg("query").arg(&dataset).arg(rows);
        let command = command.args(["--format", "csv"]).stdout(Stdio::piped());
        let mut asks = Killed(command.spawn().unwrap());
        let pid = asks.0.id();
        process::wait_until("the pipe has no page left, or nearly so", || {
            let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
            let written = io.lines().find_map(|line| line.strip_prefix("wchar: "));
            written.and_then(|written| written.parse().ok()) >= Some(32 << 10)
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(asks.0.try_wait().unwrap().is_none());
        process::send(pid, signal);
        let mut status = None;
        process::wait_until("it has stopped", || {
            status = asks.0.try_wait().unwrap();
            status.is_some()
        });
        let expected = 128 + signal.as_raw();
        assert_eq!(status.and_then(|status| status.code()), Some(expected));
    }
    agent.send(Signal::TERM);
    agent.finish().expect_status(0);
}

/// A shell script that is known by its name waits for a child that burns 400 ms.
fn asked_while_it_is_written(mechanism: Mechanism) {
    let agent = agent(&texts(&quick(mechanism, &["all"])));
    // Others run the same beside it.
    let name = format!("work-{}-{mechanism:?}.sh", std::process::id());
    let (dataset, script) = (agent.path("d"), agent.path(&name));
    let mut agent = agent.start();
    wait_for_reading(&mut agent, &dataset);
    let burn = program("burn.static");
    std::fs::write(&script, format!("{} 400\nsleep 0.3\n", burn.display())).unwrap();
    let task = Run::bare(words!["/bin/sh", script]).start();
    let pid = task.pid();
    task.finish().expect_status(0);
    let live = [
        "--report", "top-cpu", "--format", "csv", "--limit", "100000",
    ];
    process::wait_until("its end is told", || {
        let ends = format!("SELECT count(*) FROM exit WHERE pid = {pid}");
        let done = asked(&dataset, &[&ends, "--format", "csv"]);
        done.stdout.lines().nth(1) != Some("0")
    });
    let told = asked(&dataset, &live);
    assert_eq!(cells(&told, &name)[2], "1");
    let children = format!(
        "SELECT sum(coalesce(cpu_time, cpu_time_min)) AS burnt FROM exit WHERE ppid = {pid}"
    );
    let burnt = |dataset: &Path| {
        let done = asked(dataset, &[&children, "--format", "csv"]);
        let told = done.stdout.lines().nth(1).unwrap_or_default().to_owned();
        told.parse::<i64>().ok()
    };
    let cpu = burnt(&dataset);
    // Whoever is no root hears by netlink that they ended, not what they used.
    if process::is_root() {
        let cpu = cpu.unwrap();
        assert!((395_000_000..480_000_000).contains(&cpu), "{cpu}");
    }
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    // Until then all of it is live, and afterwards nothing is.
    let question = "SELECT pid, start_ns, count(*), min(at_ns), max(at_ns), max(cpu_time), \
                    max(rss) FROM sample GROUP BY pid, start_ns ORDER BY pid, start_ns";
    let before = asked(&done.path("d"), &[question, "--format", "csv"]).stdout;
    compact(&done.path("d"));
    let after = asked(&done.path("d"), &[question, "--format", "csv"]).stdout;
    assert!(before.lines().count() > 1);
    assert_eq!(before, after);
    assert_eq!(burnt(&done.path("d")), cpu);
    let told = asked(&done.path("d"), &live);
    assert_eq!(cells(&told, &name)[2], "1");
    let none = words![
        plimsoll(),
        "job",
        "no such job",
        "--dataset",
        done.path("d")
    ];
    let none = Run::bare(none).finish();
    none.expect_status(1);
    assert!(
        none.stderr.contains("has no job `no such job`"),
        "{}",
        none.context()
    );
}
