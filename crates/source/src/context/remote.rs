//! Programs whose work leaves the tree of processes: it runs on another host, or as a child of a
//! daemon. What they use there is not seen, so the values of the task are lower bounds, and the
//! report says so.
//!
//! Only `argv[0]` counts (or the script, where an interpreter was started for one): a wrapper such
//! as `sudo`, `env` or `timeout` executes the program later, which is an exec of its own. Programs
//! that stay are left out on purpose: **podman**, whose `conmon` forks twice but comes back to the
//! nearest subreaper and so stays a descendant, unless its words or its environment tell it to talk
//! to a service;
//! **apptainer** and **singularity**, which run the container as their child.

mod programs;
mod words;

use programs::{Leaves, PROGRAMS, Program};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::LazyLock;
use words::Words;

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

/// Where the command runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here<'a> {
    /// The nodes of the job, 1 outside of any; `None` in a job that does not tell.
    pub nodes: Option<u64>,
    /// The name of this host; empty if unknown.
    pub host: &'a str,
    /// The program's process and where `/proc` is: its environment is read where it decides.
    pub process: Option<(&'a Path, u32)>,
}

impl Here<'_> {
    /// Whether the program has one of these variables, not empty. Not where its environment cannot
    /// be read: it is another user's, or gone.
    fn has_variable(&self, names: &[&str]) -> bool {
        let environ = |(proc, pid): (&Path, u32)| proc.join(pid.to_string()).join("environ");
        let text = self.process.map(environ).map(std::fs::read);
        let text = text.and_then(Result::ok).unwrap_or_default();
        let has = |word: &[u8]| {
            names.iter().any(|name| {
                let value = word.strip_prefix(name.as_bytes());
                value.is_some_and(|value| value.len() > 1 && value.starts_with(b"="))
            })
        };
        text.split(|byte| *byte == 0).any(has)
    }
}

/// Interpreters that a script's first line starts; the script is then the first argument, with its
/// path.
const INTERPRETERS: &[&[u8]] = &[
    b"sh", b"bash", b"dash", b"ksh", b"zsh", b"perl", b"python", b"ruby", b"tclsh",
];

/// Whether the command's work leaves the tree, by its own words, each ended by a NUL, and by where
/// it runs: a job of several nodes suggests that `mpirun` reaches the others.
pub fn leaves_tree(command: &[u8], here: &Here<'_>) -> Option<Departure> {
    let program = command.split(|byte| *byte == 0).next()?;
    let is_interpreter = INTERPRETERS.contains(&without_version(base(program)));
    // Of nearly every program its name is enough.
    if !is_interpreter && !rows().contains_key(base(program)) {
        return None;
    }
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
    let (mut program, mut arguments) = words.split_first()?;
    if is_interpreter && let Some((script, rest)) = script(arguments) {
        (program, arguments) = (script, rest);
    }
    let name = base(program);
    let row = rows().get(name)?;
    let leaves = (row.rule)(&Words::new(arguments), here);
    (leaves != Leaves::No).then(|| Departure {
        program: String::from_utf8_lossy(name).into_owned(),
        what: row.what,
        certain: leaves == Leaves::Yes,
    })
}

/// The rows of the table by name: it is looked into at every exec.
fn rows() -> &'static FxHashMap<&'static [u8], &'static Program> {
    static ROWS: LazyLock<FxHashMap<&[u8], &Program>> = LazyLock::new(|| {
        let names =
            |row: &'static Program| row.names.iter().map(move |name| (name.as_bytes(), row));
        PROGRAMS.iter().flat_map(names).collect()
    });
    &ROWS
}

/// `python` of `python3.11`.
fn without_version(name: &[u8]) -> &[u8] {
    let is_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let version = name
        .iter()
        .rev()
        .take_while(|byte| is_version(byte))
        .count();
    name.get(..name.len() - version).unwrap_or_default()
}

/// The script that an interpreter was started for, and its arguments. Options may come before it
/// (`#!/usr/bin/python3 -s`), but not those that bring a program of their own (`-c`, `-e`, `-m`).
fn script<'a, 'w>(arguments: &'a [&'w [u8]]) -> Option<(&'a &'w [u8], &'a [&'w [u8]])> {
    let is_option =
        |word: &&[u8]| word.starts_with(b"-") && !word.iter().any(|letter| b"cem".contains(letter));
    let options = arguments.iter().take_while(|word| is_option(word)).count();
    let (script, rest) = arguments.get(options..)?.split_first()?;
    (script.contains(&b'/') && !script.starts_with(b"-")).then_some((script, rest))
}

