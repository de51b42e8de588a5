//! The highest number alive at one instant, when a death may be told after the births that followed
//! it.
//!
//! The kernel tells an exit after the parent can already have waited for it and started the next
//! process. Such an exit says so; it then counts from before its parent's last fork. Recent births
//! are therefore kept a while.

use record::unit::Nanos;
use std::collections::VecDeque;

/// Births kept for correction.
const RECENT: usize = 64;

/// The longest that a death is thought to be told late. The dying thread may be preempted between
/// its parent's wake-up and the telling, on a busy machine for some time slices.
const LATE_MAX: Nanos = Nanos::from_millis(50);

#[derive(Debug, Clone, Copy)]
struct Birth {
    at: Nanos,
    parent: u32,
    alive: u64,
}

/// A running count and its peak.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    alive: u64,
    best: (u64, Nanos),
    recent: VecDeque<Birth>,
}

impl Peak {
    /// How many are alive.
    pub(crate) fn alive(&self) -> u64 {
        self.alive
    }

    /// The most that were alive at one instant, and when first.
    pub(crate) fn highest(&self) -> (u64, Nanos) {
        self.recent.iter().fold(self.best, |best, birth| {
            if birth.alive > best.0 {
                (birth.alive, birth.at)
            } else {
                best
            }
        })
    }

    /// One more, started by `parent`.
    pub(crate) fn birth(&mut self, at: Nanos, parent: u32) {
        self.alive += 1;
        if self.recent.len() == RECENT
            && let Some(oldest) = self.recent.pop_front()
            && oldest.alive > self.best.0
        {
            self.best = (oldest.alive, oldest.at);
        }
        let alive = self.alive;
        self.recent.push_back(Birth { at, parent, alive });
    }

    /// `count` fewer.
    pub(crate) fn deaths(&mut self, count: u64) {
        self.alive = self.alive.saturating_sub(count);
    }

    /// One fewer, told at `at`; its parent may have known before it last forked, a moment earlier.
    pub(crate) fn late_death(&mut self, at: Nanos, parent: u32) {
        self.deaths(1);
        let mut births = self.recent.iter();
        let last = births.rposition(|b| b.parent == parent && at.since(b.at) <= LATE_MAX);
        for birth in self.recent.iter_mut().skip(last.unwrap_or(RECENT)) {
            birth.alive = birth.alive.saturating_sub(1);
        }
    }

    /// The count as it was found by another way.
    pub(crate) fn set(&mut self, at: Nanos, alive: u64) {
        while self.alive < alive {
            self.birth(at, 0);
        }
        self.alive = alive;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_count_and_its_instant_are_kept() {
        let mut peak = Peak::default();
        for at in 1..=3 {
            peak.birth(Nanos(at), 1);
        }
        peak.deaths(2);
        for at in 10..200 {
            peak.birth(Nanos(at), 1);
            peak.deaths(1);
        }
        assert_eq!((peak.alive(), peak.highest()), (1, (3, Nanos(3))));
    }

    #[test]
    fn a_child_waited_for_before_its_exit_was_told_does_not_raise_the_peak() {
        let mut peak = Peak::default();
        peak.birth(Nanos(1), 0);
        peak.birth(Nanos(2), 7);
        peak.birth(Nanos(3), 7);
        assert_eq!(peak.highest().0, 3);
        peak.late_death(Nanos(4), 7);
        assert_eq!((peak.alive(), peak.highest()), (2, (2, Nanos(2))));
        peak.birth(Nanos(5), 7);
        peak.late_death(Nanos(5).plus(LATE_MAX).plus(Nanos(1)), 7);
        assert_eq!((peak.alive(), peak.highest().0), (2, 3));
    }
}
