//! Bad places: the task runs and the report says what is absent; 125 only for what was asked by
//! name.

use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{skip, words};
use record::report::Report;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;

/// `script` starts `"$@"` in a bad place; the task must end as it would anywhere.
#[track_caller]
fn runs_in(script: &str) -> Done {
    let done = Run::plain(
        &["--format", "text"],
        words!["/bin/sh", "-c", "/bin/true; exit 5"],
    )
    .wrapped(words!["/bin/sh", "-c", script, "sh"])
    .finish();
    done.expect_status(5);
    assert!(
        done.stderr.contains("exit 5 after "),
        "no report: {}",
        done.context()
    );
    done
}

/// What `script` needs may be forbidden here: then it exits with 99.
#[track_caller]
fn runs_in_if_allowed(script: &str) {
    let probe = Run::bare(words!["/bin/sh", "-c", "exit 5"])
        .wrapped(words!["/bin/sh", "-c", script, "sh"])
        .finish();
    if probe.status != 5 {
        skip!("bare: status {} {}", probe.status, probe.stderr.trim());
    }
    runs_in(script);
}

#[test]
fn no_writable_folder() {
    let script = "cd /; HOME=/nonexistent TMPDIR=/nonexistent XDG_RUNTIME_DIR=/nonexistent \
                  exec \"$@\"";
    runs_in(script);
}

#[test]
fn an_empty_environment() {
    runs_in("exec env -i \"$@\"");
}

#[test]
fn few_descriptors() {
    for most in [64, 32, 20] {
        runs_in(&format!("ulimit -n {most}; exec \"$@\""));
    }
}

/// Too few for a monitor: the task runs as bare, and one line says so.
#[test]
fn no_descriptor_left_for_us() {
    for most in 5..13 {
        let limit = format!("ulimit -n {most}; exec \"$@\"");
        let place = |run: Run| run.wrapped(words!["/bin/sh", "-c", limit, "sh"]);
        let script = "cat; echo out; ls /proc/self/fd | wc -l; exit 5";
        let command = words!["/bin/sh", "-c", script];
        let bare = place(Run::bare(command.clone())).finish();
        let done = place(Run::plain(&[], command.clone())).finish();
        done.expect_status(bare.status);
        assert_eq!(done.stdout, bare.stdout, "{}", done.context());
        let ours = |text: &str| text.matches("not watched").count();
        assert_eq!(ours(&done.stderr), 1, "{most}: {}", done.context());
        assert_eq!(done.stderr.matches("os error 24").count(), 1);
        let asked = place(Run::plain(&["--limit", "wall=9s"], command)).finish();
        asked.expect_status(125);
        assert_eq!(asked.stdout, "", "{}", asked.context());
    }
}

/// Files in memory count: the task runs, has its limit as it was, and what is missing is told.
#[test]
fn little_room_in_files() {
    for blocks in [0, 4, 100] {
        let limit = format!("ulimit -f {blocks}; exec \"$@\"");
        // To pipes, which have no size.
        let done = std::process::Command::new("/bin/sh")
            .args(["-c", &limit, "sh"])
            .arg(plimsoll())
            .args(["run", "--level=io", "--limit=wall=1h", "--format=json"])
            .args(["--", "/bin/sh", "-c", "ulimit -f; exit 5"])
            .output()
            .unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(5), "{blocks}: {text}");
        assert_eq!(done.stdout, format!("{blocks}\n").as_bytes(), "{text}");
        let report: Report = serde_json::from_str(&text).unwrap();
        let notes = report.monitor.notes.join("\n");
        let told = |what: &str| notes.contains(what) && notes.contains("(ulimit -f)");
        assert_eq!(told("no small program in memory"), blocks < 10, "{notes}");
        assert_eq!(told("no room"), report.monitor.level != "io", "{notes}");
    }
}

/// Only a soft limit: ours is the hard one, the task's stays.
#[test]
fn a_soft_limit_on_the_size_of_files() {
    let done = Run::watched(
        Mechanism::Default,
        words!["/bin/sh", "-c", "ulimit -f; exit 5"],
    )
    .options(["--level=io"])
    .wrapped(words!["/bin/sh", "-c", "ulimit -S -f 4; exec \"$@\"", "sh"])
    .finish();
    done.expect_status(5);
    assert_eq!(done.stdout, "4\n", "{}", done.context());
    assert_eq!(done.report().monitor.level, "io", "{}", done.context());
}

#[test]
fn a_small_stack() {
    for kib in [64, 128, 1024] {
        runs_in(&format!("ulimit -s {kib}; exec \"$@\""));
    }
}

