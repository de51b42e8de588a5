//! Limits: every name, its exit status, what is said about it, and that nothing gets past it.

use crate::harness::expect::MIB;
use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run, is_memory, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::report::ExitType;
use std::ffi::OsString;
use std::fs;

each_mechanism!(
    wall,
    cpu,
    memory,
    who_had_the_memory_is_named,
    rss,
    virtual_size,
    processes,
    threads,
    nothing_survives_a_limit,
    cache_and_sharing_break_no_limit,
    measure_only_ends_nothing,
);

/// The process that the caller waits for stops with the command, and must not stay stopped.
#[test]
fn a_stopped_task_is_ended_and_so_are_we() {
    let stops = words!["/bin/sh", "-c", "kill -STOP $$"];
    let options = ["-q", "--limit", "wall=300ms", "--grace", "100ms"];
    for wrapper in [words![], words!["/usr/bin/strace", "-f", "-o", "/dev/null"]] {
        if wrapper
            .first()
            .is_some_and(|path| !std::path::Path::new(path).exists())
        {
            continue;
        }
        let done = Run::plain(&options, stops.clone())
            .wrapped(wrapper)
            .finish();
        done.expect_status(124);
    }
    let script = "(sleep 0.2; kill -CONT $$) & kill -STOP $$; exit 3";
    let done = Run::plain(&["-q"], words!["/bin/sh", "-c", script]).finish();
    done.expect_status(3);
}

/// Runs `command` under one limit that it breaks, and looks at everything that is said of it.
#[track_caller]
pub(crate) fn broken(
    mechanism: Mechanism,
    limit: &str,
    options: &[&str],
    command: Vec<OsString>,
    status: i32,
) -> Done {
    let done = Run::watched(mechanism, command)
        .options(["--limit", limit, "--grace", "300ms", "--interval", "100ms"])
        .options(options)
        .finish();
    done.expect_status(status);
    let report = done.report();
    let name = limit.split('=').next().unwrap();
    assert_eq!(report.exit.kind, ExitType::Limit, "{}", done.context());
    assert_eq!(report.exit.status, Some(status), "{}", done.context());
    let cause = report.exit.cause.as_deref().unwrap_or_default();
    assert!(cause.contains(name), "cause: {cause}\n{}", done.context());
    assert_eq!(report.limits.len(), 1);
    assert_eq!(report.limits[0].resource, name);
    let exceeded = &report.exceeded;
    assert_eq!(exceeded.len(), 1, "{exceeded:?}\n{}", done.context());
    assert_eq!(exceeded[0].resource, name);
    assert!(exceeded[0].enforced, "{exceeded:?}");
    assert!(exceeded[0].at_ns.is_some(), "{exceeded:?}");
    assert_eq!(exceeded[0].limit, report.limits[0].limit);
    let (value, most) = (exceeded[0].value.as_f64(), exceeded[0].limit.as_f64());
    assert!(
        value >= most * 0.99,
        "{value} did not break {most}\n{}",
        done.context()
    );
    done
}

fn wall(mechanism: Mechanism) {
    broken(mechanism, "wall=400ms", &[], words!["sleep", "300"], 124);
}

fn cpu(mechanism: Mechanism) {
    broken(
        mechanism,
        "cpu=300ms",
        &[],
        words![program("burn"), "900000"],
        152,
    );
}

fn memory(mechanism: Mechanism) {
    let command = words![program("fill.static"), "300", "hold"];
    let done = broken(mechanism, "memory=100MiB", &[], command, 137);
    let process = done.report().exceeded[0]
        .process
        .clone()
        .unwrap_or_default();
    assert!(
        process.contains("fill"),
        "who? `{process}`\n{}",
        done.context()
    );
}

/// It became the program that holds the memory after it was looked at, or was started by one that
/// lives on.
fn who_had_the_memory_is_named(mechanism: Mechanism) {
    let script = "setsid \"$0\" 300 hold; sleep 3; true";
    let command = words!["/bin/sh", "-c", script, program("fill.static")];
    let done = broken(mechanism, "memory=100MiB", &[], command, 137);
    let process = done.report().exceeded[0].process.as_deref();
    let process = process.unwrap_or_default();
    // Without events it may have come and gone unseen.
    let named = process.ends_with("300 hold") && !process.contains("setsid");
    assert!(
        named || mechanism == Mechanism::Procfs,
        "who? `{process}`\n{}",
        done.context()
    );
}

