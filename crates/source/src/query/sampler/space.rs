//! Which processes of a reading have one address space: a child of `vfork` until its exec, and
//! children made with `CLONE_VM`. Each tells all of that memory, which is there once.
//!
//! `kcmp` tells it of a child and its parent, once a child: an address space is shared from the
//! fork on or never. Those found to share are compared in each reading, as an exec parts them.
//! Where `kcmp` may not be used, a child is taken for sharing while it tells what its parent tells,
//! to the page: one that was forked has fewer file pages. Children whose parent ended before
//! anybody looked are not compared with one another.

use super::watch::Watch;
use record::sample::{Memory, ProcessSample};
use std::collections::HashMap;

/// Address spaces told apart, of those that their first process has left.
const SPACES_MAX: usize = 64;

/// With whom a process shares its address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Space {
    /// Not told yet.
    #[default]
    Unknown,
    /// With nobody that was there before it.
    Own,
    /// With others, at least once: the pid of the first of them.
    Shared(u32),
}

/// Notes in each sample whose memory it is, if another tells it already. `share`: whether two
/// threads have one address space, if that can be told.
pub(super) fn tell_apart(
    watches: &mut HashMap<u32, Watch>,
    samples: &mut [ProcessSample],
    share: impl Fn(u32, u32) -> Option<bool>,
) {
    for sample in samples.iter_mut() {
        meet_parent(watches, sample, &share);
    }
    // Of each group, one of each address space.
    let mut firsts: Vec<(u32, u32)> = Vec::new();
    for sample in samples {
        let pid = sample.id.pid;
        let Some(Space::Shared(group)) = watches.get(&pid).map(|watch| watch.space) else {
            continue;
        };
        if pid == group || sample.memory.rss.is_none() {
            continue;
        }
        let known = firsts.iter().filter(|first| first.0 == group);
        let founder = watches.contains_key(&group).then_some((group, group));
        let mut others = founder.iter().chain(known).map(|first| first.1);
        match others.find(|other| is_same(watches, *other, pid, &share)) {
            Some(other) => sample.memory_of = Some(other),
            None if firsts.len() < SPACES_MAX => firsts.push((group, pid)),
            None => {}
        }
    }
}

/// A process that is read for the first time is compared with its parent.
fn meet_parent(
    watches: &mut HashMap<u32, Watch>,
    sample: &mut ProcessSample,
    share: impl Fn(u32, u32) -> Option<bool>,
) {
    let (pid, parent) = (sample.id.pid, sample.ppid);
    let space = |pid: u32| watches.get(&pid).map(|watch| watch.space);
    if space(pid) != Some(Space::Unknown) {
        return;
    }
    let Some(of_parent) = space(parent) else {
        return;
    };
    let Some((one, other)) = threads(watches, parent, pid) else {
        return;
    };
    let shares = share(one, other);
    let alike = shares != Some(true) && are_alike(watches, parent, pid);
    let space = match (shares, of_parent) {
        // It became another program after it was read, or nobody can tell.
        _ if alike => {
            sample.memory_of = Some(parent);
            return;
        }
        (Some(true), Space::Shared(group)) => Space::Shared(group),
        (Some(true), _) => Space::Shared(parent),
        (Some(false), _) => Space::Own,
        (None, _) => return,
    };
    if let Some(watch) = watches.get_mut(&pid) {
        watch.space = space;
    }
}

fn is_same(
    watches: &HashMap<u32, Watch>,
    one: u32,
    other: u32,
    share: impl Fn(u32, u32) -> Option<bool>,
) -> bool {
    let threads = threads(watches, one, other);
    let shares = threads.and_then(|(one, other)| share(one, other));
    shares == Some(true) || are_alike(watches, one, other)
}

/// A thread of each, if both have memory.
fn threads(watches: &HashMap<u32, Watch>, one: u32, other: u32) -> Option<(u32, u32)> {
    let thread = |pid: u32| Some(watches.get(&pid)?.memory(pid)?.1);
    thread(one).zip(thread(other))
}

/// Whether both told the same memory, page by page.
fn are_alike(watches: &HashMap<u32, Watch>, one: u32, other: u32) -> bool {
    let told = |pid: u32| Some(present(watches.get(&pid)?.memory(pid)?.0));
    let (one, other) = (told(one), told(other));
    one.is_some() && one == other
}

/// What of it is of now: the peaks are not read in each pass.
fn present(memory: &Memory) -> Memory {
    Memory {
        rss_peak: None,
        virtual_peak: None,
        pss: None,
        pss_unreclaimable: None,
        ..*memory
    }
}
