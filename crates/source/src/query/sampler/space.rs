//! Which processes of a reading have one address space: a child of `vfork` until its exec, and
//! children made with `CLONE_VM`. Each tells all of that memory, which is there once.
//!
//! `kcmp` tells it of a child and its parent, once a child: an address space is shared from the
//! fork on or never. Those found to share are compared in each reading, until an exec parts them.
//! That, or the end of one, may come between the reading and the comparison: in that reading a
//! process that tells about the same memory is still taken for sharing. Where `kcmp` may not be
//! used, a child is while it tells what its parent tells, to the page: one that was forked has
//! fewer file pages.
//!
//! One that does not share with its parent may share with a sibling: both were made by one that is
//! gone, or one by the other (`CLONE_PARENT`). Siblings whose address spaces are about as large are
//! asked for, and `kcmp` alone answers: what is resident may grow between two readings. Where one
//! of the two has ended since it was read and told about the same memory, they are taken for
//! sharing in that reading.

use super::watch::Watch;
use crate::roll::Roll;
use record::sample::{Memory, ProcessSample, Shared};
use record::unit::Bytes;
use std::cmp::Reverse;

/// Address spaces told apart, of those that their first process has left.
const SPACES_MAX: usize = 64;

/// Siblings that a process is compared with, once.
const SIBLINGS_MAX: usize = 8;

/// What one that is about to execute a program may have got since the other was read, bytes.
const ABOUT: u64 = 1 << 20;

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

/// What is told of two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They have one address space.
    One,
    /// Nobody may tell, and they tell the same memory.
    Alike,
    /// They have two by now; when they were read it may have been one.
    Parted,
    /// They have two.
    Two,
    /// Nobody may tell, and they tell different memory.
    Untold,
}

impl Relation {
    /// What a sample says of it: that its memory is that of `pid`.
    fn shared(self, pid: u32) -> Option<Shared> {
        let proven = self == Relation::One;
        Some(Shared { pid, proven })
    }
}

/// Notes in each sample whose memory it is, if another tells it already. `share`: whether two
/// threads have one address space, if that can be told; `has_memory`: whether a thread still has
/// any.
pub(super) fn tell_apart(
    watches: &mut Roll<u32, Watch>,
    samples: &mut [ProcessSample],
    share: impl Fn(u32, u32) -> Option<bool>,
    has_memory: impl Fn(u32) -> bool,
) {
    for index in 0..samples.len() {
        let alone = |sample: &mut ProcessSample| meet_parent(watches, sample, &share, &has_memory);
        if samples.get_mut(index).is_some_and(alone) {
            let (pid, siblings) = older_siblings(watches, samples, index);
            let left = meet_siblings(watches, pid, &siblings, &share, &has_memory);
            if let Some(sample) = samples.get_mut(index) {
                sample.memory_of = left;
            }
        }
    }
    // Those whose space their group's first has not: group and process.
    let mut firsts: Vec<(u32, u32)> = Vec::new();
    for sample in samples {
        meet_group(watches, sample, &mut firsts, &share);
    }
}

/// A process that is read for the first time is compared with its parent. Whether it is another's
/// for certain, or that one is not there. Of a parent that has ended since it was read nothing can
/// be told: the next reading asks the siblings.
fn meet_parent(
    watches: &mut Roll<u32, Watch>,
    sample: &mut ProcessSample,
    share: impl Fn(u32, u32) -> Option<bool>,
    has_memory: impl Fn(u32) -> bool,
) -> bool {
    let (pid, parent) = (sample.id.pid, sample.ppid);
    let space = |pid: u32| watches.get(pid).map(|watch| watch.space);
    if space(pid) != Some(Space::Unknown) {
        return false;
    }
    let Some(of_parent) = space(parent) else {
        return true;
    };
    let Some((one, other)) = told(watches, parent).zip(told(watches, pid)) else {
        return false;
    };
    let relation = relation(one, other, share);
    let group = match of_parent {
        Space::Shared(group) => group,
        Space::Unknown | Space::Own => parent,
    };
    if relation == Relation::Parted {
        sample.memory_of = relation.shared(parent);
    }
    let space = match relation {
        Relation::One | Relation::Alike => Space::Shared(group),
        Relation::Parted if !has_memory(one.1) => return false,
        Relation::Parted | Relation::Two => Space::Own,
        Relation::Untold => return false,
    };
    if let Some(watch) = watches.get_mut(pid) {
        watch.space = space;
    }
    relation == Relation::Two
}

