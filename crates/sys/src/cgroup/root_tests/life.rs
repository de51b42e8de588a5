//! Making, freezing, killing, leaving and sweeping.

use super::super::control::ControlDir;
use super::super::group::Part;
use super::super::owner::Owner;
use super::*;
use std::os::unix::process::{CommandExt, ExitStatusExt};

/// Ignores SIGTERM, leaves the session, stops, and hops from pid to pid by forking and ending.
const STUBBORN: &str = "trap '' TERM HUP; setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & \
                        sleep 1000 & kill -STOP $!; hop() { hop & }; hop & \
                        echo ready >&2; while :; do sleep 1000; done";

/// Ends the stubborn with what this kernel has, or as one without `cgroup.kill` would.
fn kill_stubborn(group: &Group, at_once: bool) {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("read go; {STUBBORN}")])
        .stderr(Stdio::piped());
    let mut child = Gated::spawn(command).start(group);
    let mut ready = [0; 5];
    child.stderr.take().unwrap().read_exact(&mut ready).unwrap();
    assert!(group.pids().unwrap().len() >= 3);
    let (start, cpu) = (Instant::now(), cpu_us());
    if !at_once {
        group.kill_each(true).unwrap();
        while !group.pids().unwrap().is_empty() {
            std::thread::yield_now();
        }
    }
    assert_eq!(group.kill_all(SOON).unwrap(), 0);
    println!(
        "figure: kill {:?}, {} us CPU",
        start.elapsed(),
        cpu_us() - cpu
    );
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert_eq!(group.pids().unwrap(), []);
}

#[test]
fn root_kill_reaches_the_stubborn_the_stopped_and_those_who_left_the_session() {
    let Ok(mut places) = Places::find() else {
        return;
    };
    // With everything that this machine has, then with v1 alone.
    for (hint, at_once) in [("kill", true), ("kill-each", false), ("kill-v1", true)] {
        if hint == "kill-v1" {
            places.v2 = None;
        }
        let mut group = match Group::make(&places, hint, &[]) {
            Ok(group) => group,
            Err(reason) => return skipped(&reason).unwrap_or(()),
        };
        kill_stubborn(&group, at_once);
        assert_eq!(group.remove().unwrap(), 0);
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
    let (mut owner, task, lines) = owner(|gated| gated);
    let places = Places::find().unwrap();
    sweep(&places);
    assert!(
        lines.iter().all(|dir| std::path::Path::new(dir).exists()),
        "owner lives"
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    // Another test may sweep at the same time: then it holds some of them for a moment.
    let gone = || lines.iter().all(|dir| !std::path::Path::new(dir).exists());
    let swept: Vec<_> = (0..100)
        .take_while(|_| !gone())
        .map(|_| sweep(&places))
        .collect();
    assert!(gone(), "{swept:?}");
    assert!(living.parts().iter().all(|part| part.dir.path().exists()));
    // SAFETY: kill takes two numbers; the task is ours and nobody has waited for it.
    assert_eq!(unsafe { libc::kill(task, libc::SIGKILL) }, 0);
}

/// A monitor that owns a group: itself, the task in the group, the group's folders. `placed` may
/// put it into a group first.
fn owner(placed: impl FnOnce(Gated) -> Gated) -> (Child, i32, Vec<String>) {
    let mut command = as_role("own");
    command.stderr(Stdio::piped());
    let mut gated = placed(Gated::spawn(command));
    gated.gate.write_all(b"go\n").unwrap();
    let stderr = BufReader::new(gated.child.stderr.take().unwrap());
    let lines = stderr.lines().map(Result::unwrap);
    let mut lines: Vec<_> = lines.take_while(|line| line != "end").collect();
    let task = lines.remove(0).parse().unwrap();
    (gated.child, task, lines)
}

#[test]
fn root_the_group_of_a_nested_run_goes_with_the_outer_one() {
    let Some(mut outer) = made("outer") else {
        return;
    };
    let (mut owner, _, inner) = owner(|gated| {
        outer.add(gated.child.id()).unwrap();
        gated
    });
    let within = outer.memory_part().unwrap().dir.path().to_owned();
    assert!(
        inner
            .iter()
            .any(|dir| dir.starts_with(within.to_str().unwrap()))
    );
    assert_eq!(outer.pids().unwrap().len(), 2);
    assert_eq!(outer.kill_all(SOON).unwrap(), 0);
    owner.wait().unwrap();
    assert_eq!(outer.remove().unwrap(), 0);
    assert!(!within.exists());
}

/// Makes `name` and a group in it below each part; the folders.
fn made_below(group: &Group, name: &str) -> Vec<ControlDir> {
    let below = |part: &Part| {
        let outer = part.dir.child(name);
        let inner = outer.child("inner");
        outer.create().unwrap();
        inner.create().unwrap();
        [outer, inner]
    };
    group.parts().iter().flat_map(below).collect()
}

#[test]
fn root_groups_that_the_task_left_behind_go_with_ours() {
    let Some(mut group) = made("left-behind") else {
        return;
    };
    let all = made_below(&group, "mine");
    group.remove().unwrap();
    assert!(all.iter().all(|dir| !dir.path().exists()));
    assert!(group.parts().iter().all(|part| !part.dir.path().exists()));
}

#[test]
fn root_groups_that_may_be_in_use_stay_for_a_later_sweep() {
    let Some(mut group) = made("in-use") else {
        return;
    };
    let mine = made_below(&group, "mine");
    // As a run within the task has one, before its command is in it.
    let of_a_run = made_below(&group, &Owner::current().unwrap().name("within"));
    let mut child = Gated::shell("exec sleep 1000").start(&group);
    assert!(group.remove().is_err(), "a process lives");
    let there = |all: &[ControlDir]| all.iter().all(|dir| dir.path().exists());
    assert!(there(&mine) && there(&of_a_run));
    assert!(group.remove().is_err(), "a run lives");
    assert!(!mine.iter().any(|dir| dir.path().exists()) && there(&of_a_run));
    for dir in of_a_run.iter().rev() {
        dir.remove().unwrap();
    }
    group.remove().unwrap();
    assert!(group.parts().iter().all(|part| !part.dir.path().exists()));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn root_a_user_without_rights_is_told_so() {
    // SAFETY: geteuid takes nothing.
    if unsafe { libc::geteuid() } != 0 || made("rights").is_none() {
        println!("skipped: only root can become a user without rights");
        return;
    }
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
    let used = cpu_us();
    let places = Places::find().unwrap();
    let found = cpu_us();
    sweep(&places);
    let (find, swept) = (found - used, cpu_us() - found);
    println!("figure: find {find} us CPU, sweep {swept} us CPU");
    println!("figure: make + add + remove {cpu:?} us CPU, make + add {wall:?}");
    assert_eq!(cpu.len(), 5);
}
