//! The programs against truths known by construction. They need root, clang's output and `cc`.

mod earlier;
mod sharing;
mod task;

use super::{ExitCounters, RawEvent, RssPeak, Run, TaskPrograms};
use crate::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{OnceLock, RwLock, RwLockReadGuard};

/// Held for writing by the test that looks at the pins, for reading by all that use them.
static PINS: RwLock<()> = RwLock::new(());

pub(super) fn pins_in_use() -> RwLockReadGuard<'static, ()> {
    PINS.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The programs, or a line that says why not.
pub(super) fn programs() -> Option<TaskPrograms> {
    match TaskPrograms::open() {
        Ok(programs) => Some(programs),
        Err(Error::Unavailable(reason)) => {
            println!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// How much slower than usual this machine is (`PLIMSOLL_TEST_SLOWNESS`, under emulation).
fn slowness() -> u64 {
    let told = std::env::var("PLIMSOLL_TEST_SLOWNESS");
    told.ok().and_then(|told| told.parse().ok()).unwrap_or(1)
}

/// The workload program, compiled once.
pub(super) fn workload() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf/tests/workload.c");
        let target = std::env::temp_dir().join(format!("plimsoll-load-{}", std::process::id()));
        let built = Command::new("cc")
            .args(["-O2", "-pthread", "-o"])
            .arg(&target)
            .arg(source)
            .status();
        built.is_ok_and(|status| status.success()).then_some(target)
    });
    if built.is_none() {
        println!("skipped: no cc for the workload");
    }
    built.as_ref()
}

/// A shell that waits for a line before it goes on with its script.
pub(super) struct Gated(Child);

