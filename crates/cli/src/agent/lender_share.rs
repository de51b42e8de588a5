//! What each user may have of the lender's time, so that none keeps the others waiting. Pure.

use record::unit::Nanos;
use std::collections::HashMap;

/// Of each span one user has this at most: a quarter of a CPU.
const SPAN: Nanos = Nanos::from_secs(1);
const SHARE: Nanos = Nanos::from_millis(250);
/// Users that are remembered; beyond it all begin anew.
const USERS_MAX: usize = 4096;

/// What users had in the present span.
#[derive(Debug, Default)]
pub(super) struct Shares {
    begun: Nanos,
    had: HashMap<u32, Nanos>,
}

impl Shares {
    /// It is `now`, and these users are there: one who is alone keeps nobody waiting.
    pub(super) fn at(&mut self, now: Nanos, mut users: impl Iterator<Item = u32>) {
        let first = users.next();
        let is_alone = users.all(|user| Some(user) == first);
        if is_alone || now.since(self.begun) >= SPAN || self.had.len() > USERS_MAX {
            self.begun = now;
            self.had.clear();
        }
    }

    /// Whether a user is served now.
    pub(super) fn has_left(&self, uid: u32) -> bool {
        self.had.get(&uid).is_none_or(|had| *had < SHARE)
    }

    /// Serving a user took so long.
    pub(super) fn took(&mut self, uid: u32, time: Nanos) {
        let had = self.had.entry(uid).or_default();
        *had = had.plus(time);
    }

    /// When those who wait are served again; nothing while nobody does.
    pub(super) fn next(&self) -> Option<Nanos> {
        let waits = self.had.values().any(|had| *had >= SHARE);
        waits.then(|| self.begun.plus(SPAN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_his_share_waits_for_the_next_span_and_others_do_not() {
        let (mut shares, ms) = (Shares::default(), Nanos::from_millis);
        shares.at(ms(5000), [7, 8].into_iter());
        shares.took(7, ms(200));
        assert!(shares.has_left(7) && shares.next().is_none());
        shares.took(7, ms(60));
        assert!(!shares.has_left(7) && shares.has_left(8));
        assert_eq!(shares.next(), Some(ms(6000)));
        shares.at(ms(5900), [7, 8, 7].into_iter());
        assert!(!shares.has_left(7));
        shares.at(ms(6000), [8, 7].into_iter());
        assert!(shares.has_left(7) && shares.next().is_none());
        shares.took(7, ms(800));
        assert!(!shares.has_left(7));
        shares.at(ms(6010), [7, 7].into_iter());
        assert!(shares.has_left(7));
    }
}
