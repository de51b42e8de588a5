//! Trees of known numbers, followed by each event mechanism, as this user and as uid 65534.
//!
//! Runs `examples/follow.rs` over the shapes of `programs/tree.c`. A mechanism that this user may
//! not use is skipped with its reason.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that fails by a panic"
)]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NOBODY: u32 = 65_534;
const UNUSABLE: i32 = 77;

/// Copies of the two programs where every user may run them; removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Option<Self> {
        let folder = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = Self(folder);
        let follow = std::env::current_exe().unwrap();
        let follow = follow.ancestors().nth(2).unwrap().join("examples/follow");
        std::fs::copy(follow, place.0.join("follow"))
            .expect("cargo builds the example with the tests");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tree.c");
        let built = Command::new("cc")
            .args(["-O1", "-pthread", "-o"])
            .args([&place.0.join("tree"), &source])
            .status();
        if !built.is_ok_and(|status| status.success()) {
            println!("skipped: no C compiler");
            return None;
        }
        for name in ["", "follow", "tree"] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(place.0.join(name), mode).unwrap();
        }
        Some(place)
    }

    fn command(&self, uid: Option<u32>, mechanism: &str, shape: &[&str]) -> Command {
        let mut command = Command::new(self.0.join("follow"));
        command.arg(mechanism).arg(self.0.join("tree")).args(shape);
        command.current_dir("/").stdin(Stdio::null());
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// What the mechanism told, and the exit status; `None` if it cannot be used.
    fn follow(&self, uid: Option<u32>, mechanism: &str, shape: &[&str]) -> Option<Told> {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(uid, mechanism, shape).output().unwrap();
        let text = String::from_utf8(stdout).unwrap();
        if status.code() == Some(UNUSABLE) {
            println!("skipped: {mechanism}: {}", text.trim());
            return None;
        }
        assert!(
            stderr.is_empty(),
            "{mechanism} {shape:?}: {}",
            String::from_utf8_lossy(&stderr)
        );
        Some(Told {
            what: format!("{mechanism} as {uid:?}, {shape:?}: {text}"),
            text,
            status: status.code(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

struct Told {
    what: String,
    text: String,
    status: Option<i32>,
}

impl Told {
    fn word(&self, name: &str) -> &str {
        let (_, rest) = self
            .text
            .split_once(&format!("\"{name}\":"))
            .expect(&self.what);
        let end = if rest.starts_with('[') { ']' } else { ',' };
        rest.split(end).next().unwrap().trim_start_matches('[')
    }

    fn number(&self, name: &str) -> u64 {
        self.word(name).parse().expect(&self.what)
    }

    fn is(&self, name: &str, expected: u64) {
        assert_eq!(self.number(name), expected, "{name}: {}", self.what);
    }

    /// Nothing missed, nothing left, and the status of the task unchanged.
    fn is_whole(&self, status: i32, processes: u64) {
        assert_eq!(self.status, Some(status), "{}", self.what);
        assert_eq!(self.word("root"), status.to_string(), "{}", self.what);
        for (name, expected) in [("lost", 0), ("alive", 0), ("threads_alive", 0)] {
            self.is(name, expected);
        }
        assert_eq!(self.word("exact"), "true", "{}", self.what);
        for name in ["total", "forks", "exits"] {
            self.is(name, processes);
        }
    }
}

fn users() -> Vec<Option<u32>> {
    if sys::process::effective_uid() == 0 {
        vec![None, Some(NOBODY)]
    } else {
        println!("skipped: as another user (needs root)");
        vec![None]
    }
}

const MECHANISMS: [&str; 3] = ["connector", "taskstats", "ptrace"];

/// Calls `check` for every mechanism and user that can follow `shape`.
fn each(name: &str, shape: &[&str], check: impl Fn(&Told)) {
    let Some(place) = Place::new(name) else {
        return;
    };
    for mechanism in MECHANISMS {
        for uid in users() {
            if let Some(told) = place.follow(uid, mechanism, shape) {
                check(&told);
            }
        }
    }
}

#[test]
fn a_storm_of_2000_loses_nobody_and_knows_its_peak() {
    each("storm", &["storm", "2000"], |told| {
        told.is_whole(0, 2001);
        // A child that is preempted while it ends is told after its parent has waited for it and
        // forked again, on a busy machine twice: the peak then lies between bounds.
        told.is("peak_least", 3);
        for name in ["peak", "threads_peak"] {
            assert!(
                (3..=5).contains(&told.number(name)),
                "{name}: {}",
                told.what
            );
        }
    });
}

#[test]
fn programs_started_by_vfork_are_told_with_their_exec() {
    each("programs", &["programs", "100"], |told| {
        told.is_whole(0, 101);
        assert!((101..=102).contains(&told.number("execs")), "{}", told.what);
        // One that is preempted while it ends may be told after the next one's start.
        told.is("peak_least", 2);
        let peak = told.number("peak");
        assert!((2..=4).contains(&peak), "peak {peak}: {}", told.what);
    });
}

#[test]
fn threads_are_counted_and_are_no_processes() {
    each("threads", &["threads", "20"], |told| {
        told.is_whole(0, 1);
        told.is("threads_peak", 21);
    });
}

#[test]
fn a_daemon_of_its_own_session_is_followed() {
    each("daemon", &["daemon"], |told| {
        told.is_whole(0, 3);
        assert_eq!(told.word("endings"), "4");
    });
}

#[test]
fn a_sibling_made_by_clone_parent_is_followed() {
    each("sibling", &["sibling"], |told| {
        told.is_whole(0, 2);
        assert_eq!(told.word("endings"), "5");
    });
}

#[test]
fn an_exec_from_a_thread_is_the_same_process() {
    each("thread_exec", &["thread_exec"], |told| {
        told.is_whole(0, 1);
        told.is("threads_peak", 2);
    });
}

#[test]
fn a_process_outlives_its_main_thread() {
    each("zombie_leader", &["zombie_leader"], |told| {
        told.is_whole(6, 1)
    });
}

#[test]
fn sigkill_takes_all_threads() {
    each("killed", &["killed"], |told| {
        told.is_whole(0, 2);
        assert_eq!(told.word("endings"), "137");
        told.is("threads_peak", 5);
    });
}

#[test]
fn stops_and_continuations_reach_the_parent() {
    each("stopped", &["stopped"], |told| {
        told.is_whole(0, 2);
        assert_eq!(told.word("endings"), "7");
    });
}

#[test]
fn signals_arrive_once_each_and_a_status_is_kept() {
    each("signals", &["signals", "50"], |told| told.is_whole(0, 1));
    each("status", &["status", "9"], |told| told.is_whole(9, 1));
}

fn check_values(place: &Place, uid: Option<u32>, mechanism: &str) -> Option<()> {
    let empty = place.follow(uid, mechanism, &["status", "0"])?;
    let full = place.follow(uid, mechanism, &["fill", "64"])?;
    full.is_whole(0, 1);
    full.is("valued", 1);
    let more = |name| full.number(name) - empty.number(name);
    let calls = (more("bytes_read"), more("reads"));
    let told = if mechanism == "ptrace" {
        (256 * 4096, 256)
    } else {
        (0, 0)
    };
    assert_eq!(calls, told, "{}", full.what);
    let filled = 64 << 20;
    let peak = full.number("rss_peak");
    assert!(
        (filled..filled + (2 << 20)).contains(&peak),
        "{}",
        full.what
    );
    for (shape, processes) in [(["storm", "100"], 101), (["threads", "5"], 1)] {
        place
            .follow(uid, mechanism, &shape)?
            .is("valued", processes);
    }
    Some(())
}

#[test]
fn final_values_of_everyone_are_read() {
    let Some(place) = Place::new("values") else {
        return;
    };
    for mechanism in ["taskstats", "ptrace"] {
        for uid in users() {
            // None is a mechanism that was skipped, which is printed.
            let _ = check_values(&place, uid, mechanism);
        }
    }
}

/// The state letter and the tracer of a process; `None` if it is gone.
fn state(pid: u32) -> Option<(char, u32)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(str::trim)
    };
    Some((
        line("State:")?.chars().next()?,
        line("TracerPid:")?.parse().ok()?,
    ))
}

#[test]
fn the_task_runs_on_when_the_tracer_is_killed() {
    let Some(place) = Place::new("orphaned") else {
        return;
    };
    let Some(_) = place.follow(None, "ptrace", &["status", "0"]) else {
        return;
    };
    let mut monitor = place
        .command(None, "ptrace", &["wait_for_end"])
        .spawn()
        .unwrap();
    let root = loop {
        let below =
            source::follow::procfs::descendants(Path::new("/proc"), &[monitor.id()]).unwrap();
        let traced = below.iter().find(|found| {
            let comm = std::fs::read(format!("/proc/{}/comm", found.pid)).unwrap_or_default();
            comm == b"tree\n"
                && state(found.pid).is_some_and(|(letter, tracer)| letter == 'S' && tracer != 0)
        });
        if let Some(found) = traced {
            break found.pid;
        }
        assert!(monitor.try_wait().unwrap().is_none());
    };
    monitor.kill().unwrap();
    monitor.wait().unwrap();
    let (letter, tracer) = state(root).unwrap();
    assert!(matches!(letter, 'S' | 'R') && tracer == 0);
    sys::process::kill(root, 9).unwrap();
}
