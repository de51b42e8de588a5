//! A share of one CPU, spent in small pieces. Pure.

use record::unit::Nanos;

/// Parts of a whole.
const MILLION: u128 = 1_000_000;
/// What is saved up, at most: so long is what is done at once, but for the last piece of it.
const SAVED_MAX: i64 = 2_000_000;
/// Once all is spent, so much is saved before anything is done again.
const SAVED_MIN: i64 = SAVED_MAX / 2;

/// What may be spent now.
#[derive(Debug)]
pub(super) struct Allowance {
    /// Millionths of one CPU.
    share: u64,
    saved: i64,
    at: Nanos,
    is_spent: bool,
}

impl Allowance {
    pub(super) fn new(share: u64, now: Nanos) -> Self {
        Self {
            share: share.max(1),
            saved: SAVED_MAX,
            at: now,
            is_spent: false,
        }
    }

    /// So much was spent.
    pub(super) fn spend(&mut self, spent: Nanos) {
        let spent = i64::try_from(spent.0).unwrap_or(i64::MAX);
        self.saved = self.saved.saturating_sub(spent);
        self.is_spent = self.saved <= 0;
    }

    /// How long to wait before anything is done again; nothing for not at all.
    pub(super) fn pause(&mut self, now: Nanos) -> Option<Nanos> {
        let passed = now.since(self.at);
        let earned = u128::from(passed.0) * u128::from(self.share) / MILLION;
        if earned > 0 {
            let earned = i64::try_from(earned).unwrap_or(i64::MAX);
            self.saved = self.saved.saturating_add(earned).min(SAVED_MAX);
            self.at = now;
        }
        if !self.is_spent || self.saved >= SAVED_MIN {
            self.is_spent = false;
            return None;
        }
        let missing = u128::from(SAVED_MIN.saturating_sub(self.saved).unsigned_abs());
        let pause = missing * MILLION / u128::from(self.share) + 1;
        Some(Nanos(u64::try_from(pause).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_earned_again_first() {
        // A thousandth: 1 ms a second.
        let mut allowance = Allowance::new(1000, Nanos(0));
        assert_eq!(allowance.pause(Nanos(0)), None);
        allowance.spend(Nanos::from_millis(1));
        assert_eq!(allowance.pause(Nanos(0)), None);
        allowance.spend(Nanos::from_millis(3));
        let pause = allowance.pause(Nanos(0)).unwrap();
        assert!(
            (3_000_000_000..3_000_001_000).contains(&pause.0),
            "{pause:?}"
        );
        assert!(allowance.pause(Nanos::from_secs(2)).is_some());
        assert_eq!(allowance.pause(pause.plus(Nanos(1000))), None);
    }

    #[test]
    fn what_is_saved_has_an_end() {
        let mut allowance = Allowance::new(1000, Nanos(0));
        assert_eq!(allowance.pause(Nanos::from_secs(100_000)), None);
        allowance.spend(Nanos(SAVED_MAX as u64));
        assert!(allowance.pause(Nanos::from_secs(100_000)).is_some());
    }
}
