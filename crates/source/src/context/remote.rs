//! Programs whose work leaves the tree of processes: it runs on another host, or as a child of a
//! daemon. What they use there is not seen, so the values of the task are lower bounds, and the
//! report says so.
//!
//! Only `argv[0]` counts (or the script, where an interpreter was started for one): a wrapper such
//! as `sudo`, `env` or `timeout` executes the program later, which is an exec of its own. Programs
//! that stay are left out on purpose: **podman**, whose `conmon` forks twice but comes back to the
//! nearest subreaper and so stays a descendant, unless it is told to talk to a service;
//! **apptainer** and **singularity**, which run the container as their child.

use std::borrow::Cow;

/// A program whose work leaves the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The program, without its folder.
    pub program: String,
    /// What it does with the work, to complete "PROGRAM ...".
    pub what: &'static str,
    /// Whether the work certainly leaves; else it does on some sites, and a note is enough.
    pub certain: bool,
}

/// Whether the work leaves, by the arguments after the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    Yes,
    Perhaps,
    No,
}

use Leaves::{No, Perhaps, Yes};

struct Program {
    names: &'static [&'static str],
    what: &'static str,
    rule: fn(&Arguments<'_>) -> Leaves,
}

const PROGRAMS: &[Program] = &[
    Program {
        names: &["ssh", "rsh", "slogin", "mosh"],
        what: "runs its command on another host",
        rule: |all| yes_if(all.any(|word| !word.starts_with('-')) && !all.is_file_transfer()),
    },
    Program {
        names: &["pdsh", "clush", "dsh", "pssh", "parallel-ssh"],
        what: "runs its command on other hosts",
        rule: |_| Yes,
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
        rule: |_| Perhaps,
    },
    Program {
        names: &["flux"],
        what: "runs its command through the scheduler",
        rule: |all| yes_if(all.subcommand_is(&["run", "submit", "batch", "alloc", "bulksubmit"])),
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
        what: "starts ranks on other hosts",
        rule: mpi,
    },
    Program {
        names: &["docker", "nerdctl", "docker-compose"],
        what: "runs its containers under a daemon",
        rule: |all| {
            let verbs = &[
                "run",
                "exec",
                "start",
                "restart",
                "build",
                "buildx",
                "compose",
                "container",
                "up",
                "stack",
                "service",
            ];
            yes_if(all.subcommand_is(verbs))
        },
    },
    Program {
        names: &["podman"],
        what: "runs its containers under a service",
        rule: |all| {
            yes_if(all.before_subcommand(&["--remote", "-r", "--url", "--connection", "-c"]))
        },
    },
    Program {
        names: &["ctr", "crictl", "lxc", "incus", "machinectl"],
        what: "runs its containers under a daemon",
        rule: |all| {
            let verbs = &[
                "run", "exec", "start", "shell", "launch", "task", "tasks", "restart",
            ];
            yes_if(all.subcommand_is(verbs))
        },
    },
    Program {
        names: &["kubectl", "oc"],
        what: "runs its work in a cluster",
        rule: |all| {
            let verbs = &[
                "run", "exec", "apply", "create", "debug", "replace", "scale",
            ];
            yes_if(all.subcommand_is(verbs))
        },
    },
    Program {
        names: &["systemd-run"],
        what: "runs its command under systemd",
        rule: |all| yes_if(!all.any(|word| word == "--scope")),
    },
    Program {
        names: &["systemctl"],
        what: "starts work under systemd",
        rule: |all| yes_if(all.subcommand_is(&["start", "restart", "reload-or-restart"])),
    },
    Program {
        names: &["at", "batch"],
        what: "leaves its commands to a daemon, for later",
        rule: |all| {
            let asks = ["-l", "-c", "-d", "-r", "-V"];
            yes_if(!all.any(|word| asks.contains(&word)))
        },
    },
    Program {
        names: &["crontab"],
        what: "leaves its commands to a daemon, for later",
        rule: |all| yes_if(!all.any(|word| word == "-l")),
    },
    Program {
        names: &["parallel"],
        what: "runs its jobs on other hosts",
        rule: |all| {
            let hosts = ["-S", "--sshlogin", "--sshloginfile", "--slf"];
            yes_if(all.any(|word| hosts.contains(&key(word)) || is_attached(word, "-S")))
        },
    },
    Program {
        names: &["tmux"],
        what: "runs its commands in a server, outside of the task if that was running before",
        rule: |_| Perhaps,
    },
    Program {
        names: &["screen"],
        what: "works in a session that was running before",
        rule: |all| {
            let joins = ["-r", "-R", "-RR", "-x", "-X", "-D", "-DR"];
            yes_if(all.any(|word| joins.contains(&word)))
        },
    },
    Program {
        names: &["distcc", "icecc"],
        what: "may compile on other hosts",
        rule: |_| Perhaps,
    },
];

