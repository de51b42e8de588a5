//! Groups on the running kernel. Tests that need to make one skip where that is not allowed.
//!
//! Children are this test program again, in a role named by the environment: they wait for a line
//! on stdin, so that they are in the group before they begin.

mod life;
mod memory;
mod scope;

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

const ROLE: &str = "PLIMSOLL_CGROUP_ROLE";
const MIB: u64 = 1 << 20;
const SOON: Duration = Duration::from_secs(20);

/// A child in the group that waits for its start.
struct Gated {
    child: Child,
    gate: ChildStdin,
}

impl Gated {
    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let gate = child.stdin.take().unwrap();
        Self { child, gate }
    }

    fn role(role: &str) -> Self {
        Self::spawn(as_role(role))
    }

    fn shell(script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("read go; {script}")]);
        Self::spawn(command)
    }

    fn start(mut self, group: &Group) -> Child {
        group.add(self.child.id()).unwrap();
        self.gate.write_all(b"go\n").unwrap();
        self.child
    }
}

fn as_role(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cgroup::root_tests::role", "--nocapture"]);
    command.env(ROLE, role).stdout(Stdio::null());
    command
}

/// Not a test of its own: what a child of the tests below does.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let mut words = role.split(' ');
    let name = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<u64>().unwrap();
    match name {
        "fill" => {
            wait_for_line();
            fill(number());
        }
        "share" => {
            wait_for_line();
            share(number(), number());
        }
        "own" => own(),
        "nest" => nest(),
        "unprivileged" => {
            let reason = Group::make(&Places::find().unwrap(), "x", &[]).unwrap_err();
            eprintln!("{reason:?}");
        }
        "delegated" => delegated(),
        "scoped" => scope::scoped(),
        other => panic!("no role {other}"),
    }
}

fn wait_for_line() {
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn fill(mib: u64) {
    let mut kept = vec![0u8; (mib * MIB) as usize];
    for page in kept.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&kept);
}

/// `count` processes that all read one shared mapping.
fn share(mib: u64, count: u64) {
    let bytes = (mib * MIB) as usize;
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new anonymous mapping; no memory of ours is passed.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, prot, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    // SAFETY: the mapping is `bytes` long, readable, writable and lives as long as the process.
    let map = unsafe { std::slice::from_raw_parts_mut(start.cast::<u8>(), bytes) };
    map.fill(1);
    let mut pids = Vec::new();
    for _ in 1..count {
        // SAFETY: the child only reads memory and calls _exit.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let sum: u64 = map.iter().step_by(4096).map(|byte| u64::from(*byte)).sum();
            // SAFETY: ends the child without running anything else.
            unsafe { libc::_exit(i32::from(sum != mib * MIB / 4096)) };
        }
        pids.push(pid);
    }
    for pid in pids {
        let mut status = 0;
        // SAFETY: `status` lives during the call.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0);
    }
}

/// A monitor that makes a group with a process in it and waits to be killed.
fn own() {
    wait_for_line();
    let group = Group::make(&Places::find().unwrap(), "dies", &[]).unwrap();
    let mut task = Gated::shell("exec sleep 1000").start(&group);
    eprintln!("{}", task.id());
    for part in group.parts() {
        eprintln!("{}", part.dir.path().display());
    }
    eprintln!("end");
    task.wait().unwrap();
}

/// A nested run: a group of its own within the one it was put into, with a filler in it.
fn nest() {
    wait_for_line();
    let mut group = Group::make(&Places::find().unwrap(), "inner", &[]).unwrap();
    let mut filler = Gated::role("fill 256").start(&group);
    assert!(!filler.wait().unwrap().success());
    eprintln!("filled");
    wait_for_line();
    group.remove().unwrap();
}

fn made(hint: &str) -> Option<Group> {
    let places = Places::find();
    let group = places.and_then(|places| Group::make(&places, hint, &[]));
    match group {
        Ok(group) => match group.memory_refusal() {
            None => Some(group),
            Some(reason) => skipped(reason),
        },
        Err(reason) => skipped(&reason),
    }
}

fn skipped<T>(reason: &Error) -> Option<T> {
    println!("skipped: {reason}");
    None
}

/// Waits for the watch; false if nothing came in time.
fn told(watch: &OomWatch, within: Duration) -> bool {
    use std::os::fd::AsFd;
    let mut poll = libc::pollfd {
        fd: watch.as_fd().as_raw_fd(),
        events: watch.interest(),
        revents: 0,
    };
    // SAFETY: `poll` is one pollfd that lives during the call.
    let ready = unsafe { libc::poll(&mut poll, 1, within.as_millis() as i32) };
    ready == 1
}

fn cpu_us() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` lives during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

/// In a group of its own that was handed to this user: moves itself aside, limits the task, comes
/// home.
fn delegated() {
    wait_for_line();
    let places = Places::find().unwrap();
    let home = places.v2.clone().unwrap().dir;
    let me = std::process::id();
    assert_eq!(home.pids().unwrap(), [me]);
    let mut group = Group::make(&places, "task", &[me]).unwrap();
    assert!(
        group.memory_refusal().is_none(),
        "{:?}",
        group.memory_refusal()
    );
    assert_eq!(home.pids().unwrap(), []);
    group.set_memory_limit(32 * MIB, 0).unwrap();
    let mut watch = group.oom_watch().unwrap();
    let mut child = Gated::role("fill 100").start(&group);
    assert!(!child.wait().unwrap().success());
    assert_eq!(watch.read().unwrap().kills, 1);
    let mut survivor = Gated::shell("exec sleep 1000").start(&group);
    assert_eq!(group.remove().unwrap(), 1);
    let mut back = home.pids().unwrap();
    back.sort_unstable();
    let mut all = vec![me, survivor.id()];
    all.sort_unstable();
    assert_eq!(back, all);
    assert!(home.children().is_empty());
    survivor.kill().unwrap();
    survivor.wait().unwrap();
    eprintln!("delegated: done");
}
