//! Work that leaves the tree is never reported as small: the first line says so, values are bounds.

use crate::harness::expect::{MIB, Rigour, field, number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, executable, skip, words};
use record::value::{Field, Method};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

each_mechanism!(
    a_client_of_a_daemon_is_recognised,
    a_client_below_a_shell_is_recognised,
    work_over_ssh_is_not_claimed,
);

const CLIENTS: &[(&str, &[&str])] = &[
    ("docker", &["run", "image", "work"]),
    ("podman", &["--remote", "run", "image"]),
    ("ssh", &["localhost", "work"]),
    ("srun", &["-n", "4", "work"]),
    ("mpirun", &["--host", "other1,other2", "work"]),
    ("sbatch", &["script"]),
    ("systemd-run", &["--wait", "work"]),
];

/// A program that is called `name` and does nothing itself.
fn client(folder: &Path, name: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    executable::copy(program("client.static"), &path, "755");
    path
}

fn check(mechanism: Mechanism, name: &str, words: &[&str], below_shell: bool) {
    // Nobody tells level query of an exec, and on a slow machine samples are far apart.
    if below_shell && mechanism.counts() == Rigour::Sampled && slowness() > 1 {
        skip!("samples may miss a client");
    }
    let run =
        Run::watched(mechanism, Vec::new()).options(["--format", "text", "--interval", "100ms"]);
    let mut command = words![client(run.folder(), name)];
    command.extend(words.iter().map(Into::into));
    if below_shell {
        let mut shell = words!["/bin/sh", "-c", "\"$@\"; exit 0", "sh"];
        shell.append(&mut command);
        command = shell;
    }
    let done = run.command(command).finish();
    done.expect_status(0);
    let first = done.stderr.lines().next().unwrap_or_default();
    assert!(
        first.contains(name),
        "first line: {first}\n{}",
        done.context()
    );
    assert_bounds(name, &done);
}

fn assert_bounds(name: &str, done: &Done) {
    for metric in ["cpu_time", "memory_peak", "bytes_read"] {
        let bound = match field(done, metric) {
            Field::Present(value) => matches!(value.method, Method::LowerBound { .. }),
            Field::Missing { .. } => true,
        };
        assert!(
            bound,
            "{name}: {metric} {:?}\n{}",
            field(done, metric),
            done.context()
        );
    }
}

fn a_client_of_a_daemon_is_recognised(mechanism: Mechanism) {
    for (name, words) in CLIENTS {
        check(mechanism, name, words, false);
    }
}

fn a_client_below_a_shell_is_recognised(mechanism: Mechanism) {
    check(mechanism, "docker", &["run", "image", "work"], true);
}

/// The names alone prove nothing about a task that never hands work away.
#[test]
fn a_task_that_stays_is_not_suspected() {
    let done = Run::watched(Mechanism::Default, words!["/bin/echo", "docker", "ssh"]).finish();
    done.expect_status(0);
    let Field::Present(value) = field(&done, "cpu_time") else {
        panic!("{}", done.context());
    };
    assert_eq!(value.method, Method::Exact, "{}", done.context());
}

const SSHD: &str = "/usr/sbin/sshd";

