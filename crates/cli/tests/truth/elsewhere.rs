//! Work that leaves the tree is never reported as small: the first line says so, values are bounds.

use crate::harness::expect::field;
use crate::harness::mechanism::Mechanism;
use crate::harness::run::Run;
use crate::harness::workload::program;
use crate::harness::{each_mechanism, words};
use record::value::{Field, Method};
use std::fs;
use std::path::Path;

each_mechanism!(
    a_client_of_a_daemon_is_recognised,
    a_client_below_a_shell_is_recognised
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
    fs::copy(program("client.static"), &path).unwrap();
    path
}

fn check(mechanism: Mechanism, name: &str, words: &[&str], below_shell: bool) {
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
    for metric in ["cpu_time", "memory_peak", "bytes_read"] {
        let bound = match field(&done, metric) {
            Field::Present(value) => matches!(value.method, Method::LowerBound { .. }),
            Field::Missing { .. } => true,
        };
        assert!(
            bound,
            "{name}: {metric} {:?}\n{}",
            field(&done, metric),
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