/// The last part of a path.
fn base(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|byte| *byte == b'/').next();
    name.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str, nodes: Option<u64>) -> Option<bool> {
        let words = line.replace(' ', "\0");
        let host = "node1.cluster";
        let here = Here {
            nodes,
            host,
            process: None,
        };
        leaves_tree(words.as_bytes(), &here).map(|departure| departure.certain)
    }

    #[test]
    fn work_that_leaves_is_recognised() {
        for line in [
            "ssh node7 make",
            "/usr/bin/ssh -p 22 node7",
            "ssh -tt -o BatchMode=yes node7 -v",
            "ssh git@host git-upload-pack 'a.git'",
            "ssh -l me host rsync --server --sender . x ",
            "ssh -x -oForwardAgent=no -s -- host sftp ",
            "srun -n 4 ./a.out",
            "srun ./a.out --version",
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
            "docker --context c --tlscert t container run debian",
            "docker buildx build .",
            "docker stack deploy s",
            "docker-compose -f x.yml up",
            "docker compose -p x up -d",
            "nerdctl -n k8s.io run alpine",
            "podman --remote run alpine",
            "podman --log-level debug -r build .",
            "podman --url=ssh://h run alpine",
            "podman-remote run alpine",
            "ctr -n x run image name",
            "ctr tasks start name",
            "crictl -r unix:///x exec c true",
            "kubectl exec pod -- true",
            "kubectl -n space apply -f job.yaml",
            "systemd-run --user ./a.out",
            "systemctl --user start x",
            "systemctl -H host restart x",
            "at now",
            "crontab table",
            "parallel --sshlogin n1,n2 echo",
            "/usr/bin/perl /usr/bin/parallel -Sn1 echo",
            "/usr/bin/python3.11 /usr/bin/clush -w n1 true",
            "/usr/bin/python3 -s /usr/bin/clush -w n1 true",
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
            "ssh",
            "ssh -G node7",
            "ssh -Q cipher",
            "ssh -O check node7",
            "ssh -fN -L 80:a:80 node7",
            "ssh -W node8:22 node7",
            "ssh-keygen -t ed25519",
            "./ssh-all-hosts node7",
            "srun --help",
            "srun --version",
            "clush --version",
            "docker ps",
            "docker --version",
            "docker container ls",
            "docker compose ps run",
            "docker buildx version",
            "docker -H tcp://h:2375 images",
            "podman run alpine true",
            "podman run alpine --remote",
            "podman --remote ps",
            "ctr -n run images ls",
            "ctr task ls",
            "apptainer exec x.sif true",
            "kubectl get pods",
            "kubectl -n run get pods",
            "systemd-run --scope ./a.out",
            "systemd-run --version",
            "systemctl status start",
            "at -l",
            "./batch",
            "crontab -l",
            "parallel echo ::: 1 2",
            "bash -c ssh",
            "bash -c /x/ssh host",
            "python3 -m ssh /x/ssh host",
            "python3 script.py ssh",
            "sudo ssh node7",
            "mpirun -H localhost:4 ./a.out",
            "mpirun -H node1,localhost ./a.out",
            "mpirun --version",
            "",
        ] {
            assert_eq!(found(line, None), None, "{line}");
        }
        assert_eq!(leaves_tree(b"", &Here::default()), None);
    }

    #[test]
    fn mpirun_alone_goes_by_the_nodes_of_the_job() {
        assert_eq!(found("mpirun -n 4 ./a.out", None), Some(false));
        assert_eq!(found("mpirun -n 4 ./a.out", Some(1)), None);
        assert_eq!(found("mpirun -n 4 ./a.out", Some(2)), Some(true));
        let with_file = "mpirun --hostfile hosts -n 4 ./a.out";
        assert_eq!(found(with_file, Some(1)), Some(false));
        assert_eq!(found(with_file, Some(2)), Some(true));
        assert_eq!(found("tmux new-session x", None), Some(false));
        assert_eq!(found("/bin/sh ./gradlew build", None), Some(false));
    }

    #[test]
    fn podman_goes_by_its_environment_too() {
        let proc = std::env::temp_dir().join(format!("plimsoll-environ-{}", std::process::id()));
        std::fs::create_dir_all(proc.join("7")).unwrap();
        let leaves = |variables: &str, line: &str| {
            std::fs::write(proc.join("7/environ"), variables.replace(' ', "\0")).unwrap();
            let words = line.replace(' ', "\0");
            let here = Here {
                process: Some((&proc, 7)),
                ..Here::default()
            };
            leaves_tree(words.as_bytes(), &here).is_some()
        };
        assert!(leaves(
            "A=b CONTAINER_HOST=unix:///x",
            "podman run img true"
        ));
        assert!(leaves("CONTAINER_CONNECTION=c A=b", "podman run img true"));
        for variables in [
            "CONTAINER_HOST=",
            "CONTAINER_HOSTS=x",
            "A=CONTAINER_HOST=x",
            "",
        ] {
            assert!(!leaves(variables, "podman run img true"), "{variables}");
        }
        assert!(!leaves("CONTAINER_HOST=unix:///x", "podman ps"));
        std::fs::remove_dir_all(&proc).unwrap();
        let here = Here {
            process: Some((&proc, 7)),
            ..Here::default()
        };
        assert_eq!(leaves_tree(b"podman\0run\0img\0", &here), None);
    }

    #[test]
    fn words_that_are_no_text_do_no_harm() {
        let here = Here::default();
        assert_eq!(leaves_tree(b"/bin/\xff\0\xff\0", &here), None);
        assert_eq!(leaves_tree(b"\xff\0", &here), None);
        assert_eq!(leaves_tree(b"ssh\0\xff\0", &here).unwrap().program, "ssh");
    }
}