/// An ssh server of this user, on this machine alone, and a configuration that leads to it.
struct Server {
    sshd: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(key))
                .status();
            assert!(made.unwrap().success());
        }
        let at = folder.path().display();
        // Free again at once: nobody but the server may answer there.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.unwrap().port();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nPidFile none\n\
             AuthorizedKeysFile {at}/user.pub\nUsePAM no\nStrictModes no\n"
        );
        let client = format!(
            "Host *\nHostName 127.0.0.1\nPort {port}\nIdentityFile {at}/user\nBatchMode yes\n\
             StrictHostKeyChecking no\nUserKnownHostsFile {at}/known\nLogLevel ERROR\n"
        );
        fs::write(path("server.conf"), server).unwrap();
        fs::write(path("client.conf"), client).unwrap();
        fs::set_permissions(path("user"), fs::Permissions::from_mode(0o600)).unwrap();
        // It parts from privileges in this folder, where it has some.
        drop(fs::create_dir_all("/run/sshd"));
        let sshd = Command::new(SSHD)
            .args(["-D", "-f"])
            .arg(path("server.conf"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { sshd, folder };
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        crate::harness::process::wait_until("an ssh server", answers);
        server
    }

    fn ssh(&self) -> String {
        format!("ssh{}", self.configuration())
    }

    fn configuration(&self) -> String {
        format!(" -F {}/client.conf", self.folder.path().display())
    }

    /// A connection that clients may share, if this user is let in: where it is.
    fn share(&self) -> String {
        let path = format!("{}/shared", self.folder.path().display());
        let ssh = self.ssh();
        // A user who is not let in has none: who would share it connects, in vain.
        drop(self.shell(&format!("{ssh} -M -S {path} -fN localhost")));
        path
    }

    /// Why a script failed, if it did.
    fn shell(&self, script: &str) -> Result<(), String> {
        let said = self.folder.path().join("said");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).stdin(Stdio::null());
        // A file: a connection that is shared holds it open as long as it lives.
        shell.stdout(Stdio::null());
        shell.stderr(fs::File::create(&said).unwrap());
        let done = shell.status().unwrap().success();
        let why = fs::read_to_string(said).unwrap();
        done.then_some(()).ok_or(why)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let at = self.folder.path().display();
        // Most have none to be ended.
        drop(self.shell(&format!("{} -S {at}/shared -O exit localhost", self.ssh())));
        self.sshd.kill().unwrap();
        self.sshd.wait().unwrap();
    }
}

/// A real client and a real server, by every way that leads to it.
#[test]
fn a_command_over_ssh_to_this_machine_is_said() {
    if !Path::new(SSHD).exists() {
        skip!("no {SSHD}");
    }
    let server = Server::start();
    let ssh = server.ssh();
    let found = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let mut ways = vec![
        ("ssh", format!("exec {ssh} localhost true")),
        ("sh", format!("{ssh} localhost true; exit 0")),
        (
            "env",
            format!("exec env X=1 nice -n 1 timeout 60 {ssh} localhost true"),
        ),
        (
            "make",
            format!("printf 'a:\\n\\t-{ssh} localhost true\\n' | exec make -f -"),
        ),
        (
            "git",
            format!("GIT_SSH_COMMAND='{ssh}' exec git ls-remote localhost:/no/such"),
        ),
        (
            "rsync",
            format!("exec rsync -e '{ssh}' localhost:/etc/hostname ."),
        ),
        (
            "scp",
            format!(
                "exec scp{} -q /etc/hostname localhost:/dev/null",
                server.configuration()
            ),
        ),
        (
            "pipe",
            format!("echo x | {ssh} localhost 'cat; cat /etc/hostname' | cat"),
        ),
        (
            "shared",
            format!("exec {ssh} -S {} localhost true", server.share()),
        ),
    ];
    let always = ["ssh", "sh", "env", "scp", "pipe", "shared"];
    ways.retain(|(program, _)| always.contains(program) || found(program));
    for (program, script) in ways {
        let run = Run::watched(Mechanism::Default, words!["/bin/sh", "-c", script]);
        let done = run
            .options(["--format", "text", "--interval", "100ms"])
            .finish();
        // A user without a shell is refused after the words were said: no matter.
        let report = done
            .stderr
            .lines()
            .find(|line| line.contains("; peak memory"));
        let first = report.unwrap_or_default();
        assert!(
            first.contains("through ssh"),
            "{program}: {}",
            done.context()
        );
        assert_bounds(program, &done);
    }
}

