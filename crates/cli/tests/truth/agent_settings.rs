//! `plimsoll agent` as a service: a file of settings, read again at `SIGHUP`; what its manager is
//! told; the CPUs that it runs on.

use crate::harness::dataset::{agent, compact, live, rows, wait_for_reading};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::process::{self, Signal};
use crate::harness::run::{Run, Running, plimsoll};
use crate::harness::words;
use crate::harness::workload::program;
use std::collections::BTreeSet;
use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

#[test]
fn read_again_bpf() {
    with(Mechanism::Bpf, settings_read_again);
}

#[test]
fn read_again_procfs() {
    with(Mechanism::Procfs, settings_read_again);
}

/// A program that sleeps until it is ended.
fn sleeper() -> Running {
    let run = Run::bare(Vec::new());
    let file = run.path("pid");
    let mut running = run.command(words![program("hold"), file]).start();
    running.wait_for_pids(&file);
    running
}

/// Where a process may run, as the kernel tells it.
fn cpus(pid: u32) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

/// The first and the last CPU of a list.
fn ends(list: &str) -> (String, String) {
    let is_digit = |byte: char| byte.is_ascii_digit();
    let mut numbers = list.split(|byte| !is_digit(byte)).map(str::to_owned);
    let first = numbers.next().unwrap();
    let last = numbers.next_back().unwrap_or_else(|| first.clone());
    (first, last)
}

/// Waits until the agent has said something `count` times.
#[track_caller]
fn wait_for_line(agent: &Running, text: &str, count: usize) {
    process::wait_until(&format!("`{text}` is told: {}", agent.printed()), || {
        agent.printed().matches(text).count() >= count
    });
}

fn pids(dataset: &Path) -> BTreeSet<i64> {
    live(dataset).into_iter().map(|(pid, _)| pid).collect()
}

/// What the file says counts, but for what the command line says; a bad file changes nothing, a
/// good one what can be changed.
fn settings_read_again(mechanism: Mechanism) {
    let (one, other) = (sleeper(), sleeper());
    let run = Run::bare(Vec::new());
    let (file, dataset, elsewhere) = (run.path("agent.toml"), run.path("d"), run.path("e"));
    let (first, last) = ends(&cpus(one.pid()));
    let write = |pid: u32, more: &str| {
        let text = format!("interval = '100ms'\nselect = ['pid:{pid}']\n{more}\n");
        fs::write(&file, text).unwrap();
    };
    let of = |folder: &Path| format!("dataset = '{}'", folder.display());
    let start = format!("{}\ncpus = '{last}'\noffset = '1h'", of(&dataset));
    write(one.pid(), &start);
    let mut command = words![plimsoll(), "agent", "--config", file, "--offset", "0"];
    command.extend(mechanism.options().iter().map(Into::into));
    let mut agent = run.command(command).start();
    wait_for_reading(&mut agent, &dataset);
    let keeper = process::children(agent.pid())[0];
    assert_eq!([cpus(agent.pid()), cpus(keeper)], [last.clone(), last]);

    write(other.pid(), "interval = '2s'");
    agent.send(Signal::HUP);
    wait_for_line(&agent, "is refused, all stays as it is: ", 1);
    assert!(
        agent.printed().contains("line 3: duplicate key"),
        "{}",
        agent.printed()
    );
    write(other.pid(), "cpus = '8191'");
    agent.send(Signal::HUP);
    wait_for_line(&agent, "which dataset?", 1);
    write(other.pid(), &format!("{}\ncpus = '8191'", of(&dataset)));
    agent.send(Signal::HUP);
    wait_for_line(&agent, "CPU 8191 is not one", 1);
    wait_for_reading(&mut agent, &dataset);
    assert_eq!(pids(&dataset), BTreeSet::from([one.pid().into()]));

    write(
        other.pid(),
        &format!("{}\ncpus = '{first}'\ncompact = '1s'", of(&elsewhere)),
    );
    agent.send(Signal::HUP);
    wait_for_line(&agent, "is read again: ", 1);
    let told = agent.printed();
    assert!(
        told.contains("compact, ") && told.contains("select changed; dataset will"),
        "{told}"
    );
    assert_eq!([cpus(agent.pid()), cpus(keeper)], [first.clone(), first]);
    wait_for_line(&agent, "bytes a row", 1);
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    assert!(!elsewhere.exists());
    compact(&dataset);
    let read: BTreeSet<_> = rows(&dataset, "sample")
        .iter()
        .map(|row| row.number("pid"))
        .collect();
    assert_eq!(read, [one.pid().into(), other.pid().into()].into());
}

