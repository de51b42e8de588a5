//! Everyone whom the last walk met, so that the next one only looks at who is another since: the
//! record of a process that slept is to the bit what it was.

use super::values::{counters, letter, memory, name};
use super::{ENDED, Kept, Process};
use crate::query::counters::{add, larger, peaks_only, without_io};
use crate::query::field::tick_of;
use record::codec::series::Revision;
use record::identity::ProcessId;
use record::room;
use record::sample::{Counters, Memory, ProcessSample, Shared};
use record::unit::Nanos;
use rustc_hash::FxHashMap;
use sys::bpf::Walked;

/// Of so many that come next each may be the one that is looked for.
const NEXT_MAX: usize = 4;

/// Room that is kept for those who are new at a pass.
const FRESH_KEPT: usize = 64;

/// Everyone, in the order of their ids.
#[derive(Debug)]
pub(super) struct Roster {
    kept: Kept,
    page_bytes: u64,
    samples: Vec<ProcessSample>,
    /// What else is known of each, in the same order.
    known: Vec<Known>,
    fresh: Vec<(ProcessSample, Known)>,
    pass: u64,
    /// Up to here the present pass has met everyone.
    at: usize,
    revision: u64,
    /// Whose memory is whose may be another than at the last pass.
    is_space_other: bool,
}

#[derive(Debug)]
struct Known {
    /// Its only thread; of a process with several this is nobody's.
    last: Walked,
    /// Where the kernel has its address space.
    space: Option<u64>,
    /// The last pass that met it.
    pass: u64,
}

impl Roster {
    pub(super) const fn new(kept: Kept, page_bytes: u64) -> Self {
        Self {
            kept,
            page_bytes,
            samples: Vec::new(),
            known: Vec::new(),
            fresh: Vec::new(),
            pass: 0,
            at: 0,
            revision: 0,
            is_space_other: false,
        }
    }

    #[cfg(test)]
    pub(super) const fn kept(&self) -> Kept {
        self.kept
    }

    /// A pass begins.
    pub(super) fn begin(&mut self) {
        self.pass += 1;
        (self.at, self.is_space_other) = (0, false);
        self.fresh.clear();
    }

    /// The pass met a process whose record has all of it; such come mostly in the order of their
    /// ids.
    pub(super) fn whole(&mut self, one: &Walked) {
        let place = self.place_of(one.tgid);
        self.at = place.map_or(self.at, |place| place + 1);
        let place = place.unwrap_or(usize::MAX);
        if let (Some(known), Some(sample)) = (self.known.get_mut(place), self.samples.get(place))
            && known.last == *one
            && sample.revision.is_some()
        {
            known.pass = self.pass;
            return;
        }
        self.put_whole(place, *one);
    }

    /// The pass met a process of which nothing differs from the record that [`Roster::whole`] was
    /// given last; whether there was one.
    pub(super) fn same(&mut self, pid: u32) -> bool {
        let Some(place) = self.place_of(pid) else {
            return false;
        };
        let (Some(known), Some(sample)) = (self.known.get_mut(place), self.samples.get(place))
        else {
            return false;
        };
        if known.last.tgid != pid {
            return false;
        }
        self.at = place + 1;
        known.pass = self.pass;
        // Somebody has filled in what the next pass takes out again.
        if sample.revision.is_none() {
            let last = known.last;
            self.put_whole(place, last);
        }
        true
    }

    fn put_whole(&mut self, place: usize, one: Walked) {
        let mut process = Process::default();
        process.take(&one, self.kept);
        process.alive = true;
        self.put(place, one.tgid, &process, one);
    }

    /// Where a process is, most likely behind the one before it.
    fn place_of(&self, pid: u32) -> Option<usize> {
        let mut place = self.at;
        let mut next = || {
            place += 1;
            Some((place - 1, self.samples.get(place - 1)?.id.pid))
        };
        // Some that are gone may be between the two.
        for _ in 0..NEXT_MAX {
            match next() {
                Some((place, found)) if found == pid => return Some(place),
                Some((_, found)) if found < pid => {}
                _ => break,
            }
        }
        let found = self.samples.binary_search_by_key(&pid, |one| one.id.pid);
        found.ok()
    }

    /// The pass met a process of several threads, or one whose main thread has ended.
    pub(super) fn several(&mut self, pid: u32, process: &Process) {
        let place = self.samples.binary_search_by_key(&pid, |one| one.id.pid);
        let place = place.unwrap_or(usize::MAX);
        self.put(place, pid, process, Walked::default());
    }

    /// Puts down a process that may be known at `place`.
    fn put(&mut self, place: usize, pid: u32, process: &Process, last: Walked) {
        let Some(leader) = process.leader.filter(|_| process.alive) else {
            return;
        };
        let known = self.known.get_mut(place).zip(self.samples.get_mut(place));
        let known = known.filter(|(_, sample)| sample.id.pid == pid);
        let before = known.as_ref().map(|(_, sample)| &**sample);
        let (kept, page_bytes) = (self.kept, self.page_bytes);
        let mut sample = sample_of(before, &leader, process, (kept, page_bytes));
        let space = process.space.map(|speaker| speaker.mm);
        self.revision += 1;
        let revision = Revision::new(self.revision);
        match known {
            Some((known, before)) => {
                if before.id == sample.id && known.space == space {
                    sample.memory_of = before.memory_of;
                } else {
                    self.is_space_other = true;
                }
                (known.last, known.space, known.pass) = (last, space, self.pass);
                sample.revision = before.revision;
                if sample != *before {
                    sample.revision = None;
                }
                sample.revision = sample.revision.or(revision);
                *before = sample;
            }
            None => {
                sample.revision = revision;
                let pass = self.pass;
                self.fresh.push((sample, Known { last, space, pass }));
            }
        }
    }

