//! A scope by a real `systemd --user`, started here for uid 65534 with a slice of its own.

use super::*;
use crate::probe::IdleChild;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

const USER: u32 = 65534;
const SYSTEMD: &str = "/usr/lib/systemd/systemd";
/// Where programs see whether the machine is run by systemd.
const BOOTED: &str = "/run/systemd/system";

/// The user's manager, and what it stands on.
struct UserSystemd {
    manager: Child,
    group: PathBuf,
    runtime: PathBuf,
}

impl UserSystemd {
    /// `slice` is what `/user.slice/user-UID.slice` is on a machine that systemd runs.
    fn start(slice: &Path) -> Self {
        let group = slice.join(format!("user@{USER}.service"));
        fs::create_dir_all(&group).unwrap();
        for dir in [slice.parent().unwrap(), slice] {
            fs::write(dir.join("cgroup.subtree_control"), "+memory +pids").unwrap();
        }
        hand_to_user(&group);
        let runtime = PathBuf::from(format!("/run/user/{USER}"));
        fs::create_dir_all(&runtime).unwrap();
        chown(&runtime, Some(USER), Some(USER)).unwrap();
        fs::create_dir_all(BOOTED).unwrap();
        let script = format!("read go; exec {SYSTEMD} --user");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).uid(USER).gid(USER);
        command.env("XDG_RUNTIME_DIR", &runtime).env("HOME", "/");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut gated = Gated::spawn(command);
        ControlDir::new(&group).add(gated.child.id()).unwrap();
        gated.gate.write_all(b"go\n").unwrap();
        Self {
            manager: gated.child,
            group,
            runtime,
        }
    }

    /// Whether its socket came within a while.
    fn answers(&self) -> bool {
        let socket = self.runtime.join("systemd/private");
        let deadline = Instant::now() + SOON;
        while !socket.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        socket.exists()
    }
}

impl Drop for UserSystemd {
    fn drop(&mut self) {
        drop(fs::write(self.group.join("cgroup.kill"), "1"));
        drop(self.manager.kill());
        drop(self.manager.wait());
        for dir in ControlDir::new(&self.group).subtree() {
            drop(dir.remove());
        }
        drop(fs::remove_dir_all(&self.runtime));
        drop(fs::remove_dir(BOOTED));
    }
}

/// As the kernel's own rules for handing a group down say.
fn hand_to_user(group: &Path) {
    for file in [
        "",
        "cgroup.procs",
        "cgroup.subtree_control",
        "cgroup.threads",
    ] {
        chown(group.join(file), Some(USER), Some(USER)).unwrap();
    }
}

#[test]
fn root_systemd_makes_a_scope_for_a_login() {
    let places = Places::find().unwrap_or_default();
    let top = places.v2.filter(|place| place.dir.has("cgroup.procs"));
    let Some(top) = top.map(|place| ControlDir::new(place.top)) else {
        println!("skipped: no control groups of version 2");
        return;
    };
    let controllers = top.read("cgroup.controllers").unwrap_or_default();
    if !controllers
        .split_ascii_whitespace()
        .any(|word| word == "memory")
    {
        println!("skipped: the memory controller is not in v2 here");
        return;
    }
    if !Path::new(SYSTEMD).exists() || Path::new(BOOTED).exists() {
        println!("skipped: no systemd to start, or this machine is run by one");
        return;
    }
    if top
        .write("cgroup.subtree_control", "+memory +pids")
        .is_err()
    {
        println!("skipped: the top of the control groups may not be changed");
        return;
    }
    let slice = top.path().join(format!("user.slice/user-{USER}.slice"));
    let systemd = UserSystemd::start(&slice);
    assert!(systemd.answers(), "systemd --user did not start");
    let terminal = ControlDir::new(systemd.group.join("app.slice/terminal.scope"));
    fs::create_dir_all(terminal.path()).unwrap();
    for dir in [terminal.path().parent().unwrap(), terminal.path()] {
        hand_to_user(dir);
    }
    let mut command = as_role("scoped");
    command.uid(USER).gid(USER).stderr(Stdio::piped());
    let mut gated = Gated::spawn(command);
    terminal.add(gated.child.id()).unwrap();
    gated.gate.write_all(b"go\n").unwrap();
    let output = gated.child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("scoped: done"), "{text}");
    let left = ControlDir::new(&systemd.group).subtree();
    let ours = |dir: &&ControlDir| dir.path().display().to_string().contains("/plimsoll-");
    assert_eq!(left.iter().filter(ours).count(), 0, "{left:?}");
}

/// In a terminal: our group holds ourselves and nobody may be moved, so a scope is asked for.
pub(super) fn scoped() {
    wait_for_line();
    let places = Places::find().unwrap();
    let below = Group::make(&places, "task", &[]).unwrap();
    assert!(below.memory_refusal().is_some());
    drop(below);
    let (mut task, keeper) = (Gated::role("fill 100"), IdleChild::start().unwrap());
    let (pid, other) = (task.child.id(), keeper.pid());
    let mut group = Group::in_scope(&places, "task", pid, other, false, SOON).unwrap();
    assert!(group.memory_refusal().is_none());
    assert_eq!(group.pids().unwrap(), [pid]);
    group.set_memory_limit(32 * MIB, 0).unwrap();
    let mut watch = group.oom_watch().unwrap();
    task.gate.write_all(b"go\n").unwrap();
    assert!(!task.child.wait().unwrap().success());
    assert_eq!(watch.read().unwrap().kills, 1);
    // The keeper holds the scope: what was counted can still be read.
    let dir = group.parts()[0].dir.clone();
    let peak: u64 = dir.read("memory.peak").unwrap().trim().parse().unwrap();
    assert!(peak >= 30 * MIB, "{peak}");
    group.remove().unwrap();
    drop(keeper);
    let deadline = Instant::now() + SOON;
    let scope = dir.path().parent().unwrap();
    while scope.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!scope.exists(), "systemd kept the scope");
    eprintln!("scoped: done");
}