/// Without a file there is nothing to read again.
#[test]
fn a_hangup_without_a_file_ends_the_agent() {
    let mut agent = agent(&["--interval", "100ms"]).start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::HUP);
    let done = agent.finish();
    done.expect_status(0);
    assert!(done.stderr.contains("(asked to end)"), "{}", done.stderr);
}

/// `nohup` is for that.
#[test]
fn a_hangup_that_is_ignored_does_not() {
    let mut agent = agent(&["--interval", "100ms"])
        .wrapped(vec!["nohup".into()])
        .start();
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::HUP);
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    agent.finish().expect_status(0);
}

/// Waits for a message with `text`, passing over others.
#[track_caller]
fn hear(socket: &UnixDatagram, text: &str) -> String {
    socket.set_read_timeout(Some(process::patience())).unwrap();
    let mut buffer = [0; 4096];
    loop {
        let bytes = socket.recv(&mut buffer);
        let bytes = bytes.unwrap_or_else(|error| panic!("no `{text}`: {error}"));
        let words = String::from_utf8(buffer[..bytes].to_vec()).unwrap();
        if words.contains(text) {
            return words;
        }
    }
}

/// An agent whose manager listens at this address.
fn service(address: &str, run: Run) -> Running {
    let file = run.path("agent.toml");
    let text = format!(
        "dataset = '{}'\ninterval = '100ms'\n",
        run.path("d").display()
    );
    fs::write(&file, text).unwrap();
    let command = words![
        "/usr/bin/env",
        format!("NOTIFY_SOCKET={address}"),
        "WATCHDOG_USEC=100000",
        plimsoll(),
        "agent",
        "--config",
        file
    ];
    run.command(command).start()
}

/// The life of a service, as its manager hears it.
fn is_heard(socket: &UnixDatagram, agent: Running) {
    let first = hear(socket, "");
    assert!(first.contains("EXTEND_TIMEOUT_USEC="), "{first}");
    let ready = hear(socket, "READY=1");
    assert!(ready.contains("at the last of 1 readings"), "{ready}");
    assert!(!live(&agent.folder().join("d")).is_empty());
    for _ in 0..3 {
        hear(socket, "WATCHDOG=1");
    }
    agent.send(Signal::HUP);
    let reloading = hear(socket, "RELOADING=1");
    let since = reloading.split("MONOTONIC_USEC=").nth(1).unwrap();
    assert!(since.parse::<u64>().unwrap() > 0);
    hear(socket, "READY=1\nSTATUS=");
    fs::write(
        agent.folder().join("agent.toml"),
        "\"a\\nREADY=0\" = 1\nnonsense",
    )
    .unwrap();
    agent.send(Signal::HUP);
    hear(socket, "RELOADING=1");
    let refused = hear(socket, "READY=1\nSTATUS=");
    assert!(refused.contains("is refused"), "{refused}");
    assert_eq!(refused.lines().count(), 2, "{refused}");
    hear(socket, "WATCHDOG=1");
    agent.send(Signal::TERM);
    hear(socket, "STOPPING=1");
    let done = agent.finish();
    done.expect_status(0);
    assert!(!done.stderr.contains("warning: "), "{}", done.stderr);
}

#[test]
fn a_manager_hears_at_a_path() {
    let run = Run::bare(Vec::new());
    let path = run.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let agent = service(path.to_str().unwrap(), run);
    is_heard(&socket, agent);
}

#[test]
fn a_manager_hears_at_an_abstract_name() {
    let run = Run::bare(Vec::new());
    let name = run.path("notify").display().to_string();
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    let agent = service(&format!("@{name}"), run);
    is_heard(&socket, agent);
}

