//! Processes that run in the address space of another: children of `vfork` and of `CLONE_VM`. That
//! memory is there once, and it is the other's; when that one is gone, it is the next one's.

use crate::life::Life;
use crate::tree::Tree;
use record::sample::ProcessSample;
use record::unit::Nanos;

impl Tree {
    /// `pid`, which was just forked, runs in the address space of `owner` until it executes a
    /// program.
    pub(crate) fn shares_space(&mut self, pid: u32, owner: u32) {
        let of = |pid: &u32| self.living.get(pid);
        let Some(owner) = of(&owner).map(|life| life.space_of.unwrap_or(life.pid)) else {
            return;
        };
        let may = |life: &Life| life.execs == 0 && life.space_of.is_none() && life.sharers == 0;
        if owner == pid || !of(&pid).is_some_and(|life| may(life)) {
            return;
        }
        // It has no copy of anybody's pages.
        self.is_nobodys_heir(pid);
        if let Some(life) = self.living.get_mut(&pid) {
            life.space_of = Some(owner);
        }
        if let Some(life) = self.living.get_mut(&owner) {
            life.sharers += 1;
        }
    }

    /// A reading tells with whom a process shares: so it did since its fork, if no exec was told.
    pub(crate) fn was_found_to_share(&mut self, sample: &ProcessSample) {
        let Some(shared) = sample.memory_of.filter(|shared| shared.proven) else {
            return;
        };
        let image = |pid: u32| self.living.get(&pid).and_then(|life| life.image);
        let told = self.living.get(&sample.id.pid).map(Box::as_ref);
        // The parent of a sibling is not of the task: of which image it was forked nobody told.
        let began = |life: &&Life| match life.image {
            Some(own) => image(shared.pid) == Some(own),
            None => life.execs == 0,
        };
        if told
            .filter(|life| life.announced)
            .is_some_and(|life| began(&life))
        {
            self.shares_space(sample.id.pid, shared.pid);
        }
    }

    /// `pid` leaves the address space of another, by an exec or its end. Whether it was in one.
    pub(crate) fn leave_space(&mut self, pid: u32) -> bool {
        let life = self.living.get_mut(&pid);
        let Some(owner) = life.and_then(|life| life.space_of.take()) else {
            return false;
        };
        if let Some(owner) = self.living.get_mut(&owner) {
            owner.sharers = owner.sharers.saturating_sub(1);
        }
        true
    }

    /// The process leaves its address space, by an exec or its end: the oldest of those who run in
    /// it has it from now on, and is told.
    pub(crate) fn hand_over_space(&mut self, pid: u32) -> Option<u32> {
        let former = self.living.get_mut(&pid)?;
        if std::mem::take(&mut former.sharers) == 0 {
            return None;
        }
        let mut sharers: Vec<_> = self.living.values_mut().collect();
        sharers.retain(|life| life.space_of == Some(pid));
        sharers.sort_by_key(|life| (life.start, life.pid));
        let rest = (sharers.len() as u64).saturating_sub(1);
        let next = sharers.first()?.pid;
        for life in sharers {
            life.space_of = Some(next).filter(|next| *next != life.pid);
            life.sharers = if life.pid == next { rest } else { 0 };
        }
        Some(next)
    }

    /// What the former owner of its address space had is settled: from `at` on it is the heir's.
    pub(crate) fn take_over_space(&mut self, at: Nanos, heir: Option<u32>) {
        let Some(heir) = heir.and_then(|pid| self.living.get_mut(&pid)) else {
            return;
        };
        self.resident.take_over(at, &mut heir.resident);
        self.virtual_size.forget(heir.settled_virtual);
        self.virtual_size.open(at);
        heir.settled_virtual = at;
        self.growth.take_over(at, &mut heir.held);
    }
}
