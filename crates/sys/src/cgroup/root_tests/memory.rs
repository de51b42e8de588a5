//! Memory limits and OOM events.

use super::*;
use std::os::unix::process::{CommandExt, ExitStatusExt};

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
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    let counts = watch.read().unwrap();
    assert!(counts.events >= 1 && counts.kills == 1, "{counts:?}");
    assert_eq!(group.oom_counts().unwrap().kills, 1);
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
fn root_the_limit_covers_swap_unless_some_is_allowed() {
    let Some(mut group) = made("swap") else {
        return;
    };
    let dir = group.memory_part().unwrap().dir.clone();
    let number = |file: &str| dir.read(file).ok()?.trim().parse::<u64>().ok();
    for allowed in [0, 16 * MIB] {
        group.set_memory_limit(64 * MIB, allowed).unwrap();
        if let Some(both) = number("memory.memsw.limit_in_bytes") {
            assert_eq!(both, 64 * MIB + allowed);
        }
        if let Some(swap) = number("memory.swap.max") {
            assert_eq!(swap, allowed);
        }
        let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"));
        assert_eq!(limit, Some(64 * MIB));
    }
    group.remove().unwrap();
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

#[test]
fn root_an_oom_kill_in_a_nested_group_is_seen_by_the_outer_one() {
    let Some(mut outer) = made("above") else {
        return;
    };
    outer.set_memory_limit(64 * MIB, 0).unwrap();
    let mut watch = outer.oom_watch().unwrap();
    let mut command = as_role("nest");
    command.stderr(Stdio::piped());
    let mut gated = Gated::spawn(command);
    outer.add(gated.child.id()).unwrap();
    gated.gate.write_all(b"go\n").unwrap();
    let mut stderr = BufReader::new(gated.child.stderr.take().unwrap());
    stderr.read_line(&mut String::new()).unwrap();
    let counts = watch.read().unwrap();
    assert!(counts.events >= 1 && counts.kills == 1, "{counts:?}");
    gated.gate.write_all(b"go\n").unwrap();
    assert!(gated.child.wait().unwrap().success());
    assert_eq!(outer.remove().unwrap(), 0);
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