impl Gated {
    pub(super) fn new(script: &str) -> Self {
        let child = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("read go; {script}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }

    pub(super) fn open(&mut self) {
        self.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// The same; the shell's input stays open.
    pub(super) fn open_and_keep(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Waits for the shell while draining; returns its CPU time with that of what it waited for,
    /// ns.
    pub(super) fn finish(&mut self, runs: &mut [(&mut Run, &mut Seen)]) -> u64 {
        let pid = i32::try_from(self.0.id()).unwrap();
        loop {
            for (run, seen) in runs.iter_mut() {
                seen.drain(run);
            }
            let mut status = 0;
            // SAFETY: plain integers; zero is a valid value of each.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: both pointers are to live values of the right type.
            let waited = unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) };
            if waited == pid {
                return nanos(usage.ru_utime) + nanos(usage.ru_stime);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn nanos(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_usec * 1000).unwrap()
}

/// All events of a run, kept.
#[derive(Default)]
pub(super) struct Seen {
    forks: Vec<(u32, u32)>,
    execs: Vec<(u32, Vec<u8>, bool, Vec<u8>)>,
    exits: Vec<(u32, u32, ExitCounters, RssPeak, u64)>,
    finals: Vec<(u32, u64, u64)>,
    lost: u64,
}

impl Seen {
    fn drain(&mut self, run: &mut Run) {
        run.drain(&mut |event| match event {
            RawEvent::Fork { pid, parent, .. } => self.forks.push((pid, parent)),
            RawEvent::Exec {
                pid,
                command,
                truncated,
                path,
                ..
            } => self
                .execs
                .push((pid, command.to_vec(), truncated, path.to_vec())),
            RawEvent::Exit {
                pid,
                wait_status,
                own,
                rss_peak,
                start_ns,
                ..
            } => self.exits.push((pid, wait_status, own, rss_peak, start_ns)),
            RawEvent::Final {
                pid,
                cpu_ns,
                start_ns,
            } => self.finals.push((pid, cpu_ns, start_ns)),
            RawEvent::Lost { count, .. } => self.lost += count,
            RawEvent::Group { .. } | RawEvent::Arguments { .. } => {
                panic!("nobody asked for groups and long command lines")
            }
        });
    }

    /// Drains until every process that ended has its final CPU time.
    fn settle(&mut self, run: &mut Run) {
        for _ in 0..5000 {
            self.drain(run);
            if self.finals.len() == self.exits.len() && run.totals().processes_alive == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!(
            "{} exits, {} finals, {:?}",
            self.exits.len(),
            self.finals.len(),
            run.totals()
        );
    }

    fn cpu_ns(&self) -> u64 {
        self.finals.iter().map(|(_, cpu_ns, _)| cpu_ns).sum()
    }
}

/// Runs a script as a task of its own: what was seen, the run's totals, wait4's CPU ns.
fn watch(programs: &TaskPrograms, script: &str) -> (u32, Seen, super::RunTotals, u64) {
    let mut run = programs.start_run().unwrap();
    let mut seen = Seen::default();
    let mut shell = Gated::new(script);
    run.add(shell.pid()).unwrap();
    shell.open();
    let waited = shell.finish(&mut [(&mut run, &mut seen)]);
    seen.settle(&mut run);
    assert_eq!(seen.lost, 0);
    (shell.pid(), seen, run.totals(), waited)
}

/// Who, its status, its parent, its user, its name.
type Exited = (u32, u32, u32, u32, Vec<u8>);

#[test]
fn bpf_root_everyone_who_is_born_is_followed() {
    let mut run = match TaskPrograms::follow_everyone([None; 2]) {
        Ok(run) => run,
        Err(error) => return println!("skipped: {error}"),
    };
    // Whose parents were there before, and whose were not.
    let script = "sh -c 'exit 3'; exit 7";
    let mut child = std::process::Command::new("/bin/sh");
    let mut child = child.args(["-c", script]).spawn().unwrap();
    child.wait().unwrap();
    let mut exits = Vec::new();
    let has = |exits: &[Exited], pid| exits.iter().any(|exit| exit.0 == pid);
    for _ in 0..5000 {
        run.drain(&mut |event| {
            if let RawEvent::Exit {
                pid,
                wait_status,
                parent,
                uid,
                comm,
                ..
            } = event
            {
                exits.push((pid, wait_status, parent, uid, comm.to_vec()));
            }
        });
        if has(&exits, child.id()) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let of = |wanted: &dyn Fn(&Exited) -> bool| exits.iter().find(|exit| wanted(exit)).cloned();
    let outer = of(&|exit| exit.0 == child.id()).unwrap();
    let uid = crate::process::effective_uid();
    assert_eq!(
        outer,
        (child.id(), 7 << 8, std::process::id(), uid, b"sh".to_vec())
    );
    let inner = of(&|exit| exit.2 == child.id()).unwrap();
    assert_eq!((inner.1, inner.4), (3 << 8, b"sh".to_vec()));
}

/// A group of the first hierarchy that lets us make one: its folder, and whether that is of the
/// freezer.
fn made_group() -> Option<(PathBuf, bool)> {
    let name = format!("plimsoll_test_{}", std::process::id());
    let mounts = crate::mountinfo::read().unwrap_or_default();
    let is_freezer = |mount: &crate::mountinfo::Mount| mount.has_option("freezer");
    let of = mounts.iter().filter(|mount| {
        mount.root == std::path::Path::new("/")
            && (mount.fs_type == "cgroup2" || mount.fs_type == "cgroup" && is_freezer(mount))
    });
    let mut made = of.map(|mount| (mount.point.join(&name), is_freezer(mount)));
    made.find(|(folder, _)| std::fs::create_dir(folder).is_ok())
}

#[test]
fn bpf_root_groups_are_told_by_number_and_path() {
    use std::os::unix::fs::MetadataExt;
    let mut run = match TaskPrograms::follow_everyone([Some("freezer"), Some("no such")]) {
        Ok(run) => run,
        Err(error) => return println!("skipped: {error}"),
    };
    let Some((folder, is_freezer)) = made_group() else {
        return println!("skipped: no control group can be made here");
    };
    let number = std::fs::metadata(&folder).unwrap().ino();
    let script = format!("echo $$ > {}/cgroup.procs; exec true", folder.display());
    let mut child = std::process::Command::new("/bin/sh");
    let mut child = child.args(["-c", &script]).spawn().unwrap();
    let status = child.wait().unwrap();
    std::fs::remove_dir(&folder).unwrap();
    assert!(status.success());
    let (mut made, mut execs, mut exits) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5000 {
        run.drain(&mut |event| match event {
            RawEvent::Group { number, path, .. } => made.push((number, path.to_vec())),
            RawEvent::Exec { pid, groups, .. } if pid == child.id() => execs.push(groups),
            RawEvent::Exit { pid, groups, .. } if pid == child.id() => exits.push(groups),
            _ => {}
        });
        if !exits.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let path = [b"/", folder.file_name().unwrap().as_encoded_bytes()].concat();
    assert!(made.contains(&(number, path)), "{made:?} of {number}");
    let at = usize::from(is_freezer);
    let of = |groups: &[super::GroupNumbers]| groups.iter().map(|it| it[at]).collect::<Vec<_>>();
    // The shell before it moved, what it became afterwards.
    assert_eq!(of(&execs)[1..], [number]);
    assert_ne!(of(&execs)[0], number);
    assert_eq!(of(&exits), [number]);
    assert!(exits[0][0] != 0 && exits[0][2] == 0, "{exits:?}");
}

#[test]
fn bpf_root_a_long_command_line_comes_whole() {
    let mut run = match TaskPrograms::follow_everyone([None, None]) {
        Ok(run) => run,
        Err(error) => return println!("skipped: {error}"),
    };
    // As much as is told, and as much as the kernel takes in one argument.
    let lengths = [5000, 131_072 - "/bin/true".len() - 2, 131_071];
    for length in lengths {
        let mut command = std::process::Command::new("/bin/true");
        let text: String = (0..length)
            .map(|at| char::from(b'a' + (at % 23) as u8))
            .collect();
        let mut child = command.arg(&text).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let (mut parts, mut exec, mut is_over) = (Vec::new(), None, false);
        for _ in 0..5000 {
            run.drain(&mut |event| match event {
                RawEvent::Arguments { pid, at, text, .. } if pid == child.id() => {
                    assert!(exec.is_none());
                    parts.push((at, text.to_vec()));
                }
                RawEvent::Exec {
                    pid,
                    command,
                    full_bytes,
                    ..
                } if pid == child.id() => exec = Some((command.to_vec(), full_bytes)),
                RawEvent::Exit { pid, .. } if pid == child.id() => is_over = true,
                _ => {}
            });
            if is_over {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let (mut told, full) = exec.unwrap();
        let expected = format!("/bin/true\0{text}\0").into_bytes();
        assert_eq!(full as usize, expected.len());
        for (at, text) in parts {
            assert_eq!(at as usize, told.len());
            told.extend(text);
        }
        assert_eq!(told.len(), expected.len().min(128 << 10));
        assert!(expected.starts_with(&told));
    }
}
