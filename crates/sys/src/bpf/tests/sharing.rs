//! Several runs at once, and what is left of them.

use super::*;
use crate::bpf::kept;
use crate::bpf::load::{Maps, OBJECT_HASH, fd_bytes, lookup};
use crate::bpf::state::State;
use crate::bpf::{FileOptions, unload};
use libbpf_rs::MapCore;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::RwLockWriteGuard;

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

/// Set in the process that plays the run to be killed.
const HOLDER: &str = "PLIMSOLL_TEST_HOLDS_A_RUN";

fn hold_a_run() {
    let programs = TaskPrograms::open().unwrap();
    let run = programs.start_run().unwrap();
    let _files = run
        .follow_files(FileOptions {
            rows_max: 10,
            times: true,
            from_exec: false,
            owner: None,
        })
        .unwrap();
    println!("holding");
    std::thread::park();
}

/// This test once more, in a process that holds a run.
fn holder() -> Child {
    let name = "bpf::tests::sharing::bpf_root_a_killed_run_is_cleared_by_the_next";
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(HOLDER, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.contains("holding"))));
    holder
}

fn pins() -> PathBuf {
    Path::new("/sys/fs/bpf/plimsoll").join(OBJECT_HASH)
}

fn is_attached() -> bool {
    let links = ["link_on_switch", "link_on_sys_exit", "link_on_call_begin"];
    let there = links.map(|link| pins().join(link).exists());
    there.contains(&true)
}

/// The programs with nobody else about; nothing where none can be pinned.
fn alone() -> Option<(RwLockWriteGuard<'static, ()>, TaskPrograms)> {
    let guard = PINS
        .write()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let programs = programs()?;
    if !programs.is_shared() {
        println!("skipped: nothing can be pinned here");
        return None;
    }
    Some((guard, programs))
}

#[test]
fn bpf_root_a_killed_run_is_cleared_by_the_next() {
    if std::env::var_os(HOLDER).is_some() {
        return hold_a_run();
    }
    let Some((_guard, first)) = alone() else {
        return;
    };
    drop(first);
    assert!(!is_attached(), "a run that ended well left its links");
    let mut holder = holder();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(is_attached());
    crate::bpf::clear_after_death();
    assert!(!is_attached(), "who outlived the run left its links");
    let mut holder = self::holder();
    holder.kill().unwrap();
    holder.wait().unwrap();
    let next = TaskPrograms::open().unwrap();
    let State { maps, .. } = next.state();
    let left = |key: &Vec<u8>| {
        let slot = u32::from_ne_bytes(key.as_slice().try_into().unwrap());
        has(maps, key) && !kept::has(&maps.rings, slot)
    };
    assert_eq!(maps.rings.keys().filter(left).count(), 0);
    let (_, seen, _, _) = watch(&next, "/bin/true; :");
    assert_eq!(seen.exits.len(), 2);
    drop(next);
    assert!(!is_attached(), "the next run left its links");
}

fn has(maps: &Maps, slot: &[u8]) -> bool {
    matches!(lookup(&maps.rings, slot), Ok(Some(_)))
}

#[test]
fn bpf_root_programs_stay_for_the_next_run_and_their_state_does_not() {
    let Some((_guard, first)) = alone() else {
        return;
    };
    let id = first.state().maps.processes.info().unwrap().info.id;
    let mut daemon = Gated::new(":");
    first.start_run().unwrap().add(daemon.pid()).unwrap();
    assert_eq!(first.state().maps.processes.keys().count(), 1);
    drop(first);
    assert!(!is_attached() && pins().join("program_on_switch").exists());
    let second = TaskPrograms::open().unwrap();
    assert_eq!(
        second.state().maps.processes.info().unwrap().info.id,
        id,
        "the programs were loaded anew"
    );
    assert_eq!(second.state().maps.processes.keys().count(), 0);
    // Its mark is of a run that is over: a new run takes it in all the same.
    let (mut run, mut seen) = (second.start_run().unwrap(), Seen::default());
    run.add(daemon.pid()).unwrap();
    daemon.open();
    daemon.finish(&mut [(&mut run, &mut seen)]);
    seen.settle(&mut run);
    assert_eq!(seen.exits.len(), 1);
}

#[test]
fn bpf_root_unload_spares_programs_in_use() {
    let Some((_guard, programs)) = alone() else {
        return;
    };
    assert!(!unload().unwrap());
    assert!(is_attached());
    drop(programs);
    assert!(unload().unwrap());
    assert!(!pins().exists());
    assert!(unload().unwrap(), "nothing to unload is no failure");
}

/// Begets one who lives until the shell's input ends.
const BEGETS: &str = "sleep 60 & read stop; kill $!; wait; :";

