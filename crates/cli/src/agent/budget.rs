//! What the agent may cost: a share of one CPU, kept by reading less often. Pure.

use record::unit::Nanos;

/// Parts of a whole.
const MILLION: u64 = 1_000_000;
/// It never reads less often than every so many intervals.
const FACTOR_MAX: u64 = 64;
/// What readings cost is the mean of about so many.
const READINGS: u64 = 8;
/// It reads more often again where that would cost no more than this part of the budget.
const ROOM: (u64, u64) = (3, 4);

/// How often to read, so that it costs no more than is allowed.
#[derive(Debug)]
pub(super) struct Budget {
    /// Millionths of one CPU; nothing for as much as it takes.
    share: Option<u64>,
    interval: Nanos,
    /// Read every so many intervals: a power of two, so that nodes of another pace meet.
    factor: u64,
    /// What a reading costs, with what is heard between two, as of late.
    cost: Option<Nanos>,
}

impl Budget {
    pub(super) fn new(share: Option<u64>, interval: Nanos) -> Self {
        Self {
            share,
            interval,
            factor: 1,
            cost: None,
        }
    }

    /// The time between two readings.
    pub(super) fn interval(&self) -> Nanos {
        Nanos(self.interval.0.saturating_mul(self.factor))
    }

    /// What is not needed of the share.
    pub(super) fn left(&self) -> Option<u64> {
        let share = self.share?;
        let time = u128::from(self.interval().0.max(1));
        let taken = self
            .cost
            .map_or(0, |cost| u128::from(cost.0) * u128::from(MILLION) / time);
        Some(share.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX)))
    }

    /// It may cost so much from now on.
    pub(super) fn allow(&mut self, share: Option<u64>) {
        self.share = share;
    }

    /// A reading, and all since the one before, took so much of a CPU; whether the time between two
    /// is another now.
    pub(super) fn spent(&mut self, cost: Nanos) -> bool {
        let Some(share) = self.share else {
            return false;
        };
        // The first one reads who everyone is, and counts as any other.
        let mean = self
            .cost
            .map_or(cost.0, |mean| (mean.0 * (READINGS - 1) + cost.0) / READINGS);
        self.cost = Some(Nanos(mean));
        let allowed = |factor: u64| {
            let time = u128::from(self.interval.0) * u128::from(factor);
            time * u128::from(share) / u128::from(MILLION)
        };
        let before = self.factor;
        let (part, whole) = (u128::from(ROOM.0), u128::from(ROOM.1));
        if u128::from(mean) > allowed(self.factor) && self.factor < FACTOR_MAX {
            self.factor *= 2;
        } else if self.factor > 1 && u128::from(mean) * whole < allowed(self.factor / 2) * part {
            self.factor /= 2;
        }
        self.factor != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn after(budget: &mut Budget, cost: Nanos, readings: u32) -> Nanos {
        for _ in 0..readings {
            budget.spent(cost);
        }
        budget.interval()
    }

    #[test]
    fn what_costs_more_is_done_less_often() {
        // A thousandth: 1 ms a second.
        let mut budget = Budget::new(Some(1000), SECOND);
        assert_eq!(after(&mut budget, Nanos(900_000), 20), SECOND);
        assert_eq!(
            after(&mut budget, Nanos::from_millis(3), 40),
            Nanos::from_secs(4)
        );
        assert_eq!(
            after(&mut budget, Nanos::from_secs(5), 40),
            Nanos::from_secs(64)
        );
        // And more often again, but not so that it goes to and fro.
        assert_eq!(after(&mut budget, Nanos(700_000), 200), SECOND);
        let mut budget = Budget::new(Some(1000), SECOND);
        assert_eq!(
            after(&mut budget, Nanos(1_900_000), 100),
            Nanos::from_secs(2)
        );
        assert_eq!(after(&mut budget, Nanos(900_000), 100), Nanos::from_secs(2));
    }

    #[test]
    fn what_is_not_needed_is_left() {
        let mut budget = Budget::new(Some(1000), SECOND);
        assert_eq!(budget.left(), Some(1000));
        after(&mut budget, Nanos(400_000), 20);
        assert_eq!(budget.left(), Some(600));
        assert_eq!(Budget::new(None, SECOND).left(), None);
    }

    #[test]
    fn without_a_budget_it_takes_what_it_takes() {
        let mut budget = Budget::new(None, SECOND);
        assert!(!budget.spent(Nanos::from_secs(100)));
        assert_eq!(budget.interval(), SECOND);
    }
}
