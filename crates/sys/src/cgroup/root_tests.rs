//! Groups on the running kernel. Tests that need to make one skip where that is not allowed.
//!
//! Children are this test program again, in a role named by the environment: they wait for a line on stdin, so that they
//! are in the group before they begin.

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
        "unprivileged" => {
            let reason = Group::make(&Places::find().unwrap(), "x", &[]).unwrap_err();
            eprintln!("{reason:?}");
        }
        "delegated" => delegated(),
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
    let group = Group::make(&Places::find().unwrap(), "dies", &[]).unwrap();
    let mut task = Gated::shell("exec sleep 1000").start(&group);
    eprintln!("{}", task.id());
    for part in group.parts() {
        eprintln!("{}", part.dir.path().display());
    }
    eprintln!("end");
    task.wait().unwrap();
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
    // SAFETY: all zeros is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` lives during the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let of = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    of(usage.ru_utime) + of(usage.ru_stime)
}

#[test]
fn root_a_filler_over_the_limit_meets_an_oom_event() {
    let Some(mut group) = made("fill") else {
        return;
    };
    group.set_memory_limit(64 * MIB, 0).unwrap();
    let mut watch = group.oom_watch().unwrap();
    assert_eq!(watch.read().unwrap(), OomCounts::default());
    let mut child = Gated::role("fill 256").start(&group);
    assert!(told(&watch, SOON), "no OOM event");
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    let counts = watch.read().unwrap();
    assert!(counts.events >= 1 && counts.kills == 1, "{counts:?}");
    assert_eq!(group.oom_kills().unwrap(), 1);
    let dir = &group.memory_part().unwrap().dir;
    for file in ["memory.max_usage_in_bytes", "memory.peak"] {
        let peak = dir
            .read(file)
            .ok()
            .map(|text| text.trim().parse::<u64>().unwrap());
        if let Some(peak) = peak {
            println!("figure: overshoot {} bytes", peak.saturating_sub(64 * MIB));
            assert!(peak <= 64 * MIB);
        }
    }
    assert_eq!(group.remove().unwrap(), 0);
}

#[test]
fn root_page_cache_at_the_limit_is_no_oom_event() {
    let Some(mut group) = made("cache") else {
        return;
    };
    group.set_memory_limit(64 * MIB, 0).unwrap();
    let mut watch = group.oom_watch().unwrap();
    let file = std::env::current_dir()
        .unwrap()
        .join(format!("cache-{}", std::process::id()));
    let script = format!(
        "dd if=/dev/zero of={} bs=1M count=512 2>/dev/null",
        file.display()
    );
    let mut child = Gated::shell(&script).start(&group);
    let status = child.wait().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(status.success(), "{status}");
    assert_eq!(watch.read().unwrap(), OomCounts::default());
    assert_eq!(group.remove().unwrap(), 0);
}

#[test]
fn root_shared_pages_count_once_against_the_limit() {
    let Some(mut group) = made("share") else {
        return;
    };
    group.set_memory_limit(600 * MIB, 0).unwrap();
    let mut watch = group.oom_watch().unwrap();
    let mut child = Gated::role("share 300 6").start(&group);
    assert!(child.wait().unwrap().success());
    assert_eq!(watch.read().unwrap(), OomCounts::default());
    assert_eq!(group.remove().unwrap(), 0);
}

/// Ignores SIGTERM, leaves the session, stops, and hops from pid to pid by forking and ending.
const STUBBORN: &str = "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & \
                        sleep 1000 & kill -STOP $!; hop() { hop & }; hop & \
                        echo ready >&2; while :; do sleep 1000; done";

fn kill_stubborn(group: &Group) {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("read go; {STUBBORN}")])
        .stderr(Stdio::piped());
    let mut child = Gated::spawn(command).start(group);
    let mut ready = [0; 5];
    child.stderr.take().unwrap().read_exact(&mut ready).unwrap();
    assert!(group.pids().unwrap().len() >= 3);
    let (start, cpu) = (Instant::now(), cpu_us());
    assert_eq!(group.kill_all(SOON).unwrap(), 0);
    println!(
        "figure: kill {:?}, {} us CPU",
        start.elapsed(),
        cpu_us() - cpu
    );
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert_eq!(group.pids().unwrap(), []);
}

#[test]
fn root_kill_reaches_the_stubborn_the_stopped_and_those_who_left_the_session() {
    let Ok(mut places) = Places::find() else {
        return;
    };
    // With everything that this machine has, then with v1 alone.
    for hint in ["kill", "kill-v1"] {
        let mut group = match Group::make(&places, hint, &[]) {
            Ok(group) => group,
            Err(reason) => return skipped(&reason).unwrap_or(()),
        };
        kill_stubborn(&group);
        assert_eq!(group.remove().unwrap(), 0);
        places.v2 = None;
    }
}

