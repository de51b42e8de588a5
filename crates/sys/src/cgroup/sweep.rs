//! Groups whose monitor died: their processes move to the parent free of the limit, and the folder
//! goes.

use super::control::ControlDir;
use super::delegate::moved;
use super::error::Error;
use super::group::members;
use super::limit;
use super::owner::{self, Owner};
use super::places::{Controller, Places};
use std::time::{Duration, Instant};

/// Most rounds of moving processes out of a group; one that forks meanwhile needs another.
const ROUNDS_MAX: usize = 64;
/// Most groups made by others that are tried below one of ours.
const OTHERS_MAX: usize = 4096;
/// Deepest nesting of dead groups that is followed.
const DEPTH_MAX: usize = 8;
/// How long an empty group may stay busy with processes on their way out.
const BUSY_MAX: Duration = Duration::from_millis(50);

/// The v1 hierarchies that groups are made in.
const HIERARCHIES: [Controller; 3] = [Controller::Memory, Controller::Freezer, Controller::CpuAcct];

/// What a sweep did. Counts are of folders: a v1 group has one in each hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Folders of dead monitors that were removed.
    pub removed: usize,
    /// Processes that were moved to the parent group, at most in one hierarchy.
    pub moved: usize,
    /// Folders of dead monitors that could not be removed: other users', or still holding groups of
    /// others.
    pub left: usize,
}

impl Swept {
    fn add(&mut self, other: Swept) {
        self.removed += other.removed;
        self.moved += other.moved;
        self.left += other.left;
    }
}

/// Removes the groups of dead monitors beside where ours will be. A group whose owner lives is
/// never touched.
pub fn sweep(places: &Places) -> Swept {
    let v1 = (places.v1.iter())
        .filter(|(which, _)| HIERARCHIES.contains(which))
        .map(|(which, place)| (Some(*which), place));
    let v2 = places.v2.iter().map(|place| (None, place));
    let mut swept = Swept::default();
    for (controller, place) in v1.chain(v2) {
        let here = sweep_below(controller, &place.dir, DEPTH_MAX);
        let most = swept.moved.max(here.moved);
        swept.add(here);
        swept.moved = most;
    }
    swept
}

/// The same in a scope that systemd made for one of ours, dead or alive.
pub(crate) fn sweep_scope(scope: &ControlDir) -> Swept {
    // A group in it closes the scope itself to processes, until its controller is taken back.
    let dead = |dir: &ControlDir| Owner::of(dir.path()).is_some_and(|owner| !owner.is_alive());
    if scope.children().iter().any(dead) {
        // Where it cannot be taken back nothing is swept below.
        let _ = scope.write("cgroup.subtree_control", "-memory");
    }
    sweep_below(None, scope, DEPTH_MAX)
}

fn sweep_below(controller: Option<Controller>, parent: &ControlDir, depth: usize) -> Swept {
    let mut swept = Swept::default();
    for dir in parent.children() {
        if Owner::of(dir.path()).is_none_or(Owner::is_alive) {
            continue;
        }
        // Held while we work, so that two sweepers do not meet; an error is that of a folder
        // removed meanwhile.
        let Ok(Some(_lock)) = owner::lock(&dir) else {
            continue;
        };
        match release_nested(controller, &dir, parent, depth) {
            Ok(count) => {
                swept.removed += 1;
                swept.moved += count;
            }
            Err(_) => swept.left += 1,
        }
    }
    swept
}

/// Lifts the limit of `dir`, moves what is in it to `parent`, and removes it. Returns how many
/// processes moved.
pub(crate) fn release(
    controller: Option<Controller>,
    dir: &ControlDir,
    parent: &ControlDir,
) -> Result<usize, Error> {
    release_nested(controller, dir, parent, DEPTH_MAX)
}

fn release_nested(
    controller: Option<Controller>,
    dir: &ControlDir,
    parent: &ControlDir,
    depth: usize,
) -> Result<usize, Error> {
    limit::lift(controller, dir);
    thaw(controller, dir);
    let mut count = 0;
    // Who lives on may still use the groups that it made.
    let unused = members(dir)?.is_empty();
    if let Some(depth) = depth.checked_sub(1) {
        sweep_below(controller, dir, depth); // what it leaves makes `dir` busy below
    }
    for _ in 0..ROUNDS_MAX {
        let mut pids = dir.pids()?;
        pids.retain(|pid| *pid != 0); // of another pid namespace; writing 0 would move ourselves
        if pids.is_empty() {
            break;
        }
        for pid in pids {
            count += usize::from(moved(parent.add(pid))?);
        }
    }
    if unused {
        let mut room = OTHERS_MAX;
        remove_empty(dir, DEPTH_MAX, &mut room);
    }
    let deadline = Instant::now() + BUSY_MAX;
    loop {
        match dir.remove() {
            Err(e) if e.is_busy() && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            other => return other.map(|()| count),
        }
    }
}

/// Removes what the task made below a group of ours and left there; the kernel refuses a group with
/// processes. What belongs to a living run is left alone. At most `room` groups are tried.
fn remove_empty(dir: &ControlDir, depth: usize, room: &mut usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for child in dir.children() {
        if *room == 0 {
            return;
        }
        *room -= 1;
        if Owner::of(child.path()).is_some_and(Owner::is_alive) {
            continue;
        }
        remove_empty(&child, depth, room);
        // What is in use stays, and the groups above it.
        let _ = child.remove();
    }
}

/// A monitor may have died while it held the group still.
fn thaw(controller: Option<Controller>, dir: &ControlDir) {
    let (file, value) = match controller {
        Some(Controller::Freezer) => ("freezer.state", "THAWED"),
        None => ("cgroup.freeze", "0"),
        _ => return,
    };
    // A group that has no such file is not frozen.
    let _ = dir.write(file, value);
}