#[test]
fn a_folder_that_is_gone_or_unreadable() {
    runs_in("mkdir gone; cd gone; rmdir ../gone; exec \"$@\"");
    runs_in("mkdir shut; cd shut; chmod 0 .; exec \"$@\"");
}

/// `run` with a file system that never answers on `hung` in its folder; `None` where that cannot
/// be.
fn hung(run: Run) -> Option<Run> {
    let user = if process::is_root() { "" } else { "-U -r" };
    let enter = format!("exec unshare {user} -m \"$@\"");
    let place = |run: Run| {
        let folder = run.path("hung");
        std::fs::create_dir(&folder).unwrap();
        let program = program("hungfs");
        run.wrapped(words!["/bin/sh", "-c", enter, "sh", program, folder])
    };
    let bare = place(Run::bare(words!["/bin/sh", "-c", "exit 5"])).finish();
    (bare.status == 5).then(|| place(run))
}

/// Neither the start nor the end of the task waits for it.
#[test]
fn a_measured_file_system_that_does_not_answer() {
    let run = Run::plain(&["--format", "text"], words!["/bin/sh", "-c", "exit 5"]);
    let folder = run.path("hung");
    let Some(run) = hung(run.options([OsStr::new("--measure-dir"), folder.as_os_str()])) else {
        skip!("no file system can be mounted here");
    };
    let done = run.finish();
    done.expect_status(5);
    let told = done.stderr.contains("stood still");
    assert!(told, "{}", done.context());
}

/// Neither the start nor the end waits for them for long, and the report says so.
#[test]
fn named_files_on_a_file_system_that_does_not_answer() {
    let run = Run::plain(&["--format", "text"], words!["/bin/sh", "-c", "exit 5"]);
    let mut options = Vec::new();
    for name in ["a", "b", "c"] {
        options.extend(["--inputs".into(), run.path("hung").join(name)]);
    }
    options.extend(["--outputs".into(), run.path("hung/out")]);
    let Some(run) = hung(run.options(options)) else {
        skip!("no file system can be mounted here");
    };
    let done = run.finish();
    done.expect_status(5);
    for words in [
        "(no answer within 500 ms)",
        "(no answer within 5000 ms)",
        "(not asked:",
    ] {
        // Lines of a screen end anywhere.
        let told = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{words}: {}", done.context());
    }
}

/// Where the command itself cannot be read, a signal ends us as it would end a shell.
#[test]
fn a_command_on_a_file_system_that_does_not_answer() {
    let run = Run::plain(&[], Vec::new());
    let command = run.path("hung/command");
    let Some(run) = hung(run.command(words![command])) else {
        skip!("no file system can be mounted here");
    };
    let running = run.start();
    let file = |name: &str| format!("/proc/{}/{name}", running.pid());
    process::wait_until("plimsoll takes signals", || {
        let program = std::fs::read_link(file("exe")).unwrap_or_default();
        let status = std::fs::read_to_string(file("status")).unwrap_or_default();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
        program == plimsoll().canonicalize().unwrap()
            && blocked.is_some_and(|mask| mask.trim() != "0000000000000000")
    });
    let monitors = process::children(running.pid());
    running.send(process::Signal::TERM);
    let done = running.finish();
    assert_eq!(done.signal, Some(15), "{}", done.context());
    process::wait_until_dead(&monitors);
}

/// Without room for our processes nothing can be watched: say so, or run it; never hang.
#[test]
fn no_room_for_processes() {
    if process::is_root() {
        skip!("root is not held to RLIMIT_NPROC");
    }
    let done = Run::plain(&["--format", "text"], words!["/bin/echo", "x"])
        .wrapped(words!["/bin/sh", "-c", "ulimit -u 1; exec \"$@\"", "sh"])
        .finish();
    assert!(matches!(done.status, 0 | 125), "{}", done.context());
    assert!(
        done.status == 125 || done.stdout == "x\n",
        "{}",
        done.context()
    );
    assert!(!done.stderr.is_empty(), "{}", done.context());
}

