//! The highest number alive at one instant, when a death may be told after the births that followed
//! it.
//!
//! The kernel tells an exit after the parent can already have waited for it and started the next
//! processes, one time slice or more later on a busy machine. Such an exit says that it was waited
//! for, not when: a birth since the process began may have come after its end. The end of a thread
//! is told after whoever joins it was woken, and nothing says so: a birth a moment before it may
//! have come after it. Recent births are therefore kept a while, and of each the most and the least
//! that can have been alive then.

use record::unit::Nanos;
use std::collections::VecDeque;

/// Most births kept for correction.
const RECENT: usize = 4096;

/// The longest that a death is thought to be told late. The dying thread may be preempted between
/// its parent's wake-up and the telling, on a busy machine for some time slices.
const LATE_MAX: Nanos = Nanos::from_millis(50);

/// A process that was waited for and whose end is told so soon after its parent's last fork is
/// taken to have ended before that: who waits for one process and then starts the next does so at
/// once.
const AT_ONCE: Nanos = Nanos::from_millis(10);

#[derive(Debug, Clone, Copy)]
struct Birth {
    at: Nanos,
    parent: u32,
    alive: u64,
    /// Ends of threads told before it.
    ended: u64,
    /// Processes whose ends may have come before it, and were told after it.
    late: u64,
}

/// A running count and its peak.
#[derive(Debug, Default)]
pub(crate) struct Peak {
    alive: u64,
    best: (u64, Nanos),
    /// The most that were alive even if each end that was told late was before the births that it
    /// can have been before.
    sure: u64,
    /// Ends of threads told so far.
    ended: u64,
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

    /// The least that the peak can be, whatever was told late. Of two at once one started the
    /// other.
    pub(crate) fn at_least(&self) -> u64 {
        let (highest, _) = self.highest();
        let recent = self.recent.iter().map(|birth| self.sure_of(birth));
        recent.fold(self.sure.max(highest.min(2)), u64::max)
    }

    fn sure_of(&self, birth: &Birth) -> u64 {
        let late = birth.late + (self.ended - birth.ended);
        birth.alive.saturating_sub(late)
    }

    /// One more, started by `parent`.
    pub(crate) fn birth(&mut self, at: Nanos, parent: u32) {
        self.alive += 1;
        self.settle(at);
        if self.recent.len() == RECENT {
            // What may still be told of it is not known: it makes nothing sure.
            self.forget();
        }
        self.recent.push_back(Birth {
            at,
            parent,
            alive: self.alive,
            ended: self.ended,
            late: 0,
        });
    }

    /// Gives up the births of which no end is told any more.
    fn settle(&mut self, now: Nanos) {
        while let Some(oldest) = self.recent.front()
            && now.since(oldest.at) > LATE_MAX
        {
            self.sure = self.sure.max(self.sure_of(oldest));
            self.forget();
        }
    }

    fn forget(&mut self) {
        if let Some(oldest) = self.recent.pop_front()
            && oldest.alive > self.best.0
        {
            self.best = (oldest.alive, oldest.at);
        }
    }

    /// One fewer since `at`, which births told before it may come after.
    pub(crate) fn death(&mut self, at: Nanos) {
        self.deaths(1);
        for birth in self.recent.iter_mut().rev().take_while(|b| b.at > at) {
            birth.alive = birth.alive.saturating_sub(1);
        }
    }

    /// `count` fewer.
    pub(crate) fn deaths(&mut self, count: u64) {
        self.alive = self.alive.saturating_sub(count);
    }

    /// A thread ended, told at `at`; whoever joined it may have known a moment earlier.
    pub(crate) fn thread_death(&mut self, at: Nanos) {
        self.settle(at);
        self.ended += 1;
        self.deaths(1);
    }

    /// One fewer, which had begun at `start` and is told at `at`; `parent` had waited for it a
    /// while before.
    pub(crate) fn late_death(&mut self, at: Nanos, parent: u32, start: Nanos) {
        let last = self.recent.iter().rfind(|birth| birth.parent == parent);
        let since = match last {
            Some(birth) if birth.at > start && at.since(birth.at) <= AT_ONCE => birth.at,
            _ => at.plus(Nanos(1)),
        };
        self.deaths(1);
        for birth in &mut self.recent {
            if birth.at >= since {
                birth.alive = birth.alive.saturating_sub(1);
            } else if birth.at > start && at.since(birth.at) <= LATE_MAX {
                birth.late += 1;
            }
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
        peak.late_death(Nanos(4), 7, Nanos(2));
        assert_eq!((peak.alive(), peak.highest()), (2, (2, Nanos(2))));
        peak.birth(Nanos(5), 7);
        peak.late_death(Nanos(5).plus(LATE_MAX).plus(Nanos(1)), 7, Nanos(3));
        assert_eq!((peak.alive(), peak.highest().0), (2, 3));
        assert_eq!(peak.at_least(), 3);
    }

    #[test]
    fn an_end_told_after_two_more_births_leaves_the_peak_between_bounds() {
        let mut peak = Peak::default();
        peak.birth(Nanos(1), 0);
        for at in [10, 20, 30] {
            peak.birth(Nanos(at), 7);
        }
        peak.death(Nanos(35));
        peak.birth(Nanos(40), 7);
        // The one of 10 ended before 40 began, and perhaps before 30.
        peak.late_death(Nanos(50), 7, Nanos(10));
        assert_eq!((peak.highest().0, peak.at_least()), (4, 3));
        // Two at once at another time: the least is the most that is certain.
        let later = Nanos(50).plus(LATE_MAX);
        peak.birth(later, 7);
        assert_eq!((peak.highest().0, peak.at_least()), (4, 4));
    }

    #[test]
    fn an_end_before_births_that_were_told_first_is_before_them() {
        let mut peak = Peak::default();
        for at in [1, 2, 9] {
            peak.birth(Nanos(at), 7);
        }
        peak.death(Nanos(8));
        assert_eq!((peak.alive(), peak.highest()), (2, (2, Nanos(2))));
    }

    /// Threads one after the other, each told to end `late` after the next one was started.
    fn one_after_another(late: Nanos) -> Peak {
        let mut peak = Peak::default();
        peak.birth(Nanos(0), 0);
        for i in 1..=10_000 {
            let start = Nanos(i * LATE_MAX.0 * 2);
            peak.birth(start, 7);
            peak.birth(start.plus(Nanos(1)), 7);
            peak.thread_death(start.plus(late));
            peak.thread_death(start.plus(LATE_MAX));
        }
        peak
    }

    #[test]
    fn a_peak_of_threads_whose_ends_came_a_moment_later_is_not_sure() {
        let late = one_after_another(Nanos(2));
        assert_eq!((late.highest().0, late.alive(), late.at_least()), (3, 1, 2));
        let mut together = Peak::default();
        for _ in 0..3 {
            together.birth(Nanos(1), 7);
        }
        assert_eq!(together.at_least(), 3);
        for _ in 0..2 {
            together.thread_death(Nanos(2).plus(LATE_MAX));
        }
        assert_eq!((together.highest().0, together.at_least()), (3, 3));
        let mut at_once = Peak::default();
        for i in 0..RECENT as u64 + 5 {
            at_once.birth(Nanos(i), 7);
        }
        (0..9).for_each(|_| at_once.thread_death(Nanos(1 << 20)));
        assert!(at_once.at_least() < at_once.highest().0);
    }
}
