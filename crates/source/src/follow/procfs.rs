//! The descendants of a process without events: `/proc/PID/task/TID/children` where the kernel
//! keeps it (`CONFIG_PROC_CHILDREN`), else the parents in every `/proc/PID/stat`.
//!
//! A walk is no instant: a process that is born, dies or changes its parent meanwhile may be
//! missed.

use crate::error::Error;
use record::unit::Nanos;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Nanoseconds of a tick of `/proc/PID/stat` (`USER_HZ` is 100 on every architecture of Linux but
/// alpha).
const TICK: u64 = 10_000_000;
/// The flag of a thread that ends, in the seventh field after the name.
const PF_EXITING: u64 = 4;
/// Processes looked at in one walk; the kernel's own bound on pids.
const PROCESSES_MAX: usize = 1 << 22;
/// A stat line is some 350 bytes; a name of 64 and 52 numbers of 20 digits fit.
const STAT_BYTES: u64 = 2048;

/// A process as `/proc/PID/stat` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its pid.
    pub pid: u32,
    /// Its parent now.
    pub ppid: u32,
    /// Its start since boot, in steps of 10 ms.
    pub start: Nanos,
    /// Its threads; a dead main thread counts while others live.
    pub threads: u64,
    /// Its main thread is dead.
    pub zombie: bool,
    /// Its main thread is on its way out (`PF_EXITING`), but not yet to be waited for.
    pub exiting: bool,
}

impl Found {
    /// The threads that are not dead.
    pub fn live_threads(&self) -> u64 {
        self.threads.saturating_sub(u64::from(self.zombie))
    }

    /// Reads the text of a `/proc/PID/stat`; `None` if it is none.
    pub fn parse(stat: &[u8]) -> Option<Self> {
        // The name may hold blanks and parentheses: the last one ends it.
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let pid = number(stat.get(..open)?.trim_ascii())?;
        let rest = stat.get(close + 1..)?;
        let fields: Vec<&[u8]> = rest
            .split(|byte| byte.is_ascii_whitespace())
            .filter(|field| !field.is_empty())
            .take(20)
            .collect();
        let state = *fields.first()?.first()?;
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            ppid: u32::try_from(number(fields.get(1)?)?).ok()?,
            start: Nanos(number(fields.get(19)?)?.saturating_mul(TICK)),
            threads: number(fields.get(17)?)?,
            zombie: matches!(state, b'Z' | b'X' | b'x'),
            exiting: number(fields.get(6)?)? & PF_EXITING != 0,
        })
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads one process under the proc mount `proc`; `None` if it is gone or may not be seen.
pub fn read_process(proc: &Path, pid: u32) -> Option<Found> {
    let mut bytes = Vec::with_capacity(512);
    read_stat(proc, &pid.to_string(), &mut bytes)
}

/// What is to be known about one process, and its short name; `None` if it does not exist.
pub fn read_named(proc: &Path, pid: u32) -> Option<(Found, Vec<u8>)> {
    let mut bytes = Vec::with_capacity(512);
    let found = read_stat(proc, &pid.to_string(), &mut bytes)?;
    let open = bytes.iter().position(|byte| *byte == b'(')?;
    let close = bytes.iter().rposition(|byte| *byte == b')')?;
    Some((found, bytes.get(open + 1..close)?.to_vec()))
}

fn read_stat(proc: &Path, pid: &str, bytes: &mut Vec<u8>) -> Option<Found> {
    bytes.clear();
    let file = File::open(proc.join(pid).join("stat")).ok()?;
    file.take(STAT_BYTES).read_to_end(bytes).ok()?;
    Found::parse(bytes)
}

/// The processes below `ancestors`, which are themselves left out unless they are below another
/// one.
///
/// # Errors
/// If `proc` cannot be listed.
pub fn descendants(proc: &Path, ancestors: &[u32]) -> Result<Vec<Found>, Error> {
    if has_children_files(proc) {
        return Ok(walk_children(proc, ancestors));
    }
    scan(proc, ancestors)
}