#[test]
fn little_memory_for_us() {
    runs_in_if_allowed("ulimit -v 2000000; exec \"$@\"");
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_the_task_starts() {
    let run = Run::bare(Vec::new());
    let mark = run.path("mark");
    let mut cases: Vec<Vec<OsString>> = vec![
        words!["--output", "/nonexistent/folder/r"],
        words!["--append", "/nonexistent/folder/all"],
        words!["--append", run.folder()],
        words!["--output", "/proc/r"],
    ];
    if !process::is_root() {
        cases.push(words!["--output", "/r"]);
        cases.push(words!["--append", "/all"]);
    }
    for options in cases {
        let done = Run::plain(&[], words!["touch", mark])
            .options(&options)
            .finish();
        done.expect_status(125);
        assert!(!mark.exists(), "{options:?}: the task ran");
        let place = options[1].to_string_lossy();
        assert!(
            done.stderr.contains(&*place),
            "{options:?}: {}",
            done.stderr
        );
    }
}

/// A folder with the sticky bit takes new files, and keeps those of others.
#[test]
fn root_a_file_of_another_in_a_sticky_folder_is_told_before_the_task_starts() {
    if !root() {
        return;
    }
    let user = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    for option in ["--output=st/x", "--format=json=st/x.json"] {
        let run = Run::plain(&["-q", option], words!["/bin/echo", "ran"]);
        let folder = run.path("cwd/st");
        let open = std::fs::Permissions::from_mode(0o1777);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, open.clone()).unwrap();
        std::fs::set_permissions(run.folder(), open).unwrap();
        std::fs::write(folder.join("x.json"), "old").unwrap();
        let done = run.wrapped(user.map(OsString::from).to_vec()).finish();
        done.expect_status(125);
        assert_eq!(done.stdout, "", "{option}: the task ran");
        assert!(done.stderr.contains("x.json"), "{option}: {}", done.stderr);
        let left: Vec<_> = std::fs::read_dir(done.path("cwd/st")).unwrap().collect();
        assert_eq!(left.len(), 1, "{option}: {left:?}");
    }
}

#[test]
fn a_measured_folder_that_is_not_there_does_not_stop_the_task() {
    let done = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", "exit 5"])
        .options(["--measure-dir", "/nonexistent/folder"])
        .finish();
    assert!(matches!(done.status, 5 | 125), "{}", done.context());
}

fn root() -> bool {
    if !process::is_root() {
        println!("skipped: making this place needs root");
    }
    process::is_root()
}

#[test]
fn root_no_proc() {
    if root() {
        runs_in_if_allowed(
            "exec unshare -m sh -c 'mount -t tmpfs none /proc && exec \"$@\"' sh \"$@\"",
        );
    }
}

/// A limit that nobody can see to be broken is not taken; at the end it is known.
#[test]
fn root_a_limit_without_proc() {
    if !root() {
        return;
    }
    let mount = "mount -t tmpfs none /proc || exit 99; exec \"$@\"";
    let limited = |options: &[&str]| {
        let run = Run::plain(options, words!["/bin/sh", "-c", "echo here; exit 5"]);
        run.wrapped(words!["unshare", "-m", "sh", "-c", mount, "sh"])
            .finish()
    };
    let refused = limited(&["--limit", "cpu=9s"]);
    if refused.status == 99 {
        skip!("nothing can be mounted here");
    }
    refused.expect_status(125);
    assert_eq!(refused.stdout, "", "{}", refused.context());
    assert!(
        refused.stderr.contains("/proc cannot be read"),
        "{}",
        refused.context()
    );
    for options in [
        &["--limit", "cpu=9s", "--measure-only"][..],
        &["--limit", "wall=9s,processes=9"],
    ] {
        limited(options).expect_status(5);
    }
}

#[test]
fn root_hidepid() {
    if root() {
        let mount = "mount -t proc -o hidepid=2 proc /proc || exit 99";
        let user = "exec setpriv --reuid=65534 --regid=65534 --clear-groups";
        for tail in ["exec", user] {
            let script = format!("exec unshare -m sh -c '{mount}; {tail} \"$@\"' sh \"$@\"");
            runs_in_if_allowed(&script);
        }
    }
}

#[test]
fn root_read_only_everywhere() {
    if root() {
        let script = "exec unshare -m sh -c 'mount -o remount,ro,bind / 2>/dev/null; \
                      mount -o remount,ro /sys/fs/cgroup 2>/dev/null; exec \"$@\"' sh \"$@\"";
        runs_in_if_allowed(script);
    }
}

#[test]
fn root_in_other_name_spaces() {
    if root() {
        for what in [
            "-n",
            "-p -f --mount-proc",
            "-C",
            "-u",
            "-i",
            "-U -r -p -f --mount-proc",
        ] {
            runs_in_if_allowed(&format!("exec unshare {what} -- \"$@\""));
        }
        // Whoever expects programs in the kernel learns why there are none.
        let script = "exec unshare -p -f --mount-proc -- \"$@\"";
        let within = |run: Run| run.wrapped(words!["/bin/sh", "-c", script, "sh"]).finish();
        if within(Run::bare(words!["/bin/true"])).status != 0 {
            skip!("no pid namespace can be made here");
        }
        let done = within(Run::watched(Mechanism::Default, words!["/bin/true"]));
        let notes = &done.report().monitor.notes;
        let told = notes.iter().find(|note| note.contains("no process events"));
        assert!(told.is_some_and(|note| note.contains("bpf")), "{notes:?}");
    }
}

