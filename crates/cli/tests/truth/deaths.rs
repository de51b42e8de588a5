//! `kill -9` of each of our processes: the tree is ended, or left when asked, and the last state is
//! on disk.

use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Cleanup, Signal};
use crate::harness::run::{Run, Running};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, executable, skip, words};
use record::report::{ExitType, Report};
use record::value::{Field, Method};
use std::fs;
use std::process::Stdio;

each_mechanism!(
    the_tree_ends_with_the_front,
    the_tree_ends_with_the_monitor,
    the_tree_ends_with_the_process_group,
    the_tree_ends_with_monitor_and_launcher,
    the_tree_ends_with_all_of_our_name,
    nothing_is_orphaned_by_the_launcher,
    the_tree_is_left_when_asked,
    nobody_of_ours_is_left_to_init,
    nobody_of_ours_is_left_by_a_start_that_is_refused,
);

/// A run with a stubborn tree below it; its pids, main first; our own processes from the top.
fn stubborn(mechanism: Mechanism, options: &[&str]) -> (Running, Vec<u32>, Vec<u32>, Cleanup) {
    let run = Run::watched(mechanism, Vec::new()).options(options);
    let file = run.path("pids");
    let mut running = run
        .command(words![program("stubborn"), file, "main"])
        .start();
    let pids = running.wait_for_pids(&file);
    let ours = process::between(running.pid(), pids[0]);
    let cleanup = Cleanup(pids.iter().chain(&ours).copied().collect());
    assert!(!ours.is_empty(), "nobody between plimsoll and its task");
    (running, pids, ours, cleanup)
}

fn the_tree_ends_with_the_front(mechanism: Mechanism) {
    let (running, pids, ours, _cleanup) = stubborn(mechanism, &[]);
    running.send(Signal::KILL);
    running.finish().expect_status(128 + 9);
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
}

fn the_tree_ends_with_the_monitor(mechanism: Mechanism) {
    let (running, pids, ours, _cleanup) = stubborn(mechanism, &[]);
    process::send(ours[0], Signal::KILL);
    let done = running.finish();
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
    assert_ne!(
        done.status,
        0,
        "success without a monitor\n{}",
        done.context()
    );
}

/// As `timeout -s KILL` ends a task that has processes in sessions of their own.
fn the_tree_ends_with_the_process_group(mechanism: Mechanism) {
    // It leads a group of its own then, which is not that of the tests.
    let run = Run::watched(mechanism, Vec::new()).wrapped(words!["setsid"]);
    let file = run.path("pids");
    let mut running = run
        .command(words![program("stubborn"), file, "main"])
        .start();
    let pids = running.wait_for_pids(&file);
    let ours = process::between(running.pid(), pids[0]);
    let _cleanup = Cleanup(pids.iter().chain(&ours).copied().collect());
    let group = rustix::process::Pid::from_raw(running.pid() as i32).unwrap();
    rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    running.finish().expect_status(128 + 9);
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
}

/// Nobody of ours but the front is left: it ends what it inherits.
fn the_tree_ends_with_monitor_and_launcher(mechanism: Mechanism) {
    let (running, pids, ours, _cleanup) = stubborn(mechanism, &[]);
    let Some(launcher) = ours.get(1) else {
        skip!("there is no launcher with this mechanism");
    };
    // Neither hears of the other's end before its own.
    for signal in [Signal::STOP, Signal::KILL] {
        process::send(ours[0], signal);
        process::send(*launcher, signal);
    }
    let done = running.finish();
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
    done.expect_status(128 + 9);
}

/// As `pkill -9 plimsoll` does.
fn the_tree_ends_with_all_of_our_name(mechanism: Mechanism) {
    let (running, pids, ours, _cleanup) = stubborn(mechanism, &[]);
    let is_named = |pid: &u32| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|comm| comm.contains("plimsoll"))
    };
    let all = [running.pid()].into_iter().chain(ours.iter().copied());
    let named: Vec<u32> = all.filter(is_named).collect();
    assert!(named.len() > 1, "{named:?} of {ours:?}");
    // Nobody hears of another's end before his own.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &named {
            process::send(*pid, signal);
        }
    }
    running.finish().expect_status(128 + 9);
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
}

/// In a container the first process may never wait for what it did not start.
fn nobody_of_ours_is_left_to_init(mechanism: Mechanism) {
    let (running, _pids, ours, _cleanup) = stubborn(mechanism, &["--grace", "100ms"]);
    running.send(Signal::TERM);
    running.finish();
    let left: Vec<_> = ours.iter().filter_map(|pid| process::state(*pid)).collect();
    assert!(left.is_empty(), "{left:?} of {ours:?}");
}

/// Fails unless this start is refused with `status` and leaves nobody to the process above.
fn refused_and_gone(run: Run, status: i32) {
    let done = run.wrapped(words![program("init")]).finish();
    done.expect_status(status);
    assert_eq!(done.stdout, "", "{}", done.context());
}

fn nobody_of_ours_is_left_by_a_start_that_is_refused(mechanism: Mechanism) {
    for death in ["kill", "leave"] {
        let watched = |command| {
            let death = format!("--on-monitor-death={death}");
            Run::watched(mechanism, command).options([death])
        };
        let folder = ["--measure-dir", "/no/such/folder"];
        refused_and_gone(watched(words!["true"]).options(folder), 125);
        let run = watched(Vec::new());
        let script = run.path("script");
        executable::script(&script, "#!/no/such/interpreter\n");
        refused_and_gone(run.command(words![script]), 127);
    }
}