#[test]
fn root_a_frozen_group_stands_still_and_goes_on() {
    let Some(mut group) = made("freeze") else {
        return;
    };
    let mut child = Gated::shell("exec cat").start(&group);
    assert!(group.freeze().unwrap());
    assert!(group.freeze().unwrap());
    group.thaw().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(group.remove().unwrap(), 0);
}

#[test]
fn root_survivors_move_to_the_parent_free_of_the_limit() {
    let Some(mut group) = made("leave") else {
        return;
    };
    group.set_memory_limit(64 * MIB, 0).unwrap();
    let mut child = Gated::shell("exec sleep 1000").start(&group);
    assert_eq!(group.pids().unwrap(), [child.id()]);
    assert_eq!(group.remove().unwrap(), 1);
    assert!(group.parts().iter().all(|part| !part.dir.path().exists()));
    for part in group.parts() {
        assert!(part.parent.pids().unwrap().contains(&child.id()));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn root_a_later_run_sweeps_the_group_of_a_killed_monitor() {
    let Some(living) = made("lives") else {
        return;
    };
    let mut command = as_role("own");
    let mut owner = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut lines: Vec<_> = lines.take_while(|line| line != "end").collect();
    let task: i32 = lines.remove(0).parse().unwrap();
    let places = Places::find().unwrap();
    sweep(&places);
    assert!(
        lines.iter().all(|dir| std::path::Path::new(dir).exists()),
        "owner lives"
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    let swept = sweep(&places);
    assert!(
        swept.removed >= lines.len() && swept.moved >= 1,
        "{swept:?}"
    );
    assert!(lines.iter().all(|dir| !std::path::Path::new(dir).exists()));
    assert!(living.parts().iter().all(|part| part.dir.path().exists()));
    // SAFETY: kill takes two numbers; the task is ours and nobody has waited for it.
    assert_eq!(unsafe { libc::kill(task, libc::SIGKILL) }, 0);
}

#[test]
fn root_a_user_without_rights_is_told_so() {
    // SAFETY: geteuid takes nothing.
    if unsafe { libc::geteuid() } != 0 || made("rights").is_none() {
        println!("skipped: only root can become a user without rights");
        return;
    }
    use std::os::unix::process::CommandExt;
    let output = as_role("unprivileged").uid(65534).gid(65534).output();
    match output {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(text.contains("NoPermission"), "{text}");
        }
        Err(e) => println!("skipped: this program cannot be started as another user: {e}"),
    }
}

#[test]
fn root_figures_of_making_filling_and_removing() {
    let mut cpu = Vec::new();
    let mut wall = Vec::new();
    for _ in 0..5 {
        let gated = Gated::shell("true");
        let (start, used) = (Instant::now(), cpu_us());
        let Some(mut group) = made("cost") else {
            return;
        };
        let mut child = gated.start(&group);
        let added = start.elapsed();
        child.wait().unwrap();
        group.remove().unwrap();
        wall.push(added);
        cpu.push(cpu_us() - used);
    }
    println!("figure: make + add + remove {cpu:?} us CPU, make + add {wall:?}");
    assert_eq!(cpu.len(), 5);
}

/// In a group of its own that was handed to this user: moves itself aside, limits the task, comes home.
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

#[test]
fn root_a_delegated_group_makes_room_for_the_memory_controller() {
    let Some(holder) = made("holder") else {
        return;
    };
    let Some(part) = holder
        .memory_part()
        .filter(|part| part.controller.is_none())
    else {
        println!("skipped: the memory controller is not in v2 here");
        return;
    };
    let home = part.dir.child("home");
    part.dir.write("cgroup.subtree_control", "+memory").unwrap();
    home.create().unwrap();
    for file in ["", "cgroup.procs", "cgroup.subtree_control"] {
        std::os::unix::fs::chown(home.path().join(file), Some(65534), Some(65534)).unwrap();
    }
    use std::os::unix::process::CommandExt;
    let mut command = as_role("delegated");
    command.uid(65534).gid(65534).stderr(Stdio::piped());
    let mut gated = Gated::spawn(command);
    home.add(gated.child.id()).unwrap();
    gated.gate.write_all(b"go\n").unwrap();
    let output = gated.child.wait_with_output().unwrap();
    home.remove().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("delegated: done"), "{text}");
}