#[test]
fn root_without_capabilities() {
    if root() {
        runs_in_if_allowed("exec setpriv --bounding-set=-all --inh-caps=-all -- \"$@\"");
    }
}

#[test]
fn user_name_spaces_of_a_user() {
    runs_in_if_allowed("exec unshare -U -r -- \"$@\"");
}

/// 30 runs at once, one inside another ten deep: all complete.
#[test]
fn many_and_nested() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do \
                  \"$0\" run -q -- sh -c 'sleep 0.2; exit 0' || echo failed & done; wait";
    let done = Run::bare(words!["/bin/sh", "-c", script, plimsoll()]).finish();
    assert_eq!(done.stdout, "", "{}", done.context());
    let mut command = Vec::new();
    for _ in 0..5 {
        command.extend(words![plimsoll(), "run", "-q", "--"]);
    }
    command.extend(words!["/bin/sh", "-c", "exit 6"]);
    Run::bare(command).finish().expect_status(6);
}

/// A launcher that starts with a parent that ignores its children still knows how the task ended.
#[test]
fn children_that_are_reaped_by_themselves() {
    let done = Run::watched(Mechanism::Default, words![program("nothing")])
        .wrapped(words!["env", "--ignore-signal=CHLD"])
        .finish();
    done.expect_status(0);
    let script = "trap '' CHLD; exec \"$@\"";
    runs_in(script);
}

/// What starts a command in a jail.
fn jail(mode: &str) -> Vec<OsString> {
    words![program("jail.static"), mode]
}

/// Whether there are no jails here.
fn no_jails() -> bool {
    let probe = Run::bare(words!["/bin/true"]).wrapped(jail("old"));
    probe.finish().status != 0
}

/// Under the seccomp profile of a container, of today and of long ago, a task is watched and held
/// to its limits.
#[test]
fn a_containers_seccomp_profile() {
    if no_jails() {
        skip!("no seccomp filters here");
    }
    for mode in ["default", "trace", "old"] {
        let script = "/bin/true; sleep 0.1; exit 5";
        let task = words!["/bin/sh", "-c", script];
        let done = Run::watched(Mechanism::Default, task).wrapped(jail(mode));
        let done = done.finish();
        done.expect_status(5);
        assert_eq!(
            done.report().exit.code,
            Some(5),
            "{mode}: {}",
            done.context()
        );
        let procfs = Run::watched(Mechanism::Procfs, words!["/bin/sh", "-c", script]);
        procfs.wrapped(jail(mode)).finish().expect_status(5);

        let run = Run::watched(Mechanism::Default, Vec::new()).wrapped(jail(mode));
        let run = run.options(["--limit", "wall=1s", "--grace", "300ms"]);
        let file = run.path("pids");
        let task = words![program("stubborn"), file, "main"];
        let mut running = run.command(task).start();
        let pids = running.wait_for_pids(&file);
        running.finish().expect_status(124);
        process::wait_until_dead(&pids);
    }
}

/// A task runs, and ends with nobody left of us, where what we wait with is refused: it is watched
/// by an older call, or not watched and that is said.
#[test]
fn a_seccomp_profile_without_what_we_wait_with() {
    if no_jails() {
        skip!("no seccomp filters here");
    }
    for (mode, is_watched) in [("ppoll", true), ("signalfd", false)] {
        let task = words!["/bin/sh", "-c", "/bin/true; echo here; exit 5"];
        let run = Run::plain(&[], task);
        // Whoever is left is met by the process that adopts it.
        let adopted = [words![program("init")], jail(mode)].concat();
        let done = run.wrapped(adopted).finish();
        done.expect_status(5);
        assert_eq!(done.stdout, "here\n", "{mode}: {}", done.context());
        let told = match is_watched {
            true => "exit 5 after ",
            false => "warning: not watched: signalfd",
        };
        assert!(done.stderr.contains(told), "{mode}: {}", done.context());
    }
}

/// Where tracing is refused, asking for it by name says so before the task starts.
#[test]
fn a_seccomp_profile_without_ptrace() {
    if no_jails() {
        skip!("no seccomp filters here");
    }
    let task = words!["/bin/echo", "started"];
    let options = ["--mechanism", "ptrace"];
    let done = Run::plain(&options, task).wrapped(jail("trace")).finish();
    done.expect_status(125);
    assert_eq!(done.stdout, "", "{}", done.context());
    assert!(
        done.stderr.contains("tracing is forbidden"),
        "{}",
        done.context()
    );
}
