//! The bound over the whole task, once it is known what its main process had at last.

use super::Growth;
use crate::ceiling::Ceiling;
use crate::era::Unread;
use crate::held::Held;
use record::unit::Nanos;

/// What is known of the whole task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct All {
    /// The faults that it had.
    pub(crate) faults: u64,
    /// Those of its main process, once that has ended.
    pub(crate) faults_of_root: Option<u64>,
    /// No process ever was larger.
    pub(crate) largest: Option<u64>,
    /// The task has ended.
    pub(crate) over: bool,
}

/// The main process between its last reading and its end. What it had then is not known before its
/// faults are, which the launcher tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LastOfRoot {
    held: Held,
    until: Nanos,
    inherited: u64,
    /// The dead were looked at since: it is settled in the eras, and what was unread of the dead
    /// then holds what it had.
    looked: bool,
}

impl LastOfRoot {
    /// The dead are looked at: what it was, and whether they were before.
    pub(super) const fn look(&mut self) -> (Self, bool) {
        let again = self.looked;
        self.looked = true;
        (*self, again)
    }

    /// It had at most `most`, or what was read and something unknown.
    pub(super) fn settle(&self, ceiling: &mut Ceiling, most: Option<u64>) {
        let base = most.unwrap_or_else(|| self.held.base(self.inherited));
        ceiling.settle_between(self.held.settled, self.until, base, most.is_some());
        ceiling.forget(self.until);
    }
}

impl Growth {
    /// The main process ended at `at`, and nothing was told of it but its end: its faults are known
    /// once the launcher has told them.
    pub(crate) fn end_root(
        &mut self,
        at: Nanos,
        held: &mut Held,
        inherited: Option<u64>,
        heirs: bool,
    ) {
        // What it was before an exec had some of these faults.
        if held.before.is_some() || held.owes() || at <= held.settled {
            self.end(at, held, None, None, inherited, heirs);
            return;
        }
        if held.is_unseen() {
            self.sweep.ended_unseen(at);
        }
        let inherited = self.known(inherited);
        self.read = self.read.saturating_add(held.faults);
        self.sweep.each(|ceiling| ceiling.open(at));
        self.unread_since(held.huge);
        let (held, until) = (*held, at);
        self.root = Some(LastOfRoot {
            held,
            until,
            inherited,
            looked: false,
        });
    }

    /// What the main process had at last, if it had so many `faults`; unknown if nobody knows. How
    /// many of them are read by that.
    fn settle_root(&mut self, faults: Option<u64>) -> u64 {
        let Some(root) = self.root.take() else {
            return 0;
        };
        let held = root.held;
        let most = faults.and_then(|faults| self.grown(&held, root.inherited, faults));
        if root.looked {
            root.settle(self.sweep.whole(), most);
        } else {
            self.sweep.each(|ceiling| root.settle(ceiling, most));
        }
        self.faults_unread |= most.is_none();
        faults.map_or(0, |faults| faults.saturating_sub(held.faults))
    }

    /// The bound, if `living`, with what they inherited, are still to be settled, and of the task
    /// `known` is known.
    pub(crate) fn bound<'a>(
        &self,
        living: impl Iterator<Item = (&'a Held, Option<u64>)>,
        known: &All,
    ) -> Option<u64> {
        let price = self.price().filter(|_| !self.lost)?;
        let mut all = self.clone();
        let of_root = all.settle_root(known.faults_of_root);
        for (held, inherited) in living {
            let base = held.base(inherited?);
            if let Some(before) = held.before {
                let (from, until) = (before.from, before.until);
                let settle = |ceiling: &mut Ceiling| {
                    ceiling.settle_between(from, until, before.own, false);
                };
                all.sweep.each(settle);
            }
            let settle = |ceiling: &mut Ceiling| ceiling.settle_above(held.settled, base);
            all.sweep.each(settle);
            all.read = all.read.saturating_add(held.faults);
            all.faults_unread = true;
        }
        let unread = all.unread(known.faults, all.read);
        let of_whole = match all.faults_unread {
            true => {
                let read = all.read.saturating_add(of_root);
                (all.unread(known.faults, read), price)
            }
            false => (
                Unread {
                    faults: 0,
                    ..unread
                },
                price.of_huge_pages(),
            ),
        };
        all.sweep
            .bound(of_whole, (unread, price), known.largest, known.over)
    }
}