/// The ids of all processes, in their order.
///
/// # Errors
/// If `proc` cannot be listed.
pub fn all(proc: &Path) -> Result<Vec<u32>, Error> {
    let entries = std::fs::read_dir(proc).map_err(|source| Error::List {
        path: proc.to_owned(),
        source,
    })?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut pids: Vec<u32> = names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Whether this kernel keeps `/proc/PID/task/TID/children`: asked of ourselves.
pub fn has_children_files(proc: &Path) -> bool {
    let me = std::process::id().to_string();
    proc.join(&me)
        .join("task")
        .join(&me)
        .join("children")
        .exists()
}

fn walk_children(proc: &Path, ancestors: &[u32]) -> Vec<Found> {
    let mut queue: VecDeque<u32> = ancestors.iter().copied().collect();
    let mut seen = HashSet::new();
    let mut below = Vec::new();
    let mut bytes = Vec::new();
    while let Some(pid) = queue.pop_front() {
        for child in children(proc, pid, &mut bytes) {
            if below.len() >= PROCESSES_MAX || !seen.insert(child) {
                continue;
            }
            below.extend(read_stat(proc, &child.to_string(), &mut bytes));
            if !ancestors.contains(&child) {
                queue.push_back(child);
            }
        }
    }
    below
}

/// The children of all threads of `pid`; none if it is gone.
fn children(proc: &Path, pid: u32, bytes: &mut Vec<u8>) -> Vec<u32> {
    let mut found = Vec::new();
    let tasks = proc.join(pid.to_string()).join("task");
    for task in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
        bytes.clear();
        let file = File::open(task.path().join("children"));
        if file.and_then(|mut file| file.read_to_end(bytes)).is_ok() {
            let words = bytes.split(|byte| *byte == b' ');
            found.extend(
                words
                    .filter_map(number)
                    .filter_map(|n| u32::try_from(n).ok()),
            );
        }
    }
    found
}

fn scan(proc: &Path, ancestors: &[u32]) -> Result<Vec<Found>, Error> {
    let entries = std::fs::read_dir(proc).map_err(|source| Error::List {
        path: proc.to_owned(),
        source,
    })?;
    let mut by_parent: HashMap<u32, Vec<Found>> = HashMap::new();
    let mut bytes = Vec::with_capacity(512);
    for entry in entries.flatten().take(PROCESSES_MAX) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.parse::<u32>().is_ok()) else {
            continue;
        };
        if let Some(process) = read_stat(proc, name, &mut bytes) {
            by_parent.entry(process.ppid).or_default().push(process);
        }
    }
    let mut queue: VecDeque<u32> = ancestors.iter().copied().collect();
    let mut below = Vec::new();
    while let Some(pid) = queue.pop_front() {
        // Taken out of the table, so a parent met twice adds nothing and the walk ends.
        for child in by_parent.remove(&pid).unwrap_or_default() {
            queue.push_back(child.pid);
            below.push(child);
        }
    }
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, name: &str, state: char, ppid: u32) -> String {
        let zeros = "0 ".repeat(15);
        format!("{pid} ({name}) {state} {ppid} {zeros}3 0 77 4096\n")
    }

    fn place(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_is_skipped() {
        let found = Found::parse(stat(7, "a) R 9 (", 'Z', 3).as_bytes()).unwrap();
        assert_eq!((found.pid, found.ppid, found.threads), (7, 3, 3));
        assert_eq!(found.start, Nanos(770_000_000));
        assert_eq!((found.zombie, found.live_threads()), (true, 2));
        assert_eq!(Found::parse(b"7 (x R 9"), None);
        assert_eq!(Found::parse(b""), None);
    }

    #[test]
    fn descendants_are_found_by_their_parents() {
        let proc = place("scan");
        for (pid, ppid) in [(1, 0), (5, 1), (6, 5), (7, 6), (8, 1)] {
            let folder = proc.join(pid.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), stat(pid, "x", 'S', ppid)).unwrap();
        }
        let mut pids: Vec<u32> = descendants(&proc, &[5])
            .unwrap()
            .iter()
            .map(|f| f.pid)
            .collect();
        pids.sort_unstable();
        assert_eq!(pids, [6, 7]);
        std::fs::remove_dir_all(&proc).unwrap();
    }

    #[test]
    fn descendants_are_found_in_children_files() {
        let proc = place("children");
        let me = std::process::id();
        for (pid, children) in [
            (me, "900001 900002 "),
            (900_001, ""),
            (900_002, "900003 "),
            (900_003, ""),
        ] {
            let task = proc.join(format!("{pid}/task/{pid}"));
            std::fs::create_dir_all(&task).unwrap();
            std::fs::write(task.join("children"), children).unwrap();
            std::fs::write(proc.join(format!("{pid}/stat")), stat(pid, "x", 'S', me)).unwrap();
        }
        let pids: Vec<u32> = descendants(&proc, &[me])
            .unwrap()
            .iter()
            .map(|f| f.pid)
            .collect();
        assert_eq!(pids, [900_001, 900_002, 900_003]);
        std::fs::remove_dir_all(&proc).unwrap();
    }

    #[test]
    fn a_real_child_is_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let found = descendants(Path::new("/proc"), &[std::process::id()]).unwrap();
        assert!(found.iter().any(|process| process.pid == child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_missing_proc_is_an_error() {
        assert!(descendants(Path::new("/nonexistent"), &[1]).is_err());
    }
}
