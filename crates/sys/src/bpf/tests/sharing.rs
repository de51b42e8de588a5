//! Several runs at once, and what is left of them.

use super::*;
use crate::bpf::load::OBJECT_HASH;
use std::io::{BufRead, BufReader};
use std::path::Path;

#[test]
fn bpf_root_nested_runs_both_see_everything() {
    let _pins = pins_in_use();
    let (Some(programs), Some(load)) = (programs(), workload()) else {
        return;
    };
    let mut outer = programs.start_run().unwrap();
    let second = TaskPrograms::open().unwrap();
    // A slow machine may have given it a copy of its own: then it shares nothing.
    let shared = programs.is_shared() && second.is_shared();
    let inner = if shared { &second } else { &programs };
    let mut inner = inner.start_run().unwrap();
    let (mut outer_seen, mut inner_seen) = (Seen::default(), Seen::default());
    let mut shell = Gated::new(&format!("exec {} fork 50", load.display()));
    outer.add(shell.pid()).unwrap();
    inner.add(shell.pid()).unwrap();
    shell.open();
    shell.finish(&mut [(&mut outer, &mut outer_seen), (&mut inner, &mut inner_seen)]);
    outer_seen.settle(&mut outer);
    inner_seen.settle(&mut inner);
    assert_eq!(outer.totals(), inner.totals());
    assert_eq!(inner.totals().processes_total, 51);
    assert_eq!(outer_seen.exits, inner_seen.exits);
    assert_eq!(outer_seen.finals, inner_seen.finals);
    assert_eq!(inner_seen.forks.len(), 50);
}

#[test]
fn bpf_root_sixty_four_runs_at_once() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let mut runs: Vec<_> = (0..64).map(|_| programs.start_run().unwrap()).collect();
    let mut seen: Vec<_> = (0..64).map(|_| Seen::default()).collect();
    let mut shells: Vec<_> = (0..64).map(|_| Gated::new("/bin/true; :")).collect();
    for (run, shell) in runs.iter().zip(&shells) {
        run.add(shell.pid()).unwrap();
    }
    shells.iter_mut().for_each(Gated::open);
    for ((run, seen), shell) in runs.iter_mut().zip(&mut seen).zip(&mut shells) {
        shell.finish(&mut [(run, seen)]);
        seen.settle(run);
        assert_eq!(run.totals().processes_total, 2);
        assert_eq!(seen.exits.len(), 2);
        assert_eq!(seen.exits[1].0, shell.pid());
    }
}

#[test]
fn bpf_root_a_process_is_in_eight_runs_at_most() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let mut shell = Gated::new(":");
    let mut runs: Vec<_> = (0..8).map(|_| programs.start_run().unwrap()).collect();
    runs.iter().for_each(|run| {
        run.add(shell.pid()).unwrap();
    });
    let ninth = programs.start_run().unwrap();
    assert!(matches!(ninth.add(shell.pid()), Err(Error::TooManyRuns)));
    drop(runs.pop());
    ninth.add(shell.pid()).unwrap();
    shell.open();
    shell.finish(&mut []);
}

#[test]
fn bpf_root_a_private_copy_works_too() {
    let Ok(programs) = TaskPrograms::open_private() else {
        println!("skipped: the programs cannot be loaded");
        return;
    };
    let (_, seen, totals, _) = watch(&programs, "/bin/true; :");
    assert_eq!((seen.exits.len(), totals.processes_total), (2, 2));
}

#[test]
#[ignore = "the other side of the test below"]
fn hold_a_run() {
    let programs = TaskPrograms::open().unwrap();
    let _run = programs.start_run().unwrap();
    println!("holding");
    std::thread::park();
}

#[test]
fn bpf_root_a_killed_run_leaves_nothing_after_the_next() {
    let _alone = PINS
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(first) = programs() else { return };
    if !first.is_shared() {
        println!("skipped: nothing can be pinned here");
        return;
    }
    drop(first);
    let pins = Path::new("/sys/fs/bpf/plimsoll").join(OBJECT_HASH);
    assert!(!pins.exists(), "a run that ended well left pins");
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "bpf::tests::sharing::hold_a_run",
            "--ignored",
            "--nocapture",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(Result::ok)
            .any(|line| line.contains("holding"))
    );
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(pins.exists());
    let next = TaskPrograms::open().unwrap();
    let (_, seen, _, _) = watch(&next, "/bin/true; :");
    assert_eq!(seen.exits.len(), 2);
    drop(next);
    assert!(!pins.exists(), "the next run left pins");
}