/// The process at `index`, and those that were there before it and have its parent, the youngest
/// first. Of whom nothing is told yet may have had another only because that one ended between the
/// readings of the two.
fn older_siblings(
    watches: &Roll<u32, Watch>,
    samples: &[ProcessSample],
    index: usize,
) -> (u32, Vec<u32>) {
    let Some(own) = samples.get(index) else {
        return (0, Vec::new());
    };
    let born = |one: &ProcessSample| (one.id.start_ns, one.id.pid);
    let untold = |pid: u32| watches.get(pid).map(|watch| watch.space) == Some(Space::Unknown);
    let near = |one: &ProcessSample| one.ppid == own.ppid || untold(one.id.pid);
    let older = |one: &&ProcessSample| born(one) < born(own) && near(one);
    let mut siblings: Vec<_> = samples.iter().filter(older).map(born).collect();
    siblings.sort_unstable_by_key(|born| Reverse(*born));
    let siblings = siblings.into_iter().map(|born| born.1).collect();
    (own.id.pid, siblings)
}

/// A process whose memory is not its parent's is compared with its siblings. What a sample says of
/// it if it may have the memory of one that has ended since.
fn meet_siblings(
    watches: &mut Roll<u32, Watch>,
    pid: u32,
    siblings: &[u32],
    share: impl Fn(u32, u32) -> Option<bool>,
    has_memory: impl Fn(u32) -> bool,
) -> Option<Shared> {
    let (own, thread) = told(watches, pid)?;
    let of = |sibling: &u32| {
        let (memory, of_it) = told(watches, *sibling)?;
        let alike = are_about_alike(&memory, &own);
        are_about_as_large(&memory, &own).then_some((*sibling, of_it, alike))
    };
    let large: Vec<_> = siblings.iter().filter_map(of).take(SIBLINGS_MAX).collect();
    let found = large.iter().find(|one| share(one.1, thread) == Some(true));
    let group = found.and_then(|(sibling, ..)| match watches.get(*sibling)?.space {
        Space::Shared(group) => Some(group),
        Space::Unknown | Space::Own => Some(*sibling),
    });
    if let Some(watch) = watches.get_mut(pid) {
        watch.space = group.map_or(Space::Own, Space::Shared);
    }
    let mut untold = large.iter().filter(|one| group.is_none() && one.2);
    let ended = untold.find(|one| !has_memory(one.1) || !has_memory(thread));
    ended.and_then(|one| Relation::Parted.shared(one.0))
}

/// A process that was found to share is compared with the others that did.
fn meet_group(
    watches: &mut Roll<u32, Watch>,
    sample: &mut ProcessSample,
    firsts: &mut Vec<(u32, u32)>,
    share: impl Fn(u32, u32) -> Option<bool>,
) {
    let pid = sample.id.pid;
    let Some(Space::Shared(group)) = watches.get(pid).map(|watch| watch.space) else {
        return;
    };
    let Some(own) = told(watches, pid).filter(|_| pid != group) else {
        return;
    };
    let others = firsts.iter().filter(|first| first.0 == group);
    let others = std::iter::once(group).chain(others.map(|first| first.1));
    let (mut parted, mut untold) = (None, false);
    for other in others {
        let of_other = told(watches, other);
        let relation = of_other.map(|of_other| relation(of_other, own, &share));
        match relation {
            Some(one @ (Relation::One | Relation::Alike)) => {
                sample.memory_of = one.shared(other);
                if let Some(watch) = watches.get_mut(pid) {
                    watch.space = Space::Shared(other);
                }
                return;
            }
            Some(Relation::Parted) => parted = parted.or(Relation::Parted.shared(other)),
            Some(Relation::Untold) => untold = true,
            Some(Relation::Two) | None => {}
        }
    }
    sample.memory_of = parted;
    if firsts.len() < SPACES_MAX {
        firsts.push((group, pid));
    }
    if let Some(watch) = watches.get_mut(pid).filter(|_| !untold) {
        watch.space = Space::Shared(pid);
    }
}