/// A manager that is not there, or goes away, costs a warning.
#[test]
fn an_odd_manager_is_told_of_once() {
    let gone = Run::bare(Vec::new());
    let path = gone.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let mut agent = service(path.to_str().unwrap(), gone);
    hear(&socket, "READY=1");
    drop(socket);
    wait_for_line(&agent, "warning: the service manager is told nothing", 1);
    let dataset = agent.folder().join("d");
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    assert_eq!(done.stderr.matches("the service manager").count(), 1);

    for address in ["/nowhere/notify", "vsock:2:99", "@"] {
        let mut agent = service(address, Run::bare(Vec::new()));
        let dataset = agent.folder().join("d");
        wait_for_reading(&mut agent, &dataset);
        agent.send(Signal::TERM);
        let done = agent.finish();
        done.expect_status(0);
        let told = format!("warning: NOTIFY_SOCKET {address}: ");
        assert_eq!(done.stderr.matches(&told).count(), 1, "{}", done.stderr);
    }
}

#[test]
fn a_bad_file_is_refused_at_the_start() {
    let run = Run::bare(Vec::new());
    let (file, dataset) = (run.path("agent.toml"), run.path("d"));
    fs::write(
        &file,
        format!("dataset = '{}'\nintervall = 3\n", dataset.display()),
    )
    .unwrap();
    let done = run
        .command(words![plimsoll(), "agent", "--config", file])
        .finish();
    done.expect_status(2);
    let told = "line 2: no setting `intervall` (did you mean `interval`?)";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    assert!(done.stderr.contains("agent.toml"), "{}", done.stderr);
    assert!(!dataset.exists());
}

/// What is printed can be read.
#[test]
fn printed_settings_are_read() {
    let run = Run::bare(Vec::new());
    let file = run.path("agent.toml");
    fs::write(&file, "dataset = 'd'\ninterval = '1h'\noffset = '3s'\n").unwrap();
    let print = |file: &Path| {
        let command = words![plimsoll(), "agent", "--config", file, "--print-config"];
        let done = Run::bare(command).finish();
        done.expect_status(0);
        done.stdout.clone()
    };
    let text = print(&file);
    for line in [
        "dataset = \"d\"",
        "interval = \"1h\"",
        "offset = \"3s\"",
        "# cpus = \"LIST\"",
    ] {
        assert!(text.lines().any(|one| one == line), "{text}");
    }
    fs::write(&file, &text).unwrap();
    assert_eq!(print(&file), text);
}

/// An agent that would read in an hour reads now.
#[test]
fn a_new_interval_counts_at_once() {
    let run = Run::bare(Vec::new());
    let (file, dataset) = (run.path("agent.toml"), run.path("d"));
    fs::write(&file, "interval = '1h'\n").unwrap();
    let command = words![plimsoll(), "agent", "--config", file, "--dataset", dataset];
    let mut agent = run.command(command).start();
    wait_for_line(&agent, "reading processes", 1);
    fs::write(&file, "interval = '100ms'\n").unwrap();
    agent.send(Signal::HUP);
    wait_for_reading(&mut agent, &dataset);
    agent.send(Signal::TERM);
    let done = agent.finish();
    done.expect_status(0);
    assert!(
        done.stderr.contains("is read again: interval changed\n"),
        "{}",
        done.stderr
    );
}

/// The unit file says what systemd understands.
#[test]
fn the_unit_is_understood() {
    const UNIT: &str = include_str!("../../../../packaging/systemd/plimsoll-agent.service");
    const PROGRAM: &str = "/usr/bin/plimsoll";
    let run = Run::bare(Vec::new());
    let unit = run.path("plimsoll-agent.service");
    assert!(UNIT.contains(PROGRAM));
    // It asks whether the program is there.
    let ours = plimsoll().canonicalize().unwrap();
    fs::write(&unit, UNIT.replace(PROGRAM, ours.to_str().unwrap())).unwrap();
    let tool = "/usr/bin/systemd-analyze";
    if !Path::new(tool).exists() {
        println!("skipped: no {tool} here");
        return;
    }
    let done = run
        .command(words![tool, "verify", "--man=no", unit])
        .finish();
    done.expect_status(0);
    assert_eq!(done.stderr, "");
}
