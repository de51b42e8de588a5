//! Containers for real: those of docker's daemon are no children of the task and are followed
//! beside it; those of podman without a service are the task's own.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds, number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::process::{self, Signal};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, executable, skip, words};
use record::value::{Field, Method};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

each_mechanism!(root_a_container_of_podman_is_the_tasks_own);

const SECOND: u64 = 1_000_000_000;
/// The first word of [`work`].
const PROGRAM: &str = "/fat";
/// Where docker's daemon keeps a key, wherever it is told to keep everything else.
const SETTINGS: &str = "/etc/docker";

/// What a container does: 64 MiB while a child uses 1 s of CPU time. A container is known by its
/// words: those of each test are its own.
fn work(test: &str) -> [String; 4] {
    let time = format!("1000.{test}.{}", std::process::id());
    [PROGRAM, "64", "/burn", &time].map(str::to_owned)
}

/// The root of a container with the two programs of [`work`].
fn make_root(at: &Path) -> PathBuf {
    let root = at.join("root");
    for folder in ["dev", "etc", "proc", "run", "sys", "tmp"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for name in ["fat", "burn"] {
        executable::copy(program(&format!("{name}.static")), root.join(name), "755");
    }
    root
}

fn command<S: AsRef<OsStr>>(words: &[S]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

/// Runs these words unwatched; what they said where they failed.
fn bare<S: AsRef<OsStr>>(words: &[S]) -> Result<Output, String> {
    let ran = command(words).output();
    let output = ran.map_err(|error| format!("{}: {error}", words[0].as_ref().display()))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().last().unwrap_or_default().to_owned();
    output.status.success().then_some(output).ok_or(last)
}

/// `words` and `more` behind them.
fn with<S: AsRef<OsStr>>(words: &[OsString], more: &[S]) -> Vec<OsString> {
    let more = more.iter().map(|word| word.as_ref().to_owned());
    words.iter().cloned().chain(more).collect()
}

/// Makes the image `image` of a root, through a client that begins with `client`.
fn import(client: &[OsString], at: &Path) -> Result<(), String> {
    let root = make_root(at);
    let tar = at.join("root.tar");
    let [root, to] = [&root, &tar].map(|path| path.as_os_str());
    bare(&[
        "tar".as_ref(),
        "-C".as_ref(),
        root,
        "-cf".as_ref(),
        to,
        ".".as_ref(),
    ])?;
    let mut import = with(client, &["import"]);
    import.extend(words![tar, "image"]);
    bare(&import).map(drop)
}

/// A daemon or service of ours on a socket in its folder; it ends with the test.
struct Daemon {
    child: Child,
    folder: TempDir,
    client: Vec<OsString>,
}

impl Daemon {
    /// Starts it, with what its clients' commands begin with; why it cannot be had here.
    fn start(folder: TempDir, words: &[OsString], client: Vec<OsString>) -> Result<Self, String> {
        let log = folder.path().join("log");
        let spawned = command(words)
            .stdout(File::create(&log).unwrap())
            .stderr(File::options().append(true).open(&log).unwrap())
            .spawn();
        let child = spawned.map_err(|error| format!("{}: {error}", words[0].display()))?;
        let mut daemon = Self {
            child,
            folder,
            client,
        };
        let asks = with(&daemon.client, &["version"]);
        let mut ended = false;
        process::wait_until("a daemon of containers answers", || {
            ended = daemon.child.try_wait().unwrap().is_some();
            ended || bare(&asks).is_ok()
        });
        if ended {
            let said = fs::read_to_string(log).unwrap();
            return Err(said.lines().last().unwrap_or_default().to_owned());
        }
        import(&daemon.client, daemon.folder.path())?;
        Ok(daemon)
    }

    fn docker() -> Result<Self, String> {
        if !process::is_root() {
            return Err("docker's daemon needs root".to_owned());
        }
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        fs::write(at.join("daemon.json"), "{}").unwrap();
        let socket = format!("unix://{}/socket", at.display());
        let client = words!["docker", "-H", socket];
        bare(&["docker", "--version"])?;
        bare(&["dockerd", "--version"])?;
        // What it mounts goes with it, and its key stays out of this machine's settings.
        let script = format!("mount -t tmpfs none {SETTINGS} && exec dockerd \"$@\"");
        let mut words = words!["unshare", "-m", "sh", "-c", script, "sh", "-H", socket];
        let fixed = "--iptables=false --ip6tables=false --bridge=none --storage-driver=vfs";
        words.extend(fixed.split(' ').map(OsString::from));
        for (option, name) in [
            ("--config-file", "daemon.json"),
            ("--data-root", "data"),
            ("--exec-root", "exec"),
            ("--pidfile", "pid"),
        ] {
            words.extend(words![option, at.join(name)]);
        }
        fs::create_dir_all(SETTINGS).unwrap();
        Self::start(folder, &words, client)
    }

    fn podman(runtime: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let socket = format!("unix://{}/socket", folder.path().display());
        let service = podman(runtime, folder.path());
        bare(&with(&service, &["version"]))?;
        let words = with(&service, &["system", "service", "-t", "0", &socket]);
        let client = words!["env", format!("CONTAINER_HOST={socket}"), "podman"];
        Self::start(folder, &words, client)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        process::send(self.child.id(), Signal::TERM);
        self.child.wait().unwrap();
        // Another's, or of use: it stays.
        drop(fs::remove_dir(SETTINGS));
    }
}

/// The words of a podman of ours, which knows nothing of other podmans' containers.
fn podman(runtime: &str, at: &Path) -> Vec<OsString> {
    let mut words = words!["podman", "--runtime", runtime, "--storage-driver", "vfs"];
    words.extend(words!["--cgroup-manager", "cgroupfs"]);
    for (option, name) in [("--root", "all"), ("--runroot", "now"), ("--tmpdir", "tmp")] {
        words.extend(words![option, at.join(name)]);
    }
    words
}

/// Podman's own limits may be above ours.
const PODMAN_RUN: &[&str] = &[
    "run",
    "--rm",
    "--network",
    "none",
    "--ulimit",
    "nofile=1024:1024",
    "--ulimit",
    "nproc=1024:1024",
];
/// It holds the user's namespaces for the next one.
const ROOTLESS: &str = "a podman that is not root's leaves a process behind";
const RUNTIMES: [&str; 2] = ["crun", "runc"];

/// Fails unless the work of one container stands beside the task's own numbers, and not in them.
fn stands_beside(done: &Done, client: &str) {
    done.expect_status(0);
    let said =
        format!("work left this task through {client}: values are lower bounds; its container");
    let report = done
        .stderr
        .lines()
        .find(|line| line.contains("; peak memory"));
    assert!(
        report.is_some_and(|line| line.contains(&said)),
        "{}",
        done.context()
    );
    for (name, field) in &done.report().usage.0 {
        let bound = field.value().is_none_or(|value| {
            name == "wall_time" || matches!(value.method, Method::LowerBound { .. })
        });
        assert!(bound, "{name}: {field:?}\n{}", done.context());
    }
    assert!(
        number(done, "memory_peak") < (48 * MIB) as f64,
        "{}",
        done.context()
    );
    let [container] = &done.report().containers[..] else {
        panic!("not one container\n{}", done.context());
    };
    assert_eq!(container.program, client, "{}", done.context());
    let used = |name: &str| container.usage.get(name).and_then(Field::whole);
    let cpu = used("cpu_time").unwrap();
    let starts = SECOND / 5 * slowness();
    assert!(
        (SECOND * 9 / 10..SECOND + starts).contains(&cpu),
        "{}",
        done.context()
    );
    if let Some(memory) = used("memory_peak") {
        assert!((64 * MIB..67 * MIB).contains(&memory), "{}", done.context());
    }
}

fn watched(mechanism: Mechanism, words: Vec<OsString>) -> Done {
    Run::watched(mechanism, words)
        .options(["--format", "text"])
        .finish()
}

#[test]
fn root_containers_of_docker_stand_beside_the_task() {
    let daemon = match Daemon::docker() {
        Ok(daemon) => daemon,
        Err(why) => skip!("{why}"),
    };
    let run = with(&daemon.client, &["run", "--rm", "--network", "none"]);
    let work = work("docker");
    let work = [&["image".to_owned()][..], &work].concat();
    if let Err(why) = bare(&with(&run, &work)) {
        skip!("no container runs here: {why}");
    }
    for mechanism in [
        Mechanism::Default,
        Mechanism::Bpf,
        Mechanism::Connector,
        Mechanism::Ptrace,
        Mechanism::Procfs,
        Mechanism::Preload,
    ] {
        if mechanism.missing().is_none() {
            stands_beside(&watched(mechanism, with(&run, &work)), "docker");
        }
    }
    let named = with(&with(&run, &["--entrypoint", PROGRAM, "image"]), &work[2..]);
    stands_beside(&watched(Mechanism::Default, named), "docker");
    let created = with(&daemon.client, &["create", "--network", "none"]);
    let created = bare(&with(&created, &work)).unwrap().stdout;
    let id = String::from_utf8(created).unwrap();
    for id in [id.trim(), &id[..12]] {
        let start = with(&daemon.client, &["start", "-a", id]);
        stands_beside(&watched(Mechanism::Default, start), "docker");
    }
}

#[test]
fn root_containers_of_a_service_of_podman_stand_beside_the_task() {
    if !process::is_root() {
        skip!("{ROOTLESS}");
    }
    let work = work("service");
    let mut why = String::new();
    for runtime in RUNTIMES {
        let daemon = match Daemon::podman(runtime) {
            Ok(daemon) => daemon,
            Err(error) => {
                why = error;
                continue;
            }
        };
        let run = with(&with(&daemon.client, PODMAN_RUN), &["image"]);
        match bare(&with(&run, &work)) {
            Ok(_) => {
                let done = watched(Mechanism::Default, with(&run, &work));
                return stands_beside(&done, "podman");
            }
            Err(error) => why = error,
        }
    }
    skip!("no container runs here: {why}");
}

fn root_a_container_of_podman_is_the_tasks_own(mechanism: Mechanism) {
    if !process::is_root() {
        skip!("{ROOTLESS}");
    }
    let folder = tempfile::tempdir().unwrap();
    let root = make_root(folder.path());
    let work = work("podman");
    let run = |runtime: &str| {
        let mut run = with(&podman(runtime, folder.path()), PODMAN_RUN);
        run.extend(words!["--rootfs", root]);
        with(&run, &work)
    };
    let mut why = String::new();
    let works = |runtime: &&str| match bare(&run(runtime)) {
        Ok(_) => true,
        Err(error) => {
            why = error;
            false
        }
    };
    let Some(runtime) = RUNTIMES.into_iter().find(works) else {
        skip!("no container runs here: {why}");
    };
    let done = watched(mechanism, run(runtime));
    done.expect_status(0);
    assert!(!done.stderr.contains("work left"), "{}", done.context());
    assert!(done.report().containers.is_empty(), "{}", done.context());
    let cpu = Truth::cpu(SECOND, SECOND);
    holds(&done, "cpu_time", cpu, Rigour::Near);
    // Its monitor may live a little longer, and has what it waited for: only who reads processes
    // as they end knows that then.
    if mechanism != Mechanism::Procfs {
        let exact = field(&done, "cpu_time").value().map(|value| &value.method);
        assert_eq!(exact, Some(&Method::Exact), "{}", done.context());
    }
    // Podman and its helpers have some of their own; their container is out of our group.
    let memory = Truth::between(64 * MIB, 128 * MIB);
    holds(&done, "memory_peak", memory, Rigour::Sampled);
}
