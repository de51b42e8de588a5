//! How often what is read: everyone at whole intervals of the time of day; in between, where the
//! interval is longer than that, who is in a job that has just begun. Both within the budget, and
//! the reading of everyone comes first.

use super::budget::Budget;
use super::tick::Ticks;
use super::{Options, real_offset, say};
use record::quantity::show_time;
use record::unit::Nanos;
use sys::clock::{self, Clock};

/// How the processes of young jobs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Young {
    /// So often.
    pub(crate) every: Nanos,
    /// A job is young for so long.
    pub(crate) age: Nanos,
}

/// When to read.
pub(super) struct Pace {
    ticks: Ticks,
    budget: Budget,
    young: Option<(Ticks, Budget)>,
    /// CPU time of this process up to the last reading of either kind.
    spent: Nanos,
}

/// The next reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) at: Nanos,
    pub(super) is_young: bool,
}

impl Pace {
    pub(super) fn new(options: &Options) -> Self {
        let (interval, offset, share) = (options.interval, options.offset, options.budget);
        let young = options.young.map(|young| {
            let budget = Budget::new(share, young.every);
            (Ticks::new(young.every, offset), budget)
        });
        Self {
            ticks: Ticks::new(interval, offset),
            budget: Budget::new(share, interval),
            young,
            spent: cpu_time(),
        }
    }

    /// The next reading after `now`; `has_young`: of young jobs too.
    pub(super) fn next(&mut self, now: Nanos, has_young: bool) -> Due {
        self.next_at(now, real_offset(), has_young)
    }

    fn next_at(&mut self, now: Nanos, real_offset_ns: i64, has_young: bool) -> Due {
        let all = Due {
            at: self.ticks.next(now, real_offset_ns),
            is_young: false,
        };
        let Some((ticks, budget)) = self.young.as_mut().filter(|_| has_young) else {
            return all;
        };
        let at = ticks.next(now, real_offset_ns);
        // The reading of everyone is one of them.
        let is_between = at < all.at && budget.interval() < self.budget.interval();
        match is_between {
            true => Due { at, is_young: true },
            false => all,
        }
    }

    /// Everyone is read at `now`: how many readings were left out since the last time.
    pub(super) fn passed(&mut self, now: Nanos) -> u64 {
        self.ticks.passed(now)
    }

    /// A reading is over. What it cost may make them rarer.
    pub(super) fn read(&mut self, is_young: bool) {
        let before = std::mem::replace(&mut self.spent, cpu_time());
        let cost = self.spent.since(before);
        if let Some((whom, every)) = self.cost(is_young, cost) {
            let every = show_time(every.0);
            say(&format!(
                "reading {whom}every {every} now, to keep within the budget"
            ));
        }
    }

    /// Whose readings come how often from now on, if that is another time.
    fn cost(&mut self, is_young: bool, cost: Nanos) -> Option<(&'static str, Nanos)> {
        if !is_young {
            self.budget.spent(cost).then_some(())?;
            self.ticks.set_interval(self.budget.interval());
            return Some(("", self.budget.interval()));
        }
        let left = self.budget.left();
        let (ticks, budget) = self.young.as_mut()?;
        budget.allow(left);
        budget.spent(cost).then_some(())?;
        ticks.set_interval(budget.interval());
        Some(("jobs that have just begun ", budget.interval()))
    }
}

fn cpu_time() -> Nanos {
    Nanos(clock::now(Clock::Process))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(interval: u64, young: Option<u64>, share: Option<u64>) -> Pace {
        let seconds = Nanos::from_secs;
        Pace {
            ticks: Ticks::new(seconds(interval), Nanos(0)),
            budget: Budget::new(share, seconds(interval)),
            young: young.map(|young| {
                let budget = Budget::new(share, seconds(young));
                (Ticks::new(seconds(young), Nanos(0)), budget)
            }),
            spent: Nanos(0),
        }
    }

    fn due(pace: &mut Pace, now: u64, has_young: bool) -> (u64, bool) {
        let due = pace.next_at(Nanos::from_secs(now), 0, has_young);
        (due.at.0 / 1_000_000_000, due.is_young)
    }

    #[test]
    fn young_jobs_are_read_between_the_readings_of_everyone() {
        let mut pace = pace(30, Some(1), None);
        assert_eq!(due(&mut pace, 27, true), (28, true));
        assert_eq!(due(&mut pace, 29, true), (30, false));
        assert_eq!(due(&mut pace, 27, false), (30, false));
    }

    #[test]
    fn nothing_comes_between_where_everyone_is_read_as_often() {
        for (interval, young) in [(1, Some(1)), (1, Some(5)), (30, None)] {
            let mut pace = pace(interval, young, None);
            assert_eq!(due(&mut pace, 0, true), (interval, false));
        }
    }

    #[test]
    fn what_everyone_leaves_of_the_budget_is_for_young_jobs() {
        // A thousandth: 30 ms in 30 s, of which everyone takes 15.
        let mut pace = pace(30, Some(1), Some(1000));
        let cost = |pace: &mut Pace, is_young, ms| pace.cost(is_young, Nanos::from_millis(ms));
        assert_eq!(cost(&mut pace, false, 15), None);
        // 2 ms each, where a second has half of one left.
        let slower = |every| Some(("jobs that have just begun ", Nanos::from_secs(every)));
        assert_eq!(cost(&mut pace, true, 2), slower(2));
        assert_eq!(cost(&mut pace, true, 2), slower(4));
        assert_eq!(cost(&mut pace, true, 2), None);
        assert_eq!(due(&mut pace, 0, true), (4, true));
        // With nothing left they wait for the reading of everyone, which stays as it is.
        assert_eq!(cost(&mut pace, false, 120), None);
        assert_eq!(cost(&mut pace, true, 900), slower(8));
        for every in [16, 32, 64] {
            assert_eq!(cost(&mut pace, true, 900), slower(every));
        }
        assert_eq!(due(&mut pace, 0, true), (30, false));
    }
}