    /// The pass is over: everyone whom it met.
    pub(super) fn end(&mut self) -> &mut [ProcessSample] {
        let pass = self.pass;
        if self.known.iter().any(|known| known.pass != pass) {
            let mut stays = self.known.iter().map(|known| known.pass == pass);
            self.samples.retain(|_| stays.next().unwrap_or(false));
            self.known.retain(|known| known.pass == pass);
            self.is_space_other = true;
        }
        if !self.fresh.is_empty() {
            self.welcome();
            self.is_space_other = true;
        }
        if self.is_space_other {
            self.tell_apart();
        }
        &mut self.samples
    }

    /// Takes in who is new, each to his place.
    fn welcome(&mut self) {
        self.fresh.sort_unstable_by_key(|(sample, _)| sample.id.pid);
        let last = self.samples.last().map(|sample| sample.id.pid);
        let first = self.fresh.first().map(|(sample, _)| sample.id.pid);
        room::make(&mut self.samples, self.fresh.len());
        room::make(&mut self.known, self.fresh.len());
        for (sample, known) in self.fresh.drain(..) {
            self.samples.push(sample);
            self.known.push(known);
        }
        // At the first pass everyone is new.
        self.fresh.shrink_to(FRESH_KEPT);
        if last < first {
            return;
        }
        let mut order: Vec<usize> = (0..self.samples.len()).collect();
        order.sort_by_key(|place| self.samples.get(*place).map(|sample| sample.id.pid));
        in_order(&mut self.samples, order.clone());
        in_order(&mut self.known, order);
    }

    /// Notes in each sample whose memory it is, if an older process has the same address space.
    fn tell_apart(&mut self) {
        let places = self.samples.iter().zip(&self.known).enumerate();
        let with_space = places.filter_map(|(place, (sample, known))| {
            let id = sample.id;
            Some((id.start_ns, id.pid, place, known.space?))
        });
        let mut order: Vec<_> = with_space.collect();
        order.sort_unstable();
        let mut first = FxHashMap::default();
        for (_, pid, place, space) in order {
            let owner = *first.entry(space).or_insert(pid);
            let shared = Shared {
                pid: owner,
                proven: true,
            };
            let shared = Some(shared).filter(|_| owner != pid);
            if let Some(sample) = self.samples.get_mut(place)
                && sample.memory_of != shared
            {
                self.revision += 1;
                sample.memory_of = shared;
                sample.revision = Revision::new(self.revision);
            }
        }
    }
}

/// Moves what was at `order[n]` to `n`, in place.
fn in_order<T>(all: &mut [T], mut order: Vec<usize>) {
    for start in 0..all.len() {
        let mut place = start;
        while let Some(from) = order
            .get_mut(place)
            .map(|from| std::mem::replace(from, place))
            && from != start
        {
            all.swap(place, from);
            place = from;
        }
    }
}

/// What a pass says of a process, after `before`: counters only grow, but those of ended threads
/// are not all kept.
fn sample_of(
    before: Option<&ProcessSample>,
    leader: &Walked,
    process: &Process,
    (kept, page_bytes): (Kept, u64),
) -> ProcessSample {
    let id = ProcessId::new(leader.tgid, tick_of(Nanos(leader.start_ns)));
    let before = before.filter(|before| before.id == id);
    let was = before.map_or_else(Default::default, |one| (one.own, one.with_children));
    let (was, was_with_children): (Counters, Counters) = was;
    let (mut own, with_children) = counters(leader, process, kept);
    if leader.flags & Walked::TORN != 0 && before.is_some() {
        own = was;
    }
    let own = larger(was, own);
    let with_children = larger(was_with_children, add(without_io(own), with_children));
    // Others live, or it would not be here.
    let ended = u64::from(leader.state & ENDED != 0);
    ProcessSample {
        id,
        ppid: leader.parent_tgid,
        pgid: leader.group,
        sid: leader.session,
        state: letter(leader.state),
        comm: name(&leader.comm).into(),
        threads: Some(u64::from(leader.threads).saturating_sub(ended)),
        own,
        with_children,
        memory: match &process.space {
            Some(speaker) => memory(speaker, page_bytes),
            None => before.map_or_else(Memory::default, |one| peaks_only(one.memory)),
        },
        io_uring: process.io_uring || before.is_some_and(|one| one.io_uring),
        sigchld_ignored: leader.flags & Walked::SIGCHLD_IGNORED != 0
            || before.is_some_and(|one| one.sigchld_ignored),
        is_init: false,
        memory_of: None,
        pss_denied: false,
        revision: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_goes_to_its_place() {
        for order in [
            vec![],
            vec![0],
            vec![2, 0, 1],
            vec![0, 3, 2, 1, 5, 4],
            vec![4, 3, 2, 1, 0],
        ] {
            let mut all: Vec<usize> = (0..order.len()).map(|place| place * 10).collect();
            let expected: Vec<usize> = order.iter().map(|from| from * 10).collect();
            in_order(&mut all, order);
            assert_eq!(all, expected);
        }
    }
}