#[test]
fn nobody_of_ours_is_left_where_bpf_is_refused() {
    if Mechanism::Bpf.missing().is_none() {
        skip!("BPF is permitted here");
    }
    for more in [&[][..], &["--level", "io"]] {
        let run = Run::plain(&["--mechanism", "bpf"], words!["true"]);
        refused_and_gone(run.options(more), 125);
    }
}

/// The monitor takes over what the launcher leaves: the task goes on or ends, but never alone.
fn nothing_is_orphaned_by_the_launcher(mechanism: Mechanism) {
    let (running, pids, ours, _cleanup) = stubborn(mechanism, &["--grace", "300ms"]);
    let Some(launcher) = ours.get(1) else {
        println!("skipped: there is no launcher with this mechanism");
        running.send(Signal::TERM);
        running.finish();
        return;
    };
    process::send(*launcher, Signal::KILL);
    process::wait_until_dead(&[*launcher]);
    if pids.iter().any(|pid| process::is_alive(*pid)) {
        process::send(running.pid(), Signal::TERM);
    }
    let done = running.finish();
    process::wait_until_dead(&pids);
    process::wait_until_dead(&ours);
    assert_ne!(
        done.report().exit.kind,
        ExitType::Running,
        "{}",
        done.context()
    );
    // It says that totals are lower bounds where one is.
    let usage = &done.report().usage;
    let lower = ["cpu_time", "faults_minor", "bytes_read"]
        .iter()
        .any(|name| {
            let value = usage.get(name).and_then(Field::value);
            value.is_some_and(|value| matches!(value.method, Method::LowerBound { .. }))
        });
    let notes = done.report().monitor.notes.join("\n");
    assert!(notes.contains("the launcher was ended"), "{notes}");
    assert_eq!(notes.contains("totals are lower bounds"), lower, "{notes}");
}

fn the_tree_is_left_when_asked(mechanism: Mechanism) {
    for front in [true, false] {
        let run = Run::watched(mechanism, Vec::new()).options(["--on-monitor-death=leave"]);
        let file = run.path("pid");
        let mut running = run.command(words![program("hold"), file]).start();
        let task = running.wait_for_pids(&file)[0];
        let ours = process::between(running.pid(), task);
        let cleanup = Cleanup(ours.iter().copied().chain([task]).collect());
        process::send(ours[0], Signal::KILL);
        if front {
            running.send(Signal::KILL);
        }
        process::wait_until_dead(&ours[..1]);
        if front {
            running.finish();
        }
        // What would end the task is quick: it is told at once by the kernel.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(process::is_alive(task), "the task was ended");
        drop(cleanup);
        process::wait_until_dead(&[task]);
        process::wait_until_dead(&ours);
    }
}

/// Nobody is left to tell of a limit: what goes on without a monitor is free of it.
#[test]
fn the_memory_limit_dies_with_the_monitor() {
    let options = ["--on-monitor-death=leave", "--limit", "memory=100MiB"];
    let run = Run::watched(Mechanism::Default, Vec::new()).options(options);
    let file = run.path("pid");
    let script = format!(
        "echo $$ >'{0}'; echo ready >>'{0}'; read line; '{1}' 200 exit; exit $?",
        file.display(),
        program("fill").display()
    );
    let run = run.input(Stdio::piped());
    let mut running = run.command(words!["/bin/sh", "-c", script]).start();
    let task = running.wait_for_pids(&file)[0];
    let ours = process::between(running.pid(), task);
    let _cleanup = Cleanup(ours.iter().copied().chain([task]).collect());
    process::send(ours[0], Signal::KILL);
    process::wait_until_dead(&ours[..1]);
    // The group goes right after its owner.
    let group = || fs::read_to_string(format!("/proc/{task}/cgroup")).unwrap();
    process::wait_until("the task is free", || !group().contains("plimsoll-"));
    running.end_input();
    running.finish().expect_status(0);
}

/// Before the first running state there is nothing to keep.
#[test]
fn a_killed_monitor_leaves_no_empty_file() {
    let run = Run::watched(Mechanism::Default, Vec::new());
    let (file, other) = (run.path("pid"), run.path("other"));
    let format = format!("--format=nextflow-trace={}", other.display());
    let mut running = run
        .options([format])
        .command(words![program("hold"), file])
        .start();
    let task = running.wait_for_pids(&file)[0];
    let ours = process::between(running.pid(), task);
    let _cleanup = Cleanup(ours.iter().copied().chain([task]).collect());
    let files = |folder: &std::path::Path| {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".running")).count()
    };
    assert_eq!(files(running.folder()), 2);
    process::send(ours[0], Signal::KILL);
    process::wait_until_dead(&[task]);
    let folder = running.folder().to_owned();
    process::wait_until("both are gone", || files(&folder) == 0);
    running.finish();
}

/// The first running state is written after ten seconds; a killed monitor leaves it there.
#[test]
fn the_last_running_state_stays_on_disk() {
    let run = Run::watched(Mechanism::Default, Vec::new());
    let file = run.path("pid");
    let mut running = run.command(words![program("hold"), file]).start();
    let task = running.wait_for_pids(&file)[0];
    let ours = process::between(running.pid(), task);
    let _cleanup = Cleanup(ours.iter().copied().chain([task]).collect());
    let folder = running.folder().to_owned();
    let state = || {
        let entries = fs::read_dir(&folder).unwrap();
        let mut texts = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
        texts.find_map(|text| serde_json::from_str::<Report>(&text).ok())
    };
    process::wait_until("a running state is on disk", || state().is_some());
    process::send(ours[0], Signal::KILL);
    process::wait_until_dead(&[task]);
    let report = state().unwrap();
    assert_eq!(report.exit.kind, ExitType::Running);
    assert_eq!(report.exit.code, None);
    let told = running.finish().stderr;
    assert!(told.contains("/.r.json.running"), "{told}");
}