fn has_mark(programs: &TaskPrograms, pid: u32) -> bool {
    let pidfd = crate::process::pidfd(pid).unwrap();
    let maps = &programs.state().maps;
    lookup(&maps.members, &fd_bytes(&pidfd)).unwrap().is_some()
}

/// The pid of the first who was born.
fn first_born(run: &mut Run, seen: &mut Seen) -> u32 {
    for _ in 0..5000 {
        seen.drain(run);
        if let Some((pid, _)) = seen.forks.first() {
            return *pid;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("nobody was born")
}

/// Begins `script` in a run; the shell, and who it begot.
fn begets(run: &mut Run, seen: &mut Seen, script: &str) -> (Gated, u32) {
    let mut shell = Gated::new(script);
    run.add(shell.pid()).unwrap();
    shell.open_and_keep();
    let born = first_born(run, seen);
    (shell, born)
}

fn let_go(mut shell: Gated, run: &mut Run, seen: &mut Seen) {
    shell.open();
    shell.finish(&mut [(run, seen)]);
    seen.settle(run);
    assert_eq!((seen.exits.len(), seen.finals.len()), (2, 2));
}

#[test]
fn bpf_root_who_is_born_has_a_mark_only_where_somebody_asks_at_each_call() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let (mut run, mut seen) = (programs.start_run().unwrap(), Seen::default());
    let (shell, born) = begets(&mut run, &mut seen, BEGETS);
    assert!(has_mark(&programs, shell.pid()) && !has_mark(&programs, born));
    let_go(shell, &mut run, &mut seen);

    let (mut run, mut seen) = (programs.start_run().unwrap(), Seen::default());
    let Ok(_calls) = run.follow_calls(None) else {
        return println!("skipped: system calls cannot be followed here");
    };
    let (shell, born) = begets(&mut run, &mut seen, BEGETS);
    assert!(has_mark(&programs, born));
    let_go(shell, &mut run, &mut seen);
}

#[test]
fn bpf_root_what_a_launcher_begets_is_found_by_its_own_run_too() {
    let _pins = pins_in_use();
    let Some(programs) = programs() else { return };
    let (mut outer, mut outer_seen) = (programs.start_run().unwrap(), Seen::default());
    let (mut inner, mut inner_seen) = (programs.start_run().unwrap(), Seen::default());
    let folder = std::env::temp_dir().join(format!("plimsoll-launch-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let launcher = folder.join("plim-launcher");
    std::os::unix::fs::symlink("/bin/sh", &launcher).unwrap();
    let script = format!("exec {} -c '{BEGETS}'", launcher.display());
    let (shell, born) = begets(&mut outer, &mut outer_seen, &script);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(has_mark(&programs, born));
    inner.add(born).unwrap();
    let_go(shell, &mut outer, &mut outer_seen);
    inner_seen.settle(&mut inner);
    let of_born: Vec<_> = outer_seen.exits.iter().filter(|it| it.0 == born).collect();
    assert_eq!(inner_seen.exits.iter().collect::<Vec<_>>(), of_born);
}

fn ring_in(programs: &TaskPrograms, slot: u32) -> Option<Vec<u8>> {
    lookup(&programs.state().maps.rings, &slot.to_ne_bytes()).unwrap()
}

#[test]
fn bpf_root_a_ring_stays_for_the_next_run_and_what_is_in_it_does_not() {
    let Some((_guard, programs)) = alone() else {
        return;
    };
    let first = programs.start_run().unwrap();
    let ring = ring_in(&programs, 0);
    let mut shell = Gated::new("/bin/true; :");
    first.add(shell.pid()).unwrap();
    shell.open();
    shell.finish(&mut []);
    assert!(ring.is_some() && kept::has(&programs.state().maps.rings, 0));
    drop(first);
    drop(programs);

    let programs = TaskPrograms::open().unwrap();
    assert_eq!(ring_in(&programs, 0), ring);
    let (shell, seen, totals, _) = watch(&programs, "/bin/true; :");
    assert_eq!((seen.exits.len(), totals.processes_total), (2, 2));
    assert_eq!((seen.forks.len(), seen.exits[1].0), (1, shell));

    // Who borrows it looks into it: it is a ring of its own.
    let lent = programs.start_lent_run().unwrap();
    assert!(ring_in(&programs, 0).is_some_and(|it| Some(it) != ring));
    drop(lent);
    assert_eq!(ring_in(&programs, 0), None);
    drop(programs.start_run().unwrap());
    assert_eq!(ring_in(&programs, 0), ring);

    let runs: Vec<_> = (0..8).map(|_| programs.start_run().unwrap()).collect();
    assert!(ring_in(&programs, 7).is_some());
    drop(runs);
    assert_eq!(ring_in(&programs, 7), None);
    drop(programs);
    assert!(unload().unwrap() && !pins().exists());
}
