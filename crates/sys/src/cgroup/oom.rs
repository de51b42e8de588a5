//! The one sign that a memory limit was broken: the kernel's OOM event. Usage at the limit and
//! `failcnt` are none, page cache alone brings them about.

use super::control::ControlDir;
use super::error::Error;
use super::group::Group;
use super::places::Controller;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};

/// The kernel charges 32 or 64 pages at a time, single ones only at the limit; 64 pages of 64 KiB
/// at most.
const CHARGE_BATCH_BYTES: u64 = 4 << 20;

/// What the kernel counted since the group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OomCounts {
    /// Times that this group's own limit could not be kept. v2 counts them (`memory.events.local`,
    /// before 5.2 `memory.events`); v1 tells by an event that also comes for limits above: it
    /// counts here only if this group's limit was reached too.
    pub events: u64,
    /// Processes of the group that the OOM killer ended, whosever limit it was.
    pub kills: u64,
}

/// Wakes its poller when the OOM killer may have come to the group.
#[derive(Debug)]
pub struct OomWatch {
    file: File,
    dir: ControlDir,
    /// v1: events told so far. v2 counts by itself.
    told: Option<u64>,
}

impl Group {
    /// Starts watching. Call it before the first process is added. The kernel's OOM killer stays
    /// on.
    ///
    /// # Errors
    /// Why there is no memory controller, or as the kernel says.
    pub fn oom_watch(&self) -> Result<OomWatch, Error> {
        let part = match self.memory_part() {
            Some(part) => part,
            None => return Err(self.no_memory()),
        };
        match part.controller {
            Some(_) => OomWatch::v1(&part.dir),
            None => OomWatch::v2(&part.dir),
        }
    }

    /// Whether what was counted below this group is lost where a group there is removed: in v1.
    pub fn oom_counts_may_lack(&self) -> bool {
        self.memory_part()
            .is_some_and(|part| part.controller.is_some())
    }

    /// The counts where nothing watches. In v1 a group made below this one and removed again is not
    /// counted, and there is an event if the limit was reached.
    ///
    /// # Errors
    /// As the kernel says; before 4.13 v1 does not count.
    pub fn oom_counts(&self) -> Result<OomCounts, Error> {
        match self.memory_part() {
            Some(part) if part.controller.is_some() => v1_counts(&part.dir, 1),
            Some(part) => v2_counts(&part.dir),
            None => Err(self.no_memory()),
        }
    }
}

impl OomWatch {
    fn v1(dir: &ControlDir) -> Result<Self, Error> {
        let path = dir.path().join("memory.oom_control");
        let control = File::open(&path).map_err(|source| Error::new(&path, source))?;
        let file = eventfd().map_err(|source| Error::new(&path, source))?;
        let order = format!("{} {}", file.as_raw_fd(), control.as_raw_fd());
        dir.write("cgroup.event_control", &order)?;
        Ok(Self {
            file,
            dir: dir.clone(),
            told: Some(0),
        })
    }

    fn v2(dir: &ControlDir) -> Result<Self, Error> {
        let path = dir.path().join("memory.events");
        let file = File::open(&path).map_err(|source| Error::new(&path, source))?;
        let mut watch = Self {
            file,
            dir: dir.clone(),
            told: None,
        };
        watch.drain(); // a poll tells only what comes after a read
        Ok(watch)
    }

    /// The `poll(2)` events to wait for: `POLLIN` (v1) or `POLLPRI` (v2; `POLLERR` comes with it
    /// and means nothing).
    pub fn interest(&self) -> i16 {
        match self.told {
            Some(_) => libc::POLLIN,
            None => libc::POLLPRI,
        }
    }

    /// Reads the counts, and arms the watch for the next event. Never blocks.
    ///
    /// # Errors
    /// As the kernel says; `Gone` after the group was removed.
    pub fn read(&mut self) -> Result<OomCounts, Error> {
        self.drain();
        let Some(told) = self.told else {
            return v2_counts(&self.dir);
        };
        v1_counts(&self.dir, told)
    }

    fn drain(&mut self) {
        match &mut self.told {
            Some(told) => {
                let mut count = [0; 8];
                if self.file.read_exact(&mut count).is_ok() {
                    *told = told.saturating_add(u64::from_ne_bytes(count));
                }
            }
            None => {
                // The content is read elsewhere; a removed group fails there.
                let _ = self.file.rewind();
                let _ = self.file.read(&mut [0; 512]);
            }
        }
    }
}

impl AsFd for OomWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Whether the highest usage of a v1 counter came within one batch of charges of its limit.
/// (`failcnt` does not say: 6.18 leaves it at 0 where the limit on memory and swap was the one that
/// failed.)
fn v1_reached(dir: &ControlDir, counter: &str) -> bool {
    let number = |file: &str| {
        let text = dir.read(&format!("{counter}.{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    match (number("max_usage_in_bytes"), number("limit_in_bytes")) {
        (Some(peak), Some(limit)) => peak >= limit.saturating_sub(CHARGE_BATCH_BYTES),
        _ => false,
    }
}

/// `told`: events, which come for limits above too.
fn v1_counts(dir: &ControlDir, told: u64) -> Result<OomCounts, Error> {
    let reached = ["memory", "memory.memsw"]
        .iter()
        .any(|counter| v1_reached(dir, counter));
    Ok(OomCounts {
        events: if reached { told } else { 0 },
        kills: kills(Some(Controller::Memory), dir)?,
    })
}

fn v2_counts(dir: &ControlDir) -> Result<OomCounts, Error> {
    let own = dir.keyed("memory.events.local", "oom");
    let events = match own {
        Err(Error::NoKernelSupport { .. }) => dir.keyed("memory.events", "oom")?,
        other => other?,
    };
    Ok(OomCounts {
        events: events.unwrap_or(0),
        kills: kills(None, dir)?,
    })
}

/// v2 counts for a whole subtree; v1 only where the victim was.
fn kills(controller: Option<Controller>, dir: &ControlDir) -> Result<u64, Error> {
    let missing = |file: &str| Error::NoKernelSupport {
        path: dir.path().join(file),
        what: "this kernel does not count OOM kills",
    };
    if controller.is_none() {
        let count = dir.keyed("memory.events", "oom_kill")?;
        return count.ok_or_else(|| missing("memory.events"));
    }
    let file = "memory.oom_control";
    let own = dir.keyed(file, "oom_kill")?;
    let below = dir.children().into_iter().flat_map(|child| child.subtree());
    let inner: u64 = below
        .filter_map(|child| child.keyed(file, "oom_kill").ok().flatten())
        .sum();
    own.map(|count| count.saturating_add(inner))
        .ok_or_else(|| missing(file))
}

fn eventfd() -> io::Result<File> {
    // SAFETY: eventfd takes two numbers and no memory.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made, is open and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd) })
}
