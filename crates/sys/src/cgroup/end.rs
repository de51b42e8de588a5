//! Ending everything in a group: what ignores SIGTERM, what is stopped, what left the session, what
//! forks without end.

use super::control::ControlDir;
use super::error::Error;
use super::group::{Group, Part, members};
use super::places::Controller;
use crate::process;
use libc::SIGKILL;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The first and the longest pause between two looks at a group that should become empty.
const PAUSE: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(10));
/// How long to wait for a group to stand still.
const FREEZE_MAX: Duration = Duration::from_millis(200);
/// Processes signalled at a time: each holds a descriptor meanwhile.
const BATCH: usize = 128;
/// Rounds in which `cgroup.kill` alone is trusted.
const ROUNDS_AT_ONCE: u32 = 6;

impl Group {
    /// Sends SIGKILL to everything in the group until it is empty, for at most `within`. Returns
    /// how many are left: 0, or processes that cannot die now, being stuck in the kernel.
    ///
    /// v2: `cgroup.kill` (5.14), one write. Before, and in v1: the group is frozen, each process is
    /// signalled, and the group thaws.
    ///
    /// # Errors
    /// As the kernel says, if not even the members can be read.
    pub fn kill_all(&self, within: Duration) -> Result<usize, Error> {
        let deadline = Instant::now() + within;
        let mut pause = PAUSE.0;
        for round in 0.. {
            self.kill_round(round)?;
            let left = self.pids()?.len();
            if left == 0 || Instant::now() >= deadline {
                return Ok(left);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE.1);
        }
        Ok(0)
    }

    /// One round. Only the first needs the group to stand still: later ones meet what was too deep
    /// in the kernel, or what left the v2 hierarchy but is in another one.
    fn kill_round(&self, round: u32) -> Result<(), Error> {
        let mut v2 = self.parts.iter().filter(|part| part.controller.is_none());
        let at_once = v2.any(|part| part.dir.write("cgroup.kill", "1").is_ok());
        if at_once && round < ROUNDS_AT_ONCE {
            return Ok(());
        }
        self.kill_each(!at_once && round == 0)
    }

    /// SIGKILL to one process after the other; the group stands still meanwhile if `still`, and if
    /// it can.
    pub(crate) fn kill_each(&self, still: bool) -> Result<(), Error> {
        // A group that does not freeze is signalled all the same.
        let frozen = still && self.freeze().is_ok();
        let mut parts = self.parts.iter();
        let signalled: Result<(), Error> = parts.try_for_each(|part| kill_members(&part.dir));
        if frozen {
            self.thaw()?;
        }
        signalled
    }

    /// Holds everything in the group still; the processes do not notice. Returns whether all of it
    /// stood still within 200 ms.
    ///
    /// # Errors
    /// `NoKernelSupport` if no hierarchy of this group can (v2 before 5.2 without the v1 freezer).
    pub fn freeze(&self) -> Result<bool, Error> {
        let freezer = self.freezer()?;
        freezer.order(true)?;
        let deadline = Instant::now() + FREEZE_MAX;
        loop {
            if freezer.is_still()? {
                return Ok(true);
            }
            if Instant::now() >= deadline {
                return Ok(false);
            }
            std::thread::sleep(PAUSE.0);
        }
    }

    /// Lets the group run again.
    ///
    /// # Errors
    /// As [`Group::freeze`].
    pub fn thaw(&self) -> Result<(), Error> {
        self.freezer()?.order(false)
    }

    fn freezer(&self) -> Result<Freezer<'_>, Error> {
        let can = |part: &&Part| match part.controller {
            Some(controller) => controller == Controller::Freezer,
            None => part.dir.has("cgroup.freeze"),
        };
        match self.parts.iter().find(can) {
            Some(part) if part.controller.is_some() => Ok(Freezer::V1(&part.dir)),
            Some(part) => Ok(Freezer::V2(&part.dir)),
            None => Err(Error::NoKernelSupport {
                path: "cgroup.freeze".into(),
                what: "no control group here can be frozen",
            }),
        }
    }
}

/// The two ways to hold a group still.
enum Freezer<'g> {
    V1(&'g ControlDir),
    V2(&'g ControlDir),
}

impl Freezer<'_> {
    fn order(&self, still: bool) -> Result<(), Error> {
        match self {
            Freezer::V1(dir) => dir.write("freezer.state", if still { "FROZEN" } else { "THAWED" }),
            Freezer::V2(dir) => dir.write("cgroup.freeze", if still { "1" } else { "0" }),
        }
    }

    fn is_still(&self) -> Result<bool, Error> {
        match self {
            Freezer::V1(dir) => Ok(dir.read("freezer.state")?.trim() == "FROZEN"),
            Freezer::V2(dir) => Ok(dir.keyed("cgroup.events", "frozen")? == Some(1)),
        }
    }
}

/// SIGKILL to each process in `dir` and below. A pid is signalled through a descriptor, and only if
/// the group still lists it after that was opened: so a pid that was given to a stranger meanwhile
/// is safe.
pub(crate) fn kill_members(dir: &ControlDir) -> Result<(), Error> {
    for batch in members(dir)?.chunks(BATCH) {
        let held: Vec<_> = batch
            .iter()
            .map(|pid| (*pid, process::pidfd(*pid)))
            .collect();
        let mut listed = members(dir)?;
        listed.sort_unstable();
        for (pid, descriptor) in held {
            if pid != 0 && listed.binary_search(&pid).is_ok() {
                kill(pid, descriptor.ok().as_ref());
            }
        }
    }
    Ok(())
}

/// SIGKILL through the descriptor, or by number where the kernel has none.
fn kill(pid: u32, descriptor: Option<&OwnedFd>) {
    let killed = match descriptor {
        Some(descriptor) => process::kill_by(descriptor.as_fd(), SIGKILL),
        None => process::kill(pid, SIGKILL),
    };
    // It is gone or not ours to signal: the caller counts who is left.
    drop(killed);
}