/// Containers and sessions get groups of their own: the kernel's limit does not follow them there.
#[test]
fn root_who_leaves_the_group_is_held_all_the_same() {
    use sys::cgroup::{Controller, Places};
    let Ok(places) = Places::find() else {
        skip!("no control groups");
    };
    let place = places.v1(Controller::Memory).or(places.v2.as_ref());
    let Some(place) = place else {
        skip!("no control group with memory");
    };
    let name = format!("test-elsewhere-{}", std::process::id());
    let other = place.dir.path().join(name);
    if let Err(error) = fs::create_dir(&other) {
        skip!("no group can be made: {error}");
    }
    // A program that starts after its shell moved, and is grown once the monitor may have looked.
    let script = "echo $$ > \"$1/cgroup.procs\" && sleep 0.3 && exec \"$2\" 300 hold";
    let program = program("fill.static");
    let command = words!["/bin/sh", "-c", script, "sh", other, program];
    let done = broken(Mechanism::Default, "memory=100MiB", &[], command, 137);
    process::wait_until("the group to be empty", || fs::remove_dir(&other).is_ok());
    let notes = done.report().monitor.notes.join("; ");
    let leaves = notes.contains("another control group");
    // Without a memory controller of our own nobody was held by one.
    let held = !notes.contains("control group of our own");
    assert!(leaves || !held, "{}", done.context());
}

fn rss(mechanism: Mechanism) {
    let command = words![program("fill.static"), "200", "hold"];
    broken(mechanism, "rss=100MiB", &[], command, 137);
}

fn virtual_size(mechanism: Mechanism) {
    let command = words![program("fill.static"), "200", "hold"];
    broken(mechanism, "virtual=100MiB", &[], command, 137);
}

fn processes(mechanism: Mechanism) {
    let command = words![program("many.static"), "20", "300000"];
    let done = broken(mechanism, "processes=5", &[], command, 143);
    let maker = done.report().exceeded[0].process.as_deref();
    assert!(
        maker.is_some_and(|maker| maker.contains("many.static")),
        "{maker:?}\n{}",
        done.context()
    );
}

fn threads(mechanism: Mechanism) {
    broken(
        mechanism,
        "threads=8",
        &[],
        words![program("threads"), "20", "900000"],
        143,
    );
}

#[test]
fn cores() {
    let command = words![program("burn"), "900000"];
    broken(Mechanism::Default, "cores=0.4", &[], command, 143);
}

#[test]
fn bytes_read() {
    let command = words![
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=64k",
        "status=none"
    ];
    broken(Mechanism::Default, "read=200MiB", &[], command, 143);
}

#[test]
fn bytes_written() {
    let command = words![
        "dd",
        "if=/dev/zero",
        "of=/dev/null",
        "bs=64k",
        "status=none"
    ];
    broken(Mechanism::Default, "written=200MiB", &[], command, 153);
}

#[test]
fn footprint_of_a_measured_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    let script = format!(
        "dd if=/dev/zero of={} bs=1M count=50 status=none; sleep 300",
        file.display()
    );
    let options = ["--measure-dir", folder.path().to_str().unwrap()];
    let command = words!["/bin/sh", "-c", script];
    broken(
        Mechanism::Default,
        "footprint=10MiB",
        &options,
        command,
        153,
    );
}

#[test]
fn files_of_a_measured_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do : > f$i; done; sleep 300",
        folder.path().display()
    );
    let options = ["--measure-dir", folder.path().to_str().unwrap()];
    let command = words!["/bin/sh", "-c", script];
    broken(Mechanism::Default, "files=5", &options, command, 153);
}

#[test]
fn one_exit_code_for_all() {
    let options = ["--limit-exit-code", "99"];
    broken(
        Mechanism::Default,
        "wall=300ms",
        &options,
        words!["sleep", "300"],
        99,
    );
    let command = words![program("burn"), "900000"];
    broken(Mechanism::Default, "cpu=200ms", &options, command, 99);
}

/// Deaf, stopped and in sessions of their own: all are gone when the run has ended.
fn nothing_survives_a_limit(mechanism: Mechanism) {
    let run =
        Run::watched(mechanism, Vec::new()).options(["--limit", "wall=900ms", "--grace", "200ms"]);
    let file = run.path("pids");
    let mut running = run
        .command(words![program("stubborn"), file, "main"])
        .start();
    let pids = running.wait_for_pids(&file);
    assert_eq!(pids.len(), 5);
    let done = running.finish();
    let alive: Vec<_> = pids.iter().filter(|pid| process::is_alive(**pid)).collect();
    process::wait_until_dead(&pids);
    assert!(alive.is_empty(), "alive when plimsoll had ended: {alive:?}");
    done.expect_status(124);
}