/// Nothing of what a server does for the task is in the numbers, though it is on this machine.
fn work_over_ssh_is_not_claimed(mechanism: Mechanism) {
    if !Path::new(SSHD).exists() {
        skip!("no {SSHD}");
    }
    let server = Server::start();
    if let Err(why) = server.shell(&format!("{} localhost true", server.ssh())) {
        skip!("this user is not let in over ssh: {why}");
    }
    let work = format!(
        "{} 64 exit 300 && {} 1000",
        program("fill.static").display(),
        program("burn.static").display()
    );
    let script = format!("{} localhost '{work}'; exit $?", server.ssh());
    let run = Run::watched(mechanism, words!["/bin/sh", "-c", script]);
    let done = run
        .options(["--format", "text", "--interval", "100ms"])
        .finish();
    done.expect_status(0);
    assert!(done.stdout.contains("cpu_us"), "{}", done.context());
    let said = done.stderr.lines().any(|line| {
        line.contains("; peak memory") && line.contains("through ssh: values are lower bounds")
    });
    assert!(said, "{}", done.context());
    for (name, field) in &done.report().usage.0 {
        let bound = field.value().is_none_or(|value| {
            name == "wall_time" || matches!(value.method, Method::LowerBound { .. })
        });
        assert!(bound, "{name}: {field:?}\n{}", done.context());
    }
    let memory = number(&done, "rss_peak");
    assert!(memory < (48 * MIB) as f64, "{memory}\n{}", done.context());
    // Two programs with their encryption; on a slow machine that takes longer than the work.
    let cpu = number(&done, "cpu_time");
    assert!(cpu < 8e8 * slowness() as f64, "{cpu}\n{}", done.context());
}

/// A container as a daemon makes one: no child of the task, in a control group of its own.
#[test]
fn root_a_container_of_a_daemon_is_followed() {
    use sys::cgroup::{Controller, Places};
    let places = Places::find().unwrap_or_default();
    let place = places.v1(Controller::Memory).or(places.v2.as_ref());
    let Some(place) = place else {
        skip!("no control groups");
    };
    let id = format!(
        "{:064x}",
        0xfeed_0000_0000_u64 + u64::from(std::process::id())
    );
    let group = place.top.join(format!("docker-{id}.scope"));
    if let Err(error) = fs::create_dir(&group) {
        skip!("no group can be made: {error}");
    }
    let run = Run::watched(Mechanism::Default, Vec::new());
    let docker = run.path("docker");
    let script = format!("#!/bin/sh\necho begun\nsleep {}\n", 1.5 * slowness() as f64);
    executable::script(&docker, &script);
    let fill = program("fill.static");
    let words = words![docker, "run", "--rm", "image", fill, "60", "hold"];
    let mut running = run.command(words).options(["--format", "text"]).start();
    running.wait_for("begun");
    let mut container = Command::new("/bin/sh")
        .args([
            "-c",
            "echo $$ > \"$1/cgroup.procs\"; exec \"$2\" 60 hold",
            "sh",
        ])
        .args([group.as_os_str(), fill.as_os_str()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let done = running.finish();
    container.kill().unwrap();
    container.wait().unwrap();
    crate::harness::process::wait_until("the group to be empty", || fs::remove_dir(&group).is_ok());
    let containers = &done.report().containers;
    assert_eq!(containers.len(), 1, "{}", done.context());
    assert_eq!(containers[0].id, id);
    assert_eq!(containers[0].program, "docker");
    let used = |name: &str| containers[0].usage.get(name).and_then(Field::whole);
    // The group of this test lies in one hierarchy alone: v1 memory, or v2 with at least CPU time.
    let known = used("memory_peak").or(used("cpu_time"));
    assert!(known.is_some_and(|value| value > 0), "{}", done.context());
    if let Some(memory) = used("memory_peak") {
        assert!((60 * MIB..64 * MIB).contains(&memory), "{}", done.context());
    }
    let first = done.stderr.lines().next().unwrap_or_default();
    assert!(first.contains("its container 0000"), "{}", done.context());
}
