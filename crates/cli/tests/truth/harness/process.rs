//! Other processes through `/proc`: who is alive, whose child, in which state; and signals to them.

use super::expect::slowness;
pub(crate) use rustix::process::Signal;
use rustix::process::{Pid, geteuid, kill_process};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for anything that must happen; far beyond what it takes on a busy machine.
pub(crate) fn patience() -> Duration {
    Duration::from_secs(40 + 10 * (slowness() - 1))
}

/// Whether the tests run as root.
pub(crate) fn is_root() -> bool {
    geteuid().is_root()
}

/// The effective user id of the tests.
pub(crate) fn uid() -> u32 {
    geteuid().as_raw()
}

/// Sends a signal; whether there was a process to take it.
pub(crate) fn send(pid: u32, signal: Signal) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).is_ok()
}

/// Waits until `condition` holds; fails naming `what` when it never does.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < patience(), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until every one of `pids` is gone or a zombie.
#[track_caller]
pub(crate) fn wait_until_dead(pids: &[u32]) {
    let start = Instant::now();
    while pids.iter().any(|pid| is_alive(*pid)) {
        if start.elapsed() > patience() {
            let left: Vec<_> = pids.iter().filter(|pid| is_alive(**pid)).collect();
            let all: Vec<_> = left.iter().map(|pid| describe(**pid)).collect();
            for pid in left {
                send(*pid, Signal::KILL);
            }
            panic!("still alive: {all:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !"ZX".contains(state))
}

/// The state letter of a process.
pub(crate) fn state(pid: u32) -> Option<char> {
    fields(pid)?.0.chars().next()
}

/// The pid of the parent.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    fields(pid).map(|(_, parent)| parent)
}

/// State and parent out of `/proc/PID/stat`, behind the last parenthesis.
fn fields(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

/// The command line of a process, for messages.
pub(crate) fn describe(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{pid} [{}] {text}", state(pid).unwrap_or('?'))
}

/// Every process that exists.
fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// The children of a process.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|child| parent(*child) == Some(pid))
        .collect()
}

/// Everything below a process, itself left out.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        found.extend(children(*parent));
        next += 1;
    }
    found
}

/// The processes between `front` (left out) and `task` (left out), from the top: monitor, launcher.
pub(crate) fn between(front: u32, task: u32) -> Vec<u32> {
    let mut chain = Vec::new();
    let mut at = parent(task);
    while let Some(pid) = at.filter(|pid| *pid != front && *pid > 1) {
        chain.insert(0, pid);
        at = parent(pid);
    }
    chain
}

/// Ends the processes it holds when the test is over, however it ends.
#[derive(Debug, Default)]
pub(crate) struct Cleanup(pub(crate) Vec<u32>);

impl Drop for Cleanup {
    fn drop(&mut self) {
        for pid in self.0.iter().filter(|pid| is_alive(**pid)) {
            send(*pid, Signal::KILL);
        }
    }
}