#[test]
fn a_task_may_use_its_grace() {
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let done = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", script])
        .options(["--limit", "wall=500ms", "--grace", "30s"])
        .finish();
    done.expect_status(124);
    assert!(done.stdout.ends_with("bye\n"), "{}", done.context());
}

pub(crate) fn unbroken(mechanism: Mechanism, limit: &str, command: Vec<OsString>) {
    let done = Run::watched(mechanism, command)
        .options(["--limit", limit, "--interval", "100ms"])
        .finish();
    done.expect_status(0);
    let report = done.report();
    assert_eq!(report.exceeded, [], "{}", done.context());
    assert_eq!(report.exit.kind, ExitType::Normal);
}

fn cache_and_sharing_break_no_limit(mechanism: Mechanism) {
    let folder = tempfile::tempdir().unwrap();
    if is_memory(folder.path()) {
        skip!("files here are memory");
    }
    let file = folder.path().join("written");
    unbroken(
        mechanism,
        "memory=64MiB",
        words![program("writer.static"), file, "512"],
    );
    let command = words![program("share.static"), "300", "6", "shared", "500"];
    unbroken(mechanism, "memory=600MiB", command);
}

fn measure_only_ends_nothing(mechanism: Mechanism) {
    let limits = "memory=50MiB,wall=100ms,processes=3,cpu=10ms";
    let command = words![
        "/bin/sh",
        "-c",
        format!(
            "{} ignored; {} 150 4 shared 600; exit 6",
            program("nothing.static").display(),
            program("share.static").display()
        )
    ];
    let done = Run::watched(mechanism, command)
        .options(["--limit", limits, "--measure-only", "--interval", "100ms"])
        .finish();
    done.expect_status(6);
    let report = done.report();
    assert_eq!(report.exit.kind, ExitType::Normal, "{}", done.context());
    let names: Vec<_> = report
        .exceeded
        .iter()
        .map(|one| one.resource.as_str())
        .collect();
    for name in ["memory", "wall", "processes", "cpu"] {
        assert!(
            names.contains(&name),
            "{name} not in {names:?}\n{}",
            done.context()
        );
    }
    assert!(
        report.exceeded.iter().all(|one| !one.enforced),
        "{}",
        done.context()
    );
}

/// Over before anyone could look: enforced by the kernel, or listed at the end; never kept quiet.
#[test]
fn a_peak_found_at_the_end_is_listed() {
    let command = words![program("fill.static"), "200", "exit"];
    let done = Run::watched(Mechanism::Default, command)
        .options(["--limit", "memory=100MiB"])
        .finish();
    let exceeded = &done.report().exceeded;
    assert_eq!(exceeded.len(), 1, "{}", done.context());
    assert_eq!(exceeded[0].resource, "memory");
    done.expect_status(if exceeded[0].enforced { 137 } else { 0 });
    assert!(exceeded[0].limit.as_f64() == (100 * MIB) as f64);
}

#[test]
fn limits_come_from_files_too() {
    for text in ["wall = \"300ms\"\n", "{\"wall\": \"300ms\"}"] {
        let run = Run::watched(Mechanism::Default, words!["sleep", "300"]);
        let file = run.path("limits");
        fs::write(&file, text).unwrap();
        let done = run.options(words!["--limits", file]).finish();
        done.expect_status(124);
        assert!(
            done.report().request.contains_key("wall"),
            "{:?}",
            done.report().request
        );
    }
}