/// The memory that a process told, and a thread that has it.
fn told(watches: &Roll<u32, Watch>, pid: u32) -> Option<(Memory, u32)> {
    let (memory, thread) = watches.get(pid)?.memory(pid)?;
    Some((*memory, thread))
}

fn relation(
    one: (Memory, u32),
    other: (Memory, u32),
    share: impl Fn(u32, u32) -> Option<bool>,
) -> Relation {
    match share(one.1, other.1) {
        Some(true) => Relation::One,
        None if present(&one.0) == present(&other.0) => Relation::Alike,
        None => Relation::Untold,
        Some(false) if are_about_alike(&one.0, &other.0) => Relation::Parted,
        Some(false) => Relation::Two,
    }
}

/// Whether one may have become the other while both were read.
fn are_about_alike(one: &Memory, other: &Memory) -> bool {
    about(one.rss_anon, other.rss_anon)
        && about(one.rss_file, other.rss_file)
        && are_about_as_large(one, other)
}

/// Whether their address spaces may be one that was read twice, however much came between.
fn are_about_as_large(one: &Memory, other: &Memory) -> bool {
    about(one.virtual_size, other.virtual_size)
}

fn about(one: Option<Bytes>, other: Option<Bytes>) -> bool {
    let both = one.zip(other);
    both.is_some_and(|(one, other)| one.0.abs_diff(other.0) <= ABOUT)
}

