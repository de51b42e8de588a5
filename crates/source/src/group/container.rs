//! Containers of this machine that a daemon runs: found by the names of their control groups, and
//! known as those of a client by the words of its command line.
//!
//! The daemon is not asked. A container that a client started began after the client, and its first
//! process runs the words that the client was given behind the image's name: `docker run IMAGE sort
//! big` runs `sort big`. Or the client names it by its id: `docker start ID`. One that runs what
//! its image names cannot be told from another's.

use crate::context::container::container_id;
use crate::follow::procfs;
use crate::query::proc_pid_cmdline;
use crate::root::Root;
use record::unit::Nanos;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use sys::cgroup::{ControlDir, Controller, Places};

/// Deepest place of a container's group: `/kubepods.slice/a.slice/b.slice/cri-….scope`.
const DEPTH_MAX: usize = 4;
/// Most folders that one search looks into.
const FOLDERS_MAX: usize = 4096;
/// Fewest digits by which a client names a container: what docker prints.
const SHORT_ID: usize = 12;
/// `/proc` tells starts in steps of a tick.
const TICK: Nanos = Nanos::from_millis(10);

/// The control group of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerGroup {
    /// Its id: 64 hexadecimal digits.
    pub id: String,
    /// Its folders, one a hierarchy: the v1 controller of each, or `None` for v2.
    pub dirs: Vec<(Option<Controller>, ControlDir)>,
}

/// The first process of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstProcess {
    /// Its start since boot, to 10 ms.
    pub start: Nanos,
    /// Its command line, arguments ended by NUL.
    pub command: Vec<u8>,
}

/// The containers that have a control group where this process can see it.
pub fn containers(places: &Places) -> Vec<ContainerGroup> {
    let v1 = |which| places.v1(which).map(|place| (Some(which), &place.top));
    let v2 = places.v2.as_ref().map(|place| (None, &place.top));
    let tops: Vec<(Option<Controller>, &PathBuf)> = [Controller::Memory, Controller::CpuAcct]
        .into_iter()
        .filter_map(v1)
        .chain(v2)
        .collect();
    let Some((_, first)) = tops.first() else {
        return Vec::new();
    };
    let found = below(first).into_iter();
    found
        .map(|(id, path)| {
            let inside = tops
                .iter()
                .map(|(which, top)| (*which, ControlDir::new(top.join(&path))));
            let dirs = inside.filter(|(_, dir)| dir.path().is_dir()).collect();
            ContainerGroup { id, dirs }
        })
        .collect()
}

/// The ids of containers below `top` and their paths from there.
fn below(top: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([(top.to_owned(), 0)]);
    let mut looked = 0;
    while let Some((folder, depth)) = queue.pop_front() {
        looked += 1;
        if looked > FOLDERS_MAX {
            break;
        }
        // A group that was removed meanwhile holds nothing.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let id = container_id(&entry.file_name().to_string_lossy());
            match (id, path.strip_prefix(top)) {
                (Some(id), Ok(inner)) => found.push((id, inner.to_owned())),
                _ if depth < DEPTH_MAX && entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                    queue.push_back((path, depth + 1));
                }
                _ => {}
            }
        }
    }
    found
}

impl ContainerGroup {
    /// Its first process, as long as one runs whose start and words can be read.
    pub fn first_process(&self) -> Option<FirstProcess> {
        let proc = Path::new("/proc");
        let pids = self.dirs.iter().find_map(|(_, dir)| dir.pids().ok())?;
        let alive = pids.into_iter().filter(|pid| *pid != 0);
        let found = alive.filter_map(|pid| procfs::read_process(proc, pid));
        let first = found.min_by_key(|found| (found.start, found.pid))?;
        let command = proc_pid_cmdline::read(&Root::default(), first.pid).ok()?;
        let start = first.start;
        (!command.is_empty()).then_some(FirstProcess { start, command })
    }

    /// Whether a client with these words names it by its id, or by the first digits of it.
    pub fn is_named(&self, client: &[&[u8]]) -> bool {
        let id = self.id.as_bytes();
        client
            .iter()
            .any(|word| word.len() >= SHORT_ID && id.starts_with(word))
    }
}

impl FirstProcess {
    /// Whether it began no sooner than `at`.
    pub fn is_since(&self, at: Nanos) -> bool {
        self.start.plus(TICK) >= at
    }

    /// Whether it runs what a client with these words was told to run.
    pub fn runs_words_of(&self, client: &[&[u8]]) -> bool {
        runs_words_of(&words(&self.command), client)
    }
}

