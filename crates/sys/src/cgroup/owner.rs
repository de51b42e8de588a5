//! Whose a group is: its name carries the pid and the start of its monitor, and the monitor holds a
//! lock on its folder.
//!
//! The name alone could mislead a sweeper that sees other pids (another pid namespace, `hidepid`);
//! the lock alone says nothing between making the folder and locking it. Only a group that fails
//! both tests is dead.

use super::control::ControlDir;
use super::error::Error;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// What the names of all our groups start with.
const PREFIX: &str = "plimsoll-";
/// Most bytes of a hint that go into a name.
const HINT_MAX: usize = 64;

/// The process that owns a group: pid and start, in clock ticks since boot (`/proc/PID/stat`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    start_ticks: u64,
}

impl Owner {
    /// This process.
    pub(crate) fn current() -> Result<Self, Error> {
        let pid = std::process::id();
        match start_ticks(pid) {
            Some(start_ticks) => Ok(Self { pid, start_ticks }),
            None => Err(Error::NotMounted("/proc cannot be read")),
        }
    }

    /// The name of a group of this owner; `hint` tells several of its groups apart.
    pub(crate) fn name(self, hint: &str) -> String {
        let safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let hint: String = hint.chars().filter(|c| safe(*c)).take(HINT_MAX).collect();
        let dash = if hint.is_empty() { "" } else { "-" };
        format!("{PREFIX}{}-{}{dash}{hint}", self.pid, self.start_ticks)
    }

    /// The owner that the name of the group `dir` carries, if it is one of ours.
    pub(crate) fn of(dir: &Path) -> Option<Self> {
        let name = dir.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let mut parts = name.splitn(3, '-');
        Some(Self {
            pid: parts.next()?.parse().ok()?,
            start_ticks: parts.next()?.parse().ok()?,
        })
    }

    /// Whether `dir` is a scope that systemd made for one of ours.
    pub(crate) fn of_scope(dir: &Path) -> bool {
        let is_scope = dir.extension().is_some_and(|end| end == "scope");
        is_scope && Self::of(&dir.with_extension("")).is_some()
    }

    /// Whether the process of that pid and start runs.
    pub(crate) fn is_alive(self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// The start of process `pid`; `None` if it is gone or a zombie.
fn start_ticks(pid: u32) -> Option<u64> {
    let raw = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_start(&raw)
}

/// State and start from a stat line; the name before them may hold anything.
fn parse_start(raw: &[u8]) -> Option<u64> {
    let end = raw.iter().rposition(|byte| *byte == b')')?;
    let text = std::str::from_utf8(raw.get(end + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Locks the folder of a group until the returned file is closed, by us or by our death. `None` if
/// another holds it.
pub(crate) fn lock(dir: &ControlDir) -> Result<Option<File>, Error> {
    let file = File::open(dir.path()).map_err(|source| Error::new(dir.path(), source))?;
    // SAFETY: flock takes a descriptor, which `file` keeps open during the call, and no memory.
    let done = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if done == 0 {
        return Ok(Some(file));
    }
    match std::io::Error::last_os_error() {
        e if e.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
        e => Err(Error::new(dir.path(), e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_owner_and_nothing_else_is_ours() {
        let owner = Owner::current().unwrap();
        let name = owner.name("step 1/../x");
        assert!(!name.contains('/') && !name.contains('.'));
        assert_eq!(Owner::of(&Path::new("/any").join(&name)), Some(owner));
        assert_eq!(Owner::of(Path::new(&owner.name(""))), Some(owner));
        assert!(owner.is_alive());
        assert!(Owner::of_scope(
            &Path::new("/any").join(format!("{name}.scope"))
        ));
        assert!(!Owner::of_scope(Path::new(&name)) && !Owner::of_scope(Path::new("/a.scope")));
        for foreign in ["plimsoll-", "plimsoll-x-1", "plimsoll-1", "user.slice", ""] {
            assert_eq!(Owner::of(Path::new(foreign)), None, "{foreign}");
        }
    }

    #[test]
    fn a_reused_pid_is_not_the_owner() {
        let mut owner = Owner::current().unwrap();
        owner.start_ticks += 1;
        assert!(!owner.is_alive());
    }

    #[test]
    fn the_stat_line_is_read_behind_its_name() {
        let line = |state: &str| format!("7 (a) Z (x) {state} 1{} 4242 0\n", " 0".repeat(17));
        assert_eq!(parse_start(line("S").as_bytes()), Some(4242));
        assert_eq!(parse_start(line("Z").as_bytes()), None);
        assert_eq!(parse_start(b"7 (a"), None);
        assert_eq!(parse_start(b"7 (a) S 1 2"), None);
    }

    #[test]
    fn a_lock_keeps_others_out_until_it_is_closed() {
        let path = std::env::temp_dir().join(format!("plimsoll-lock-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let dir = ControlDir::new(&path);
        let held = lock(&dir).unwrap();
        assert!(held.is_some());
        assert!(lock(&dir).unwrap().is_none());
        drop(held);
        // Who is begotten by another test at this moment has it until it executes its program.
        let freed = (0..100).any(|_| {
            let again = lock(&dir).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(u64::from(again.is_none())));
            again.is_some()
        });
        assert!(freed);
        std::fs::remove_dir(&path).unwrap();
    }
}
