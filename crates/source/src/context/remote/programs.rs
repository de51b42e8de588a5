//! The table of programs through which work leaves the tree, and the rule of each.

use super::Here;
use super::words::{Words, key};

/// Whether the work leaves, by the arguments after the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaves {
    /// It does.
    Yes,
    /// On some sites it does.
    Perhaps,
    /// It stays.
    No,
}

use Leaves::{No, Perhaps, Yes};

/// One row of the table.
pub(super) struct Program {
    /// What it is called.
    pub(super) names: &'static [&'static str],
    /// What it does with the work, to complete "PROGRAM ...".
    pub(super) what: &'static str,
    /// Whether the work leaves.
    pub(super) rule: fn(&Words<'_>, &Here<'_>) -> Leaves,
}

/// Every program that is known.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        names: &["ssh", "rsh", "slogin", "mosh", "dbclient"],
        what: "runs its command on another host",
        rule: ssh,
    },
    Program {
        names: &["pdsh", "clush", "dsh", "pssh", "parallel-ssh"],
        what: "runs its command on other hosts",
        rule: unless_asking,
    },
    Program {
        names: &[
            "srun", "jsrun", "aprun", "blaunch", "pbsdsh", "lsrun", "prun", "qrsh",
        ],
        what: "starts its tasks through the scheduler's daemon",
        rule: unless_asking,
    },
    Program {
        names: &[
            "sbatch",
            "qsub",
            "bsub",
            "condor_submit",
            "condor_submit_dag",
            "condor_run",
            "oarsub",
        ],
        what: "submits a job to the scheduler",
        rule: unless_asking,
    },
    Program {
        names: &["salloc"],
        what: "may run its command on a node of its own",
        rule: |_, _| Perhaps,
    },
    Program {
        names: &["flux"],
        what: "runs its command through the scheduler",
        rule: |all, _| {
            let verbs = &["run", "submit", "batch", "alloc", "bulksubmit"];
            yes_if(all.verb_is(verbs, &["-p", "--parent"]))
        },
    },
    Program {
        names: &[
            "mpirun",
            "mpiexec",
            "orterun",
            "mpiexec.hydra",
            "mpirun.openmpi",
            "mpirun.mpich",
            "mpiexec.openmpi",
            "mpiexec.mpich",
            "prterun",
        ],
        what: "starts its ranks on the hosts of its list or of the job",
        rule: mpi,
    },
    Program {
        names: &["docker", "nerdctl", "docker-compose", "podman-remote"],
        what: "runs its containers under a daemon",
        rule: |all, _| yes_if(starts_containers(all)),
    },
    Program {
        names: &["podman"],
        what: "runs its containers under a service",
        rule: |all, here| {
            let variables = &["CONTAINER_HOST", "CONTAINER_CONNECTION"];
            let remote = ["--remote", "-r", "--url", "--connection", "-c"];
            let mut options = all.options(CONTAINER_OPTIONS);
            let told = options.any(|option| remote.contains(&key(option)));
            yes_if(starts_containers(all) && (told || here.has_variable(variables)))
        },
    },
    Program {
        names: &["ctr", "crictl"],
        what: "runs its containers under a daemon",
        rule: |all, _| {
            let mut plain = all.plain(CONTAINER_OPTIONS);
            let verb = match plain.next() {
                Some("task" | "tasks" | "t") => plain.next(),
                verb => verb,
            };
            let verbs = ["run", "runp", "exec", "start", "restart", "resume"];
            yes_if(verb.is_some_and(|verb| verbs.contains(&verb)))
        },
    },
    Program {
        names: &["lxc", "incus", "machinectl"],
        what: "runs its containers under a daemon",
        rule: |all, _| {
            let verbs = &["exec", "start", "shell", "launch", "restart"];
            yes_if(all.verb_is(verbs, &["-M", "--machine", "-H", "--host", "--project"]))
        },
    },
    Program {
        names: &["kubectl", "oc"],
        what: "runs its work in a cluster",
        rule: |all, _| {
            let verbs = &[
                "run", "exec", "apply", "create", "debug", "replace", "scale",
            ];
            yes_if(all.verb_is(verbs, CLUSTER_OPTIONS))
        },
    },
    Program {
        names: &["systemd-run"],
        what: "runs its command under systemd",
        rule: |all, here| match all.any(&["--scope"]) {
            true => No,
            false => unless_asking(all, here),
        },
    },
    Program {
        names: &["systemctl"],
        what: "starts work under systemd",
        rule: |all, _| {
            let valued = &[
                "-H",
                "--host",
                "-M",
                "--machine",
                "--job-mode",
                "-p",
                "-t",
                "-s",
                "-n",
            ];
            yes_if(all.verb_is(&["start", "restart", "reload-or-restart"], valued))
        },
    },
    Program {
        names: &["at"],
        what: "leaves its commands to a daemon, for later",
        rule: |all, _| yes_if(!all.any(&["-l", "-c", "-d", "-r", "-V"])),
    },
    Program {
        names: &["crontab"],
        what: "leaves its commands to a daemon, for later",
        rule: |all, _| yes_if(!all.any(&["-l", "-V"])),
    },
    Program {
        names: &["parallel"],
        what: "runs its jobs on other hosts",
        rule: |all, _| {
            let hosts = &["-S", "--sshlogin", "--sshloginfile", "--slf"];
            let attached = |word: &str| word.len() > 2 && word.starts_with("-S");
            yes_if(all.any(hosts) || all.iter().any(attached))
        },
    },
    Program {
        names: &["tmux"],
        what: "runs its commands in a server, outside of the task if that was running before",
        rule: |all, _| if all.any(&["-V"]) { No } else { Perhaps },
    },
    Program {
        names: &["screen"],
        what: "works in a session that was running before",
        rule: |all, _| yes_if(all.any(&["-r", "-R", "-RR", "-x", "-X", "-D", "-DR"])),
    },
    Program {
        names: &["bazel", "bazelisk", "buck2", "gradle", "gradlew", "sccache"],
        what: "works in a server, outside of the task if that was running before",
        rule: |all, here| match unless_asking(all, here) {
            No => No,
            _ => Perhaps,
        },
    },
    Program {
        names: &["distcc", "icecc"],
        what: "may compile on other hosts",
        rule: |_, _| Perhaps,
    },
];

