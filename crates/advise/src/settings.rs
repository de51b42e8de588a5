//! What advice may cost: how many tasks may fail at first, what a failure costs, how far a request
//! may go.

use std::fmt;

/// A part of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

/// A number that cannot be what it is given for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Error {
    /// A share is a number from 0 to 1, both included.
    Share(f64),
    /// A price is a number from 0 to [`Price::MAX`].
    Price(f64),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Share(number) => write!(f, "{number} is no share from 0 to 1"),
            Error::Price(number) => {
                write!(f, "{number} is no price from 0 to {}", Price::MAX)
            }
        }
    }
}

impl std::error::Error for Error {}

impl Share {
    /// All of it.
    pub const ALL: Share = Share(1.0);

    /// `share` as a part of 1.
    ///
    /// # Errors
    /// When it is no number from 0 to 1.
    pub fn new(share: f64) -> Result<Self, Error> {
        if (0.0..=1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err(Error::Share(share))
        }
    }

    /// `part` of `whole`; nothing where the whole is nothing.
    pub(crate) fn of(part: f64, whole: f64) -> Self {
        let share = part / whole;
        Self(if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.0
        })
    }

    /// As a number from 0 to 1.
    pub const fn ratio(self) -> f64 {
        self.0
    }
}

/// What a failed attempt costs on top of what it held in vain, as a multiple of that.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Price(f64);

impl Price {
    /// The largest price: above it only the failures count.
    pub const MAX: f64 = 1e6;

    /// `times` what was held in vain.
    ///
    /// # Errors
    /// When it is no number from 0 to [`Price::MAX`].
    pub fn new(times: f64) -> Result<Self, Error> {
        if (0.0..=Self::MAX).contains(&times) {
            Ok(Self(times))
        } else {
            Err(Error::Price(times))
        }
    }

    /// As a multiple.
    pub const fn times(self) -> f64 {
        self.0
    }
}

/// How advice on one resource is given. Amounts are in the unit of the resource, cores in
/// thousandths as [`record::quantity::parse`] reads them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// At most this share of the attempts may need a second one (`q`).
    pub retries: Share,
    /// At most this share where that halves what is held in all: where a few of such tasks need
    /// many times what the others do. Nothing where the share above is never to be passed.
    pub retries_at_peaks: Option<Share>,
    /// What a failed attempt costs beside what it held for its whole time.
    pub price: Price,
    /// Requests are whole multiples of this; 0 is as 1.
    pub grain: u64,
    /// No request goes above what was asked for with `--max`.
    pub max: Option<u64>,
    /// No request goes above what a machine has.
    pub node: Option<u64>,
}

impl Settings {
    /// The defaults with requests in multiples of `grain`: at most 5 % retries, 20 % where that
    /// halves what is held; a failure at twice what it held.
    pub const fn new(grain: u64) -> Self {
        Self {
            retries: Share(0.05),
            retries_at_peaks: Some(Share(0.2)),
            price: Price(1.0),
            grain,
            max: None,
            node: None,
        }
    }

    /// Nothing goes above this.
    pub fn cap(&self) -> Option<u64> {
        self.max.into_iter().chain(self.node).min()
    }

    /// The smallest request that holds `amount`: a multiple of the grain, within the cap, and never
    /// nothing. What is no number is nothing.
    pub(crate) fn request(&self, amount: f64) -> u64 {
        let grain = self.grain.max(1);
        // Such as 3 x 1.1 / 1.1: a part in 10^9 is no further grain. `as` ends at the bounds.
        let grains = (amount / grain as f64 * (1.0 - 1e-9)).ceil() as u64;
        let request = grains.max(1).saturating_mul(grain);
        self.cap().map_or(request, |cap| request.min(cap.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_grains_within_the_cap() {
        let mut settings = Settings::new(64);
        let requests = [0.0, 1.0, 64.0, 64.000_000_001, 65.0].map(|it| settings.request(it));
        assert_eq!(requests, [64, 64, 64, 64, 128]);
        assert_eq!(settings.request(f64::INFINITY), u64::MAX);
        assert_eq!(settings.request(f64::NAN), 64);
        assert_eq!(settings.request(-5.0), 64);
        settings.max = Some(1000);
        settings.node = Some(100);
        assert_eq!(settings.request(f64::INFINITY), 100);
        settings.max = Some(0);
        assert_eq!(settings.request(7.0), 1);
    }

    #[test]
    fn what_is_no_share_or_price_is_refused() {
        for number in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Share::new(number).is_err());
        }
        assert!(Price::new(f64::NAN).is_err());
        assert!(Price::new(-1.0).is_err());
        assert_eq!(Price::new(0.5).map(Price::times), Ok(0.5));
        let told = Share::new(5.0).unwrap_err().to_string();
        assert_eq!(told, "5 is no share from 0 to 1");
    }
}