/// Interpreters that a script's first line starts; the script is then the first argument, with its
/// path.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "ksh", "zsh", "perl", "python", "ruby", "tclsh",
];

/// Whether the command's work leaves the tree, by its own words alone.
pub fn leaves_tree(command: &[&[u8]]) -> Option<Departure> {
    leaves_tree_of_job(command, None)
}

/// The same within a job of so many `nodes`: a job of several suggests that `mpirun` reaches the
/// others.
pub fn leaves_tree_of_job(command: &[&[u8]], nodes: Option<u64>) -> Option<Departure> {
    let (mut program, mut arguments) = command.split_first()?;
    let interpreter = base(program);
    let name = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if INTERPRETERS.contains(&name)
        && let Some((script, rest)) = arguments.split_first()
        && script.contains(&b'/')
    {
        (program, arguments) = (script, rest);
    }
    let name = base(program);
    let row = PROGRAMS.iter().find(|row| row.names.contains(&&*name))?;
    let words = arguments
        .iter()
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    let leaves = (row.rule)(&Arguments { words, nodes });
    (leaves != No).then(|| Departure {
        program: name.into_owned(),
        what: row.what,
        certain: leaves == Yes,
    })
}

/// The last part of a path.
fn base(path: &[u8]) -> Cow<'_, str> {
    let name = path.rsplit(|byte| *byte == b'/').next();
    String::from_utf8_lossy(name.unwrap_or(path))
}

fn yes_if(condition: bool) -> Leaves {
    if condition { Yes } else { No }
}

/// Programs that do nothing when asked for help or for their version.
fn unless_asking(all: &Arguments<'_>) -> Leaves {
    let asks = ["--help", "--usage", "--version", "-V", "--test-only"];
    let first = all.words.first().map(Cow::as_ref);
    yes_if(!first.is_some_and(|word| asks.contains(&word)))
}

/// The words after the program.
struct Arguments<'a> {
    words: Vec<Cow<'a, str>>,
    nodes: Option<u64>,
}

impl Arguments<'_> {
    fn any(&self, test: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|word| test(word))
    }

    /// Whether the first word that is neither an option nor, perhaps, an option's value is one of
    /// `verbs`: the value of an unknown option looks like a word, so up to two words are looked at.
    fn subcommand_is(&self, verbs: &[&str]) -> bool {
        let plain = self.words.iter().filter(|word| !word.starts_with('-'));
        let after_option = self.words.first().is_some_and(|word| word.starts_with('-'));
        plain
            .take(if after_option { 2 } else { 1 })
            .any(|word| verbs.contains(&word.as_ref()))
    }

    /// Whether one of `options` comes before the first plain word.
    fn before_subcommand(&self, options: &[&str]) -> bool {
        self.words
            .iter()
            .take_while(|word| word.starts_with('-'))
            .any(|word| options.contains(&key(word)))
    }

    /// Whether the command on the other host only sends or takes files for git, rsync, scp or sftp
    /// here.
    fn is_file_transfer(&self) -> bool {
        let servers = [
            "git-upload-pack",
            "git-receive-pack",
            "rsync --server",
            "scp -",
        ];
        let joined = self.words.join(" ");
        servers.iter().any(|server| joined.contains(server)) || joined.ends_with(" sftp")
    }
}

