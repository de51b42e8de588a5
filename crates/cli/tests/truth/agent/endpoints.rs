//! Whose ends sockets have: those that the program itself knows, in whichever network name space it
//! is.

use super::{quick, texts};
use crate::harness::dataset::{Row, agent, compact, live_cells, rows_of};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_reader, skip, words};
use std::collections::BTreeMap;
use std::process::Stdio;

each_reader!(
    ends_of_sockets,
    a_connection_that_changes,
    ends_in_another_network,
);

/// Ends and state by descriptor; nothing where nobody can tell.
type Told = BTreeMap<i64, Option<(String, String)>>;

/// The program, once it says what it has; `None` where it cannot be.
fn start(more: &[&str]) -> Option<(Running, Told)> {
    let may = process::is_root() || more.is_empty();
    let wrapper = if may {
        Vec::new()
    } else {
        words!["unshare", "-U", "-r"]
    };
    let run = Run::bare(Vec::new());
    let mut words = words![program("endpoints"), run.folder()];
    words.extend(more.iter().map(std::ffi::OsString::from));
    let run = run.wrapped(wrapper).input(Stdio::piped());
    let running = run.command(words).start();
    process::wait_until("it has its sockets or cannot", || {
        running.stdout().contains("ready\n") || !process::is_alive(running.pid())
    });
    let text = running.stdout();
    if !text.contains("ready\n") {
        println!("{text}");
        return None;
    }
    let lines = text.lines().take_while(|line| *line != "ready");
    let told = lines.map(|line| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        let mut next = || words.next().unwrap();
        let (fd, state, ends) = (next().parse().unwrap(), next(), next());
        let ends = ends.replace("\\n", "\n");
        (fd, (state != "-").then_some((ends, state)))
    });
    Some((running, told.collect()))
}

/// Starts an agent that looks at these every second.
fn look_at(mechanism: Mechanism, who: &[&Running]) -> Running {
    let kinds: Vec<_> = who.iter().map(|one| format!("pid:{}", one.pid())).collect();
    let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
    let mut options = quick(mechanism, &kinds);
    // At leisure is a quarter of the budget.
    options.extend(["--descriptors", "1s", "--budget", "100%"].map(str::to_owned));
    agent(&texts(&options)).start()
}

fn wait_for_descriptor(agent: &Running, who: &Running, cells: &[(&str, &str)]) {
    let (dataset, pid) = (agent.folder().join("d"), who.pid().to_string());
    process::wait_until(&format!("a row of {pid} with {cells:?}"), || {
        live_cells(&dataset, "descriptor").iter().any(|row| {
            let is =
                |(name, value): &(&str, &str)| row.get(name).map(String::as_str) == Some(value);
            row["pid"] == pid && cells.iter().all(is)
        })
    });
}

/// Ends the agent and compares what it told of each descriptor, in the order of time.
fn expect(agent: Running, who: &[(&Running, &Told)]) -> Vec<Vec<Row>> {
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    compact(&done.path("d"));
    let rows = who.iter().map(|(running, told)| {
        let rows = rows_of(&done.path("d"), "descriptor", running.pid());
        for (fd, ends) in *told {
            let row = rows.iter().find(|row| row.number("fd") == *fd).unwrap();
            let seen = row.text("socket").zip(row.text("socket_state"));
            assert_eq!(&seen, ends, "{fd}: {row:?}");
            assert_eq!(row.text("type").as_deref(), Some("socket"));
            assert!(row.text("path").unwrap().starts_with("socket:["), "{row:?}");
        }
        rows
    });
    rows.collect()
}

fn last_fd(told: &Told) -> String {
    told.last_key_value().unwrap().0.to_string()
}

fn ends_of_sockets(mechanism: Mechanism) {
    let Some((running, told)) = start(&[]) else {
        skip!("no such sockets here");
    };
    // Of each kind there is one.
    for begin in [
        "tcp:127",
        "tcp6:[::1]",
        "udp:",
        "udp6:",
        "unix:@",
        "unix:a b",
        "unix:new\n",
    ] {
        let ends = || told.values().flatten();
        assert!(ends().any(|(ends, _)| ends.starts_with(begin)), "{begin}");
    }
    let agent = look_at(mechanism, &[&running]);
    wait_for_descriptor(&agent, &running, &[("fd", &last_fd(&told))]);
    let [rows] = &expect(agent, &[(&running, &told)])[..] else {
        panic!("one was asked for");
    };
    // What does not change is told once.
    for fd in told.keys() {
        assert_eq!(rows.iter().filter(|row| row.number("fd") == *fd).count(), 1);
    }
}

/// The end of a connection whose other end is closed is told again.
fn a_connection_that_changes(mechanism: Mechanism) {
    let Some((mut running, told)) = start(&[]) else {
        skip!("no such sockets here");
    };
    let agent = look_at(mechanism, &[&running]);
    wait_for_descriptor(&agent, &running, &[("fd", &last_fd(&told))]);
    running.end_input();
    running.wait_for("closed");
    wait_for_descriptor(&agent, &running, &[("socket_state", "close_wait")]);
    let [rows] = &expect(agent, &[(&running, &told)])[..] else {
        panic!("one was asked for");
    };
    let is_changed = |row: &&Row| row.text("socket_state").as_deref() == Some("close_wait");
    let changed = rows.iter().find(is_changed).unwrap();
    let before = told[&changed.number("fd")].as_ref().unwrap();
    assert_eq!(changed.text("socket").as_ref(), Some(&before.0));
    assert_eq!(before.1, "established");
}

/// The tables of each name space are those of its processes.
fn ends_in_another_network(mechanism: Mechanism) {
    let (Some((here, told_here)), Some((apart, told_apart)), Some((other, told_other))) =
        (start(&[]), start(&["apart"]), start(&["apart"]))
    else {
        skip!("no network of its own");
    };
    let agent = look_at(mechanism, &[&here, &apart, &other]);
    let all = [
        (&here, &told_here),
        (&apart, &told_apart),
        (&other, &told_other),
    ];
    for (running, told) in all {
        wait_for_descriptor(&agent, running, &[("fd", &last_fd(told))]);
    }
    expect(agent, &all);
}
