//! Whether the wait chain has everyone: the kernel adds what a process used to its parent only when
//! it is waited for. The children of one that ignores SIGCHLD, or takes it with `SA_NOCLDWAIT`,
//! vanish without that, and so does who is left in a PID namespace when its first process ends.
//!
//! No file tells of `SA_NOCLDWAIT`. But who vanished must be in what his parent took over by then:
//! where that is less than what was seen of its children, some of them passed the chain by.

use crate::growth::faults;
use crate::life::Life;
use crate::settings::Mechanism;
use crate::tree::Tree;
use record::unit::Nanos;

/// Ended children whose parents have not been read since; more are not checked.
const CLAIMS_MAX: usize = 4096;

/// What the parent of an ended process takes over when it waits for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) pid: u32,
    pub(crate) start: Nanos,
    /// When it was found to have ended.
    at: Nanos,
    parent: u32,
    /// Page faults, at least.
    faults: u64,
}

impl Tree {
    /// What the parent of `life`, which ended by `at`, has of it once it has waited for it; nothing
    /// if it has no parent any more or may have had no fault.
    pub(crate) fn claim(&self, at: Nanos, life: &Life) -> Option<Claim> {
        let parent = life.parent.filter(|pid| *pid != life.pid)?;
        let known = self.living.get(&parent)?;
        let seen = life
            .last
            .as_ref()
            .and_then(|last| faults(&last.with_children));
        // No program starts without a fault; a child that shares the memory of its parent may end
        // without.
        let faults = seen.unwrap_or(0).max(u64::from(life.execs > 0));
        (known.start <= life.start && faults > 0).then_some(Claim {
            pid: life.pid,
            start: life.start,
            at,
            parent,
            faults,
        })
    }

    /// A process was missed by the pass at `at`, where no event tells of its end.
    pub(crate) fn claim_missed(&mut self, at: Nanos, life: &Life) {
        let procfs = self.settings.mechanism == Mechanism::Procfs;
        if procfs && self.claims.len() < CLAIMS_MAX {
            let claim = self.claim(at, life);
            self.claims.extend(claim);
        }
    }

    /// Who was missed and not found to be gone yet: the numbers and starts of those that ended, for
    /// whom their parents may still have to wait.
    pub fn missed(&self) -> impl Iterator<Item = (u32, Nanos)> {
        self.claims.iter().map(|claim| (claim.pid, claim.start))
    }

    /// One of [`Tree::missed`] was there at `at`, waited for by nobody yet.
    pub fn is_unwaited(&mut self, pid: u32, at: Nanos) {
        for claim in self.claims.iter_mut().filter(|claim| claim.pid == pid) {
            claim.at = at;
        }
    }

    /// One that was missed is there all the same: a list of children is not always whole.
    pub(crate) fn is_not_gone(&mut self, pid: u32) {
        self.claims.retain(|claim| claim.pid != pid);
    }

    /// A pass that began at `at` has read everyone: who was missed before and now again is gone,
    /// and his parent was read after that.
    pub(crate) fn settle_claims(&mut self, at: Nanos) {
        if self.claims.is_empty() {
            return;
        }
        let claims = std::mem::take(&mut self.claims);
        let (old, new): (Vec<_>, _) = claims.into_iter().partition(|claim| claim.at < at);
        self.claims = new;
        for claim in &old {
            self.owe_to_parent(claim);
        }
        for life in self.living.values() {
            let last = life.last.as_ref().filter(|last| last.at >= at);
            let taken = last.and_then(|last| {
                let all = faults(&last.with_children)?;
                Some(all.saturating_sub(faults(&last.own)?))
            });
            self.auto_reaped |= taken.is_some_and(|taken| taken < life.owed);
        }
    }

    /// A process is gone: its parent, read from now on, has what it had.
    pub(crate) fn owe_to_parent(&mut self, claim: &Claim) {
        let parent = self.living.get_mut(&claim.parent);
        // Another may have the number of a parent that has ended.
        if let Some(parent) = parent.filter(|parent| parent.start <= claim.start) {
            parent.owed = parent.owed.saturating_add(claim.faults);
        }
    }

    /// `pid` has taken over so many faults by now, of everyone who is owed to it.
    pub(crate) fn took_over(&mut self, pid: u32, taken: u64) {
        let owed = self.living.get(&pid).map_or(0, |life| life.owed);
        self.auto_reaped |= taken < owed;
    }
}