/// What of it is of now: the peaks are not read in each pass.
fn present(memory: &Memory) -> Memory {
    Memory {
        rss_peak: None,
        virtual_peak: None,
        pss: None,
        pss_unreclaimable: None,
        swap_pss: None,
        ..*memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::identity::ProcessId;
    use record::sample::Counters;
    use record::unit::Nanos;

    fn memory(mib: u64) -> Memory {
        let bytes = Some(Bytes(mib << 20));
        Memory {
            rss: bytes,
            rss_anon: bytes,
            rss_file: Some(Bytes(0)),
            virtual_size: bytes,
            ..Memory::default()
        }
    }

    #[test]
    fn two_are_one_where_kcmp_or_every_page_says_so() {
        let of = |mib, answer| relation((memory(100), 1), (memory(mib), 2), |_, _| answer);
        assert_eq!(of(30, Some(true)), Relation::One);
        assert_eq!(of(100, None), Relation::Alike);
        assert_eq!(of(101, None), Relation::Untold);
        assert_eq!(of(101, Some(false)), Relation::Parted);
        assert_eq!(of(30, Some(false)), Relation::Two);
    }

    fn process(pid: u32) -> ProcessSample {
        ProcessSample {
            id: ProcessId {
                pid,
                start_ns: Nanos(7),
            },
            ppid: 1,
            pgid: 1,
            sid: 1,
            state: 'S',
            comm: [].into(),
            threads: Some(1),
            own: Counters::default(),
            with_children: Counters::default(),
            memory: memory(100),
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
        }
    }

    /// Two siblings that told the same and of whom `kcmp` says that they have two spaces; of `has`
    /// the memory is still there. What is told of the younger.
    fn told_of_the_younger(has: &[u32]) -> Option<Shared> {
        let mut samples = vec![process(5), process(6)];
        let watch = |pid| (pid, Watch::of(memory(100)));
        let mut watches = Roll::from_iter([watch(5), watch(6)]);
        let share = |_, _| Some(false);
        tell_apart(&mut watches, &mut samples, share, |pid| has.contains(&pid));
        assert_eq!(samples[0].memory_of, None);
        samples[1].memory_of
    }

    #[test]
    fn siblings_of_whom_one_has_ended_may_have_been_one() {
        let one = Relation::Parted.shared(5);
        assert_eq!(told_of_the_younger(&[5, 6]), None);
        assert_eq!(told_of_the_younger(&[6]), one, "the older has ended");
        assert_eq!(told_of_the_younger(&[5]), one, "the younger has ended");
    }

    /// A parent that ends between its reading and the comparison leaves two that share; `ppid` is
    /// the parent that the younger told. What is told of the two then.
    fn left_by_a_parent(ppid: u32) -> [Option<Shared>; 2] {
        let born = |pid, ppid| ProcessSample {
            ppid,
            ..process(pid)
        };
        let watch = |pid| (pid, Watch::of(memory(100)));
        let mut watches = Roll::from_iter([watch(4), watch(5), watch(6)]);
        let share = |one, other| Some(one != 4 && other != 4);
        let mut samples = vec![process(4), born(5, 4), born(6, ppid)];
        tell_apart(&mut watches, &mut samples, share, |pid| pid != 4);
        let told = [samples[1].memory_of, samples[2].memory_of];
        watches.remove(4);
        let mut samples = vec![process(5), process(6)];
        tell_apart(&mut watches, &mut samples, share, |_| true);
        assert_eq!(samples[0].memory_of, None);
        assert_eq!(samples[1].memory_of, Relation::One.shared(5));
        told
    }

    #[test]
    fn what_a_parent_left_is_one_in_the_next_reading() {
        assert_eq!(left_by_a_parent(4), [Relation::Parted.shared(4); 2]);
    }

    /// Its other child is another's by the time that it is read.
    #[test]
    fn a_parent_may_end_between_the_readings_of_its_children() {
        let expected = [Relation::Parted.shared(4), Relation::One.shared(5)];
        assert_eq!(left_by_a_parent(1), expected);
    }

    #[test]
    fn siblings_are_asked_for_while_their_memory_grows() {
        let mut samples = vec![process(5), process(6)];
        let mut grown = memory(100);
        (grown.rss, grown.rss_anon) = (Some(Bytes(7 << 20)), Some(Bytes(7 << 20)));
        let mut watches = Roll::from_iter([(5, Watch::of(grown)), (6, Watch::of(memory(100)))]);
        tell_apart(&mut watches, &mut samples, |_, _| Some(true), |_| true);
        assert_eq!(samples[1].memory_of, Relation::One.shared(5));
    }

    /// Two that were found to share tell memory that differs by a page; what `kcmp` answers then.
    fn told_of_one_that_shared(answer: Option<bool>) -> Option<Shared> {
        let mut samples = vec![process(5), process(6)];
        let mut grown = memory(100);
        grown.rss_anon = Some(Bytes((100 << 20) + 4096));
        let mut watches =
            Roll::from_iter([(5, Watch::of(memory(100))), (6, Watch::of(memory(100)))]);
        tell_apart(&mut watches, &mut samples, |_, _| Some(true), |_| true);
        let mut now = Watch::of(grown);
        now.space = Space::Shared(5);
        *watches.get_mut(6).unwrap() = now;
        tell_apart(&mut watches, &mut samples, |_, _| answer, |_| true);
        samples[1].memory_of
    }

    #[test]
    fn one_that_shared_does_until_its_memory_is_another() {
        assert_eq!(told_of_one_that_shared(Some(true)), Relation::One.shared(5));
        let gone = told_of_one_that_shared(Some(false));
        assert_eq!(
            gone,
            Relation::Parted.shared(5),
            "one is gone or has another by now"
        );
        assert_eq!(told_of_one_that_shared(None), None);
    }
}
