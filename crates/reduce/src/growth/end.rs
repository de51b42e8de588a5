//! Ends: what a process had by then is settled.

use super::{Growth, faults};
use crate::held::Held;
use record::sample::Counters;
use record::unit::Nanos;

impl Growth {
    /// It ended at `at`. `own` and `mark` are its final values, as far as they are told. It had
    /// `inherited` of its parent if it neither executed a program nor was read before; nothing if
    /// that cannot be told, and then there is no bound. What `heirs` have of it is theirs by `at`.
    pub(crate) fn end(
        &mut self,
        at: Nanos,
        held: &mut Held,
        own: Option<&Counters>,
        mark: Option<u64>,
        inherited: Option<u64>,
        heirs: bool,
    ) {
        let with_heirs = heirs && at > held.settled;
        let until = if with_heirs { at } else { Nanos(u64::MAX) };
        let from = held.settled;
        if held.is_unseen() {
            self.sweep.ended_unseen(at);
        }
        let inherited = self.known(inherited);
        let last = own.and_then(faults);
        self.settle_before(held, last, false);
        let read = if held.owes.is_some() { None } else { last };
        let read = read.unwrap_or(0).max(held.faults);
        self.read = self.read.saturating_add(read);
        let unseen = mark.unwrap_or(0).saturating_sub(held.resident);
        self.unseen = self.unseen.max(unseen);
        let grown = last.and_then(|faults| self.grown(held, inherited, faults));
        match (grown, mark) {
            (grown, None) if held.more => {
                let base = grown.unwrap_or(held.base(inherited));
                self.end_above(held, until, base);
            }
            (_, Some(mark)) if held.more => {
                self.sweep
                    .each(|ceiling| ceiling.settle_between(from, until, mark, true));
            }
            (Some(grown), _) if self.may_be_huge() && mark.is_none_or(|mark| grown < mark) => {
                // Huge pages made since they were told are not in it yet.
                self.sweep
                    .each(|ceiling| ceiling.settle_between(from, until, grown, false));
                self.unread_since(self.huge);
            }
            (None, None) => self.end_above(held, until, held.base(inherited)),
            (None, _) if held.shared => self.end_above(held, until, held.base(inherited)),
            (grown, mark) => {
                let mark = mark.filter(|_| !held.shared);
                let most = grown.into_iter().chain(mark).min().unwrap_or(0);
                self.keep(held);
                self.sweep
                    .each(|ceiling| ceiling.settle_between(from, until, most, true));
            }
        }
    }

    /// It is settled with what is known: see [`Held::keeps_until`].
    pub(super) fn keep(&mut self, held: &Held) {
        if let Some(until) = held.keeps_until {
            self.sweep.each(|ceiling| ceiling.keep(held.settled, until));
        }
    }

    /// It ended at `at` after so many `faults`, and what it had another has still.
    pub(crate) fn end_shared(&mut self, at: Nanos, held: &mut Held, faults: Option<u64>) {
        if held.is_unseen() {
            self.sweep.ended_unseen(at);
        }
        self.settle_before(held, None, false);
        let read = faults.unwrap_or(0).max(held.faults);
        self.read = self.read.saturating_add(read);
        self.owed = self.owed.saturating_add(read);
        self.sweep
            .each(|ceiling| ceiling.settle(held.settled, Some(0)));
        self.unread_since(held.huge);
        self.faults_unread = true;
    }

    /// What another had that is gone by `at` it has alone from now on; how much, nobody knows.
    pub(crate) fn take_over(&mut self, at: Nanos, held: &mut Held) {
        self.sweep.each(|ceiling| ceiling.forget(held.settled));
        *held = self.open(at);
        self.lost = true;
    }

    /// Until then it had `base` and something unread.
    pub(super) fn end_above(&mut self, held: &Held, until: Nanos, base: u64) {
        self.sweep
            .each(|ceiling| ceiling.settle_between(held.settled, until, base, false));
        self.unread_since(held.huge);
        self.faults_unread = true;
    }
}