/// `--option` of `--option=value`.
fn key(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

/// A short option with its value attached: `-Shost`.
fn is_attached(word: &str, option: &str) -> bool {
    word.len() > option.len() && word.starts_with(option)
}

/// Ranks start elsewhere if a list of hosts names another one, or if the job has several nodes.
fn mpi(all: &Arguments<'_>) -> Leaves {
    const HOSTS: &[&str] = &["-H", "-host", "--host", "-hosts", "--hosts"];
    const FILES: &[&str] = &[
        "-f",
        "-hostfile",
        "--hostfile",
        "-machinefile",
        "--machinefile",
        "--default-hostfile",
    ];
    let mut words = all.words.iter();
    while let Some(word) = words.next() {
        let option = key(word);
        if FILES.contains(&option) {
            return Yes;
        }
        if HOSTS.contains(&option) {
            let attached = word.split_once('=').map(|(_, value)| value);
            let list = attached.or_else(|| words.next().map(Cow::as_ref));
            return yes_if(!list.is_some_and(is_local));
        }
    }
    match all.nodes {
        Some(1) => No,
        Some(_) => Yes,
        None => Perhaps,
    }
}

/// Whether a list of hosts, `a:4,b:4`, names this one alone.
fn is_local(hosts: &str) -> bool {
    hosts.split(',').all(|host| {
        let name = host.split(':').next().unwrap_or(host);
        matches!(name, "localhost" | "127.0.0.1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, nodes: Option<u64>) -> Option<bool> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        leaves_tree_of_job(&words, nodes).map(|departure| departure.certain)
    }

    #[test]
    fn work_that_leaves_is_recognised() {
        for line in [
            "ssh node7 make",
            "/usr/bin/ssh -p 22 node7",
            "srun -n 4 ./a.out",
            "sbatch job.sh",
            "qsub job.sh",
            "bsub -n 4 ./a.out",
            "condor_submit job.sub",
            "flux run -n 4 ./a.out",
            "mpirun -H n1,n2 ./a.out",
            "mpiexec --hostfile hosts ./a.out",
            "mpirun --host=localhost,n2 ./a.out",
            "docker run --rm debian true",
            "docker -H tcp://h:2375 exec c true",
            "docker-compose up",
            "nerdctl run alpine",
            "podman --remote run alpine",
            "podman --url=ssh://h run alpine",
            "kubectl exec pod -- true",
            "kubectl -n space apply -f job.yaml",
            "systemd-run --user ./a.out",
            "at now",
            "batch",
            "crontab table",
            "parallel --sshlogin n1,n2 echo",
            "/usr/bin/perl /usr/bin/parallel -Sn1 echo",
            "/usr/bin/python3.11 /usr/bin/clush -w n1 true",
            "screen -S s -X stuff x",
        ] {
            assert_eq!(found(line, None), Some(true), "{line}");
        }
    }

    #[test]
    fn work_that_stays_is_left_alone() {
        for line in [
            "make -j2",
            "sshd -D",
            "ssh -V",
            "ssh git@host git-upload-pack 'a.git'",
            "ssh -l me host rsync --server --sender . x",
            "ssh -x -oForwardAgent=no -s -- host sftp",
            "srun --help",
            "docker ps",
            "docker -H tcp://h:2375 images",
            "podman run alpine true",
            "podman run alpine --remote",
            "apptainer exec x.sif true",
            "kubectl get pods",
            "systemd-run --scope ./a.out",
            "at -l",
            "crontab -l",
            "parallel echo ::: 1 2",
            "bash -c ssh",
            "python3 script.py ssh",
            "sudo ssh node7",
            "mpirun -H localhost:4 ./a.out",
            "",
        ] {
            assert_eq!(found(line, None), None, "{line}");
        }
        assert_eq!(leaves_tree(&[]), None);
    }

    #[test]
    fn mpirun_alone_goes_by_the_nodes_of_the_job() {
        assert_eq!(found("mpirun -n 4 ./a.out", None), Some(false));
        assert_eq!(found("mpirun -n 4 ./a.out", Some(1)), None);
        assert_eq!(found("mpirun -n 4 ./a.out", Some(2)), Some(true));
        assert_eq!(found("tmux new-session x", None), Some(false));
    }

    #[test]
    fn words_that_are_no_text_do_no_harm() {
        let words: [&[u8]; 3] = [b"/bin/\xff", b"\xff", b""];
        assert_eq!(leaves_tree(&words), None);
        let words: [&[u8]; 2] = [b"ssh", b"\xff"];
        assert_eq!(leaves_tree(&words).unwrap().program, "ssh");
    }

    #[test]
    fn no_program_has_two_rows() {
        let mut names: Vec<_> = PROGRAMS.iter().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
