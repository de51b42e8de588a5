//! Who slept since the last pass, and what others may have changed of him.

use super::super::super::tests::workload;
use super::*;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ChildStdout;
use std::time::Duration;

/// What a pass said of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Same,
    Read(Record),
}

/// What the tests look at of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    parent: u32,
    group: u32,
    shmem_pages: u64,
    state: u32,
}

fn said(walk: &mut Walk, pid: u32) -> Said {
    let mut said = Said::Nothing;
    let all = walk.pass_since(&mut |met| match met {
        Met::Same(met) if met == pid => said = Said::Same,
        Met::Read(one) if one.pid == pid => {
            said = Said::Read(Record {
                parent: one.parent_tgid,
                group: one.group,
                shmem_pages: one.rss_shmem_pages + one.rss_file_pages,
                state: one.state,
            });
        }
        _ => {}
    });
    all.unwrap();
    said
}

/// Passes until one says that nothing differs; what the last one before it said, if any did.
fn rest(walk: &mut Walk, pid: u32) -> Option<Record> {
    let mut last = None;
    for _ in 0..500 {
        match said(walk, pid) {
            Said::Same => return last,
            Said::Read(one) => last = Some(one),
            Said::Nothing => {}
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{pid} did not come to rest");
}

/// The same of one whom no pass has met yet.
fn settle(walk: &mut Walk, pid: u32) -> Record {
    rest(walk, pid).unwrap()
}

/// What the next pass says, which must have read it.
fn read_again(walk: &mut Walk, pid: u32) -> Record {
    match said(walk, pid) {
        Said::Read(one) => one,
        other => panic!("{other:?}"),
    }
}

/// A walk that tells who rested, and the workload.
fn parts() -> Option<(Walk, &'static Path)> {
    let walk = Walk::open(0)
        .ok()
        .filter(|walk| matches!(walk.way, Way::List(_)));
    let parts = walk.zip(workload().map(|path| path.as_path()));
    if parts.is_none() {
        println!("skipped: no list of processes, or no cc");
    }
    parts
}

fn start(program: &Path, args: &[&str]) -> (Children, BufReader<ChildStdout>) {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let told = BufReader::new(child.stdout.take().unwrap());
    (Children(vec![child]), told)
}

fn line_of(told: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    line.trim().to_owned()
}

/// Where hundreds of others end between two passes, as other tests make them, some are read who
/// slept: that all of `crowd` are told by their ids comes true in one of some passes.
fn all_rest(walk: &mut Walk, crowd: &Children) -> bool {
    (0..20).any(|_| {
        for child in &crowd.0 {
            rest(walk, child.id());
        }
        let (mut same, mut read) = (Vec::new(), Vec::new());
        let count = walk.pass_since(&mut |met| match met {
            Met::Same(pid) => same.push(pid),
            Met::Read(one) => read.push(one.pid),
        });
        assert_eq!(count.unwrap(), (same.len() + read.len()) as u64);
        assert!(read.contains(&std::process::id()), "who asks runs");
        crowd.0.iter().all(|child| same.contains(&child.id()))
    })
}

#[test]
fn bpf_root_who_sleeps_is_told_by_its_id_and_who_runs_is_read() {
    let Some((mut walk, _)) = parts() else {
        return;
    };
    let crowd = crowd();
    assert!(all_rest(&mut walk, &crowd));
    // A whole pass reads everyone, and so does the one behind it.
    let sleeper = crowd.0.first().unwrap().id();
    assert!(walk_all(&mut walk).iter().any(|one| one.pid == sleeper));
    read_again(&mut walk, sleeper);
    rest(&mut walk, sleeper);
}

/// Six of seven of a crowd end and one comes; of those who stay, how many were told to have slept,
/// and how many there were.
fn come_and_go(walk: &mut Walk) -> (usize, usize) {
    let mut crowd = crowd();
    for child in &crowd.0 {
        rest(walk, child.id());
    }
    let stay: Vec<u32> = crowd.0.iter().step_by(7).map(Child::id).collect();
    let goes = |child: &Child| !stay.contains(&child.id());
    for child in crowd.0.iter_mut().filter(|child| goes(child)) {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    crowd.0.retain(|child| !goes(child));
    let comes = Command::new("sleep").arg("600").spawn().unwrap();
    let new = comes.id();
    crowd.0.push(comes);
    let (mut same, mut met) = (0, Vec::new());
    let taken = walk.pass_since(&mut |one| match one {
        Met::Same(pid) => {
            same += usize::from(stay.contains(&pid));
            met.push(pid);
        }
        Met::Read(one) => met.push(one.pid),
    });
    taken.unwrap();
    for pid in stay.iter().chain([&new]) {
        assert_eq!(met.iter().filter(|one| *one == pid).count(), 1);
    }
    (same, stay.len())
}

#[test]
fn bpf_root_who_slept_stays_known_whoever_comes_and_goes() {
    let Some((mut walk, _)) = parts() else {
        return;
    };
    // Where hundreds of others end as well, some are read who slept.
    let all = (0..20).any(|_| {
        let (same, stay) = come_and_go(&mut walk);
        same == stay
    });
    assert!(all);
}

#[test]
fn bpf_root_who_has_another_parent_is_read_though_he_slept() {
    let Some((mut walk, _)) = parts() else {
        return;
    };
    let script = ["-c", "sleep 600 & echo $!; read line"];
    let (mut shell, mut told) = start(Path::new("/bin/sh"), &script);
    let sleeper: u32 = line_of(&mut told).parse().unwrap();
    let parent = shell.0.first().unwrap().id();
    assert_eq!(settle(&mut walk, sleeper).parent, parent);
    let mut child = shell.0.remove(0);
    child.kill().unwrap();
    child.wait().unwrap();
    let now = read_again(&mut walk, sleeper);
    assert!(now.parent != parent && now.parent > 0);
    let ended = Command::new("kill").arg(sleeper.to_string()).status();
    assert!(ended.unwrap().success());
}

#[test]
fn bpf_root_who_is_moved_to_another_group_is_read_though_he_slept() {
    let Some((mut walk, load)) = parts() else {
        return;
    };
    let (mut load, mut told) = start(load, &["group"]);
    let sleeper: u32 = line_of(&mut told).parse().unwrap();
    assert_ne!(settle(&mut walk, sleeper).group, sleeper);
    let child = load.0.first_mut().unwrap();
    let mut ask = child.stdin.take().unwrap();
    ask.write_all(b"go\n").unwrap();
    assert_eq!(line_of(&mut told), "done");
    assert_eq!(read_again(&mut walk, sleeper).group, sleeper);
    drop(ask);
    child.wait().unwrap();
    load.0.clear();
}

#[test]
fn bpf_root_whose_pages_are_taken_away_is_read_though_he_slept() {
    let Some((mut walk, load)) = parts() else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let (load, mut told) = start(load, &["map", file.path().to_str().unwrap()]);
    assert_eq!(line_of(&mut told), "ready");
    let pid = load.0.first().unwrap().id();
    let before = settle(&mut walk, pid).shmem_pages;
    file.as_file().set_len(0).unwrap();
    let after = read_again(&mut walk, pid).shmem_pages;
    let pages = (1 << 20) / crate::bpf::mapping::page_bytes() as u64;
    assert_eq!(before - after, pages);
}

#[test]
fn bpf_root_who_is_stopped_is_read() {
    let Some((mut walk, _)) = parts() else {
        return;
    };
    let sleep = Command::new("sleep").arg("600").spawn().unwrap();
    let sleeper = Children(vec![sleep]);
    let pid = sleeper.0.first().unwrap().id();
    settle(&mut walk, pid);
    let stop = Command::new("kill")
        .args(["-STOP", &pid.to_string()])
        .status();
    assert!(stop.unwrap().success());
    let stopped = std::iter::repeat_with(|| said(&mut walk, pid)).take(500);
    let stopped = stopped.filter_map(|said| match said {
        Said::Read(one) => Some(one.state),
        _ => None,
    });
    // `__TASK_STOPPED`; at first it may not have heard of it.
    assert!(stopped.map(|state| state & 4).any(|bit| bit != 0));
}