/// Options of container programs that are followed by a value.
const CONTAINER_OPTIONS: &[&str] = &[
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
    "-n",
    "--namespace",
    "-a",
    "--address",
    "-f",
    "--file",
    "-p",
    "--project-name",
    "--project-directory",
    "--profile",
    "--env-file",
    "--builder",
    "--snapshotter",
    "--url",
    "--connection",
    "--identity",
    "--root",
    "--runroot",
    "--runtime",
    "--storage-driver",
    "--storage-opt",
    "--cgroup-manager",
    "--timeout",
    "-r",
    "--runtime-endpoint",
    "-i",
    "--image-endpoint",
];

/// Options of cluster programs that are followed by a value.
const CLUSTER_OPTIONS: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "-s",
    "--server",
    "--cluster",
    "--user",
    "--as",
];

fn yes_if(condition: bool) -> Leaves {
    if condition { Yes } else { No }
}

/// Programs that do nothing when asked for help or for their version.
fn unless_asking(all: &Words<'_>, _: &Here<'_>) -> Leaves {
    let asks = [
        "--help",
        "--usage",
        "--version",
        "-V",
        "--test-only",
        "help",
        "version",
    ];
    yes_if(!all.first().is_some_and(|word| asks.contains(&word)))
}

/// A host is named, and it is to run something: not so with a forward alone (`-N`, `-W`), for a
/// running connection (`-O`), or where ssh tells about itself (`-G`, `-Q`, `-V`). Copying with
/// scp, rsync or git runs their other half on that host.
fn ssh(all: &Words<'_>, _: &Here<'_>) -> Leaves {
    let (letters, host) = all.letters("bceilmopBDEFIJLOPQRSwW");
    yes_if(host && !letters.contains(['N', 'W', 'O', 'G', 'Q', 'V']))
}

/// Verbs of docker and its kin that run something.
fn starts_containers(all: &Words<'_>) -> bool {
    const FOLDERS: &[&str] = &[
        "container",
        "compose",
        "image",
        "builder",
        "buildx",
        "service",
        "stack",
    ];
    const VERBS: &[&str] = &["run", "exec", "start", "restart", "build", "up", "bake"];
    let mut valued = CONTAINER_OPTIONS.to_vec();
    // podman's -r is --remote; only crictl's takes a value.
    valued.retain(|option| *option != "-r");
    let mut plain = all.plain(&valued);
    match plain.next() {
        Some("service" | "stack") => plain
            .next()
            .is_some_and(|verb| ["create", "deploy", "scale", "update", "up"].contains(&verb)),
        Some(folder) if FOLDERS.contains(&folder) => {
            plain.next().is_some_and(|verb| VERBS.contains(&verb))
        }
        Some(verb) => VERBS.contains(&verb),
        None => false,
    }
}

/// Ranks start elsewhere if a list of hosts names another one, or if the job has several nodes. A
/// file of hosts on one node settles nothing: to reach another one, an ssh or srun is executed.
fn mpi(all: &Words<'_>, here: &Here<'_>) -> Leaves {
    const HOSTS: &[&str] = &["-H", "-host", "--host", "-hosts", "--hosts"];
    const FILES: &[&str] = &[
        "-f",
        "-hostfile",
        "--hostfile",
        "-machinefile",
        "--machinefile",
        "--default-hostfile",
    ];
    let asks = [
        "--version",
        "-V",
        "-version",
        "--help",
        "-h",
        "-help",
        "-info",
    ];
    if all.first().is_none_or(|word| asks.contains(&word)) {
        return No;
    }
    let mut words = all.iter();
    while let Some(word) = words.next() {
        let option = key(word);
        if FILES.contains(&option) {
            return if here.nodes == Some(1) { Perhaps } else { Yes };
        }
        if HOSTS.contains(&option) {
            let attached = word.split_once('=').map(|(_, value)| value);
            let list = attached.or_else(|| words.next());
            return yes_if(!list.is_some_and(|list| is_local(list, here.host)));
        }
    }
    match here.nodes {
        Some(1) => No,
        Some(_) => Yes,
        None => Perhaps,
    }
}

/// Whether a list of hosts, `a:4,b:4`, names `this` one alone.
fn is_local(hosts: &str, this: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    hosts.split(',').all(|host| {
        let name = host.split(':').next().unwrap_or(host);
        let ours = !this.is_empty() && (name == this || name == short(this));
        ours || matches!(name, "localhost" | "127.0.0.1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_program_has_two_rows() {
        let mut names: Vec<_> = PROGRAMS.iter().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn this_host_goes_by_its_short_name_too() {
        assert!(is_local("node7:4,localhost", "node7.cluster"));
        assert!(is_local("node7.cluster", "node7.cluster"));
        assert!(!is_local("node8,node7", "node7.cluster"));
        assert!(!is_local("", "") && !is_local("node7,", ""));
    }
}