/// The words of a command line that ends each with NUL.
pub fn words(command: &[u8]) -> Vec<&[u8]> {
    let ended = command.strip_suffix(b"\0").unwrap_or(command);
    ended.split(|byte| *byte == 0).collect()
}

/// Whether `container` ends with the words that `client` ends with: all of its own, or, behind an
/// entry point of the image (`/sbin/docker-init --`, `/entry.sh`), at least two. An entry point
/// that the client names is one of its words.
fn runs_words_of(container: &[&[u8]], client: &[&[u8]]) -> bool {
    let pairs = container.iter().rev().zip(client.iter().rev());
    let shared = pairs.take_while(|(one, other)| one == other).count();
    // Before the words of the container stand at least the client, its verb and the image.
    let given = client.len().saturating_sub(3);
    let named = || {
        let before = client.get(..client.len() - shared);
        before.and_then(entry_point) == container.first().copied()
    };
    let whole = shared == container.len() || shared + 1 == container.len() && named();
    shared > 0 && shared <= given && (whole || shared >= 2)
}

/// The program that a client names with `--entrypoint`.
fn entry_point<'a>(client: &[&'a [u8]]) -> Option<&'a [u8]> {
    const OPTION: &[u8] = b"--entrypoint";
    let at = client.iter().position(|word| word.starts_with(OPTION))?;
    match client.get(at)?.strip_prefix(OPTION)? {
        b"" => client.get(at + 1).copied(),
        attached => attached.strip_prefix(b"="),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(container: &str, client: &str) -> bool {
        let container: Vec<&[u8]> = container.split(' ').map(str::as_bytes).collect();
        let client: Vec<&[u8]> = client.split(' ').map(str::as_bytes).collect();
        runs_words_of(&container, &client)
    }

    #[test]
    fn a_container_runs_the_words_of_its_client() {
        assert!(runs("sort big", "docker run --rm debian sort big"));
        assert!(runs("true", "docker run debian true"));
        assert!(runs(
            "/sbin/docker-init -- a b",
            "docker run --init img a b"
        ));
        assert!(runs("/bin/sh /entry.sh a b c", "ctr run img name a b c"));
        assert!(runs("sort a", "docker run --entrypoint sort debian a"));
        assert!(runs("sort a", "docker run --entrypoint=sort -i debian a"));
        for (container, client) in [
            ("sort small", "docker run --rm debian sort big"),
            ("sleep 5 x", "docker run debian sleep 5"),
            ("/entry.sh a", "docker run img a"),
            ("sort a", "docker run --entrypoint cat debian a"),
            ("sort", "docker run --entrypoint sort debian"),
            ("nginx -g daemon", "docker run nginx"),
            ("debian", "docker run debian"),
            ("run debian", "docker run debian"),
            ("", "docker run debian true"),
        ] {
            assert!(!runs(container, client), "{container} of {client}");
        }
    }

    #[test]
    fn a_client_may_name_a_container_by_its_first_digits() {
        let id = "0123456789abcdef".repeat(4);
        let group = ContainerGroup {
            id,
            dirs: Vec::new(),
        };
        let named = |word: &str| group.is_named(&[b"docker", b"start", word.as_bytes()]);
        assert!(named(&group.id) && named(&group.id[..12]));
        assert!(!named(&group.id[..11]) && !named("abcdabcdabcd") && !named(""));
    }

    #[test]
    fn words_are_what_stands_between_the_ends() {
        assert_eq!(words(b"a\0\0b\0"), [&b"a"[..], b"", b"b"]);
        assert_eq!(words(b"a"), [b"a"]);
        assert_eq!(words(b""), [b""]);
    }

    #[test]
    fn containers_are_found_by_the_names_of_their_groups() {
        let top = std::env::temp_dir().join(format!("plimsoll-found-{}", std::process::id()));
        let id = |digit: &str| digit.repeat(64);
        let (docker, pod, deep) = (id("a"), id("b"), id("c"));
        for path in [
            format!("system.slice/docker-{docker}.scope/inner"),
            format!("machine.slice/libpod-{pod}.scope"),
            format!("1/2/3/4/5/{deep}"),
            "user.slice/session-1.scope".to_owned(),
        ] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        let mut found = below(&top);
        found.sort();
        let expected = [
            (
                docker.clone(),
                format!("system.slice/docker-{docker}.scope"),
            ),
            (pod.clone(), format!("machine.slice/libpod-{pod}.scope")),
        ];
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(found, expected.map(|(id, path)| (id, PathBuf::from(path))));
    }
}