/// Nobody waits for whoever may write to a FIFO.
#[test]
fn limits_come_from_files_and_pipes() {
    let refused = |path: OsString, why: &str| {
        let run = Run::plain(&["-q"], words!["/bin/echo", "ran"]);
        let done = run.options(words!["--limits", path]).finish();
        done.expect_status(125);
        assert_eq!(done.stdout, "");
        assert!(done.stderr.contains(why), "{}", done.stderr);
    };
    let run = Run::bare(Vec::new());
    let (fifo, long) = (run.path("fifo"), run.path("long"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    fs::write(&long, "#".repeat(MIB as usize + 1)).unwrap();
    // Nobody writes: an end in time.
    refused(fifo.clone().into(), "nobody wrote to the pipe");
    refused("/dev/zero".into(), "not a regular file");
    refused(long.into(), "larger than 1 MiB");
    let script = "echo 'processes = 1' >\"$1\" & \
                  \"$0\" run -q --limits \"$1\" --grace 0 -- /bin/sh -c 'sleep 60 & wait'";
    let words = words!["/bin/sh", "-c", script, plimsoll(), fifo];
    Run::bare(words).finish().expect_status(143);
}

/// What a memory limit within ours does is no affair of ours, and the other way round.
#[test]
fn a_memory_limit_within_a_memory_limit() {
    let run = Run::watched(Mechanism::Default, Vec::new());
    let inner = run.path("inner");
    let script = format!(
        "{plimsoll} run -q --limit memory=40MiB --output {inner} -- {fill} 150 exit; \
         echo inner $?; sleep 0.3; echo on; cat {inner}.json >&2",
        plimsoll = plimsoll().display(),
        inner = inner.display(),
        fill = program("fill.static").display()
    );
    let done = run
        .options(["--limit", "memory=1GiB"])
        .command(words!["/bin/sh", "-c", script])
        .finish();
    done.expect_status(0);
    assert!(
        done.stdout.ends_with("inner 137\non\n"),
        "{}",
        done.context()
    );
    let report = done.report();
    assert_eq!(report.exceeded, [], "{}", done.context());
    let mut evidence = report.exit.evidence.iter();
    let told = evidence.any(|one| one.kind == "oom_kill");
    // Where the kernel kept the inner limit, in a group that is gone by now.
    let kept = done.stderr.contains("cgroup OOM event");
    assert_eq!(told, kept, "{}", done.context());
    let cause = report.exit.cause.as_deref().unwrap_or_default();
    assert_eq!(cause.contains("for want of memory"), told, "{cause}");
}

/// Words that start others in a control group that is too small for 150 MiB; nothing but status 99
/// where none can be made.
pub(crate) fn above() -> Vec<OsString> {
    const ABOVE: &str = "\
        d=$(sed -n 's|^[0-9]*:memory:|/sys/fs/cgroup/memory|p' /proc/self/cgroup); \
        f=memory.limit_in_bytes; \
        [ -n \"$d\" ] || { d=/sys/fs/cgroup; f=memory.max; \
            echo +memory > $d/cgroup.subtree_control; }; \
        g=$d/plimsoll-test-$$; \
        mkdir $g && echo 60M > $g/$f || exit 99; \
        for s in memory.swap.max=0 memory.memsw.limit_in_bytes=60M; do \
            [ ! -e $g/${s%=*} ] || echo ${s#*=} > $g/${s%=*} || exit 99; done; \
        echo $$ > $g/cgroup.procs || exit 99; \
        \"$@\"; s=$?; echo $$ > $d/cgroup.procs; rmdir $g; exit $s";
    words!["/bin/sh", "-c", ABOVE, "sh"]
}

/// Below a control group that is too small: the kernel ends the task, and not by a limit of ours.
#[test]
fn a_memory_limit_above_ours() {
    let probe = Run::bare(words!["/bin/true"]).wrapped(above()).finish();
    if probe.status != 0 {
        skip!("no group can be made here: {}", probe.stderr.trim());
    }
    for limit in [&["--limit", "memory=1GiB"][..], &[]] {
        let task = words![program("fill.static"), "150", "exit"];
        let done = Run::watched(Mechanism::Default, task)
            .options(limit)
            .wrapped(above())
            .finish();
        done.expect_status(137);
        let report = done.report();
        assert_eq!(report.exceeded, [], "{}", done.context());
        assert_eq!(report.exit.kind, ExitType::Signal, "{}", done.context());
        let kinds: Vec<_> = report
            .exit
            .evidence
            .iter()
            .map(|one| one.kind.as_str())
            .collect();
        assert_eq!(kinds, ["oom_kill"], "{}", done.context());
        let cause = report.exit.cause.as_deref().unwrap();
        assert!(cause.contains("for want of memory"), "{cause}");
    }
    // The command itself ends well, and a process of it was ended all the same.
    let script = "\"$0\" 150 exit; echo on";
    let task = words!["/bin/sh", "-c", script, program("fill.static")];
    for options in [&[][..], &["--no-cgroup"]] {
        let done = Run::watched(Mechanism::Default, task.clone())
            .options(options)
            .wrapped(above())
            .finish();
        done.expect_status(0);
        let exit = &done.report().exit;
        let cause = exit.cause.as_deref().unwrap_or_default();
        let told = cause.contains("the kernel ended 1 process of the ");
        assert_eq!(told, !exit.evidence.is_empty(), "{}", done.context());
        assert!(told || !process::is_root(), "{}", done.context());
    }
}
