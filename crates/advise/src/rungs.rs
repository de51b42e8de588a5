//! The retry ladder: which request follows one that was too small, and what a first request costs
//! with all that may follow it.

use crate::settings::{Price, Settings};
use crate::smooth::Smooth;

/// What may be needed above the largest value seen.
const MARGIN: f64 = 1.05;

/// No ladder is longer; from 1 to the largest number are fewer doublings.
const STEPS_MAX: usize = 128;

/// The rule by which rungs follow one another, in amounts or in multiples of a base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rungs {
    /// A rung below this is followed by at most this.
    top: f64,
    /// The last rung.
    cap: f64,
}

impl Rungs {
    /// Above values of which the largest is `max`.
    pub(crate) fn above(max: f64, cap: f64) -> Self {
        Self {
            top: MARGIN * max,
            cap,
        }
    }

    /// The rung after `rung`; none after the last.
    pub(crate) fn next(&self, rung: f64) -> Option<f64> {
        let double = 2.0 * rung;
        let next = if rung < self.top {
            double.min(self.top)
        } else {
            double
        };
        let next = next.min(self.cap);
        (next > rung).then_some(next)
    }

    /// What `first` costs on average of everything in `smooth`, times its weight, less a constant.
    fn cost(&self, first: f64, smooth: &Smooth<'_>, weight: f64, price: Price) -> f64 {
        let (mut cost, mut rung, mut done) = (0.0, first.min(self.cap), 0.0);
        for _ in 0..STEPS_MAX {
            let (_, held) = smooth.at_most(rung);
            cost += rung * (held - done);
            let left = weight - held;
            if left <= 1e-9 * weight {
                break;
            }
            cost += (1.0 + price.times()) * rung * left;
            done = held;
            match self.next(rung) {
                Some(next) => rung = next,
                None => break,
            }
        }
        cost
    }

    /// The first request that costs least of those that leave few retries; the smaller of equals.
    pub(crate) fn first(&self, smooth: &Smooth<'_>, weight: f64, settings: &Settings) -> f64 {
        let mut best = (f64::INFINITY, 1.0);
        for candidate in smooth.candidates(settings.retries) {
            let cost = self.cost(candidate, smooth, weight, settings.price);
            if cost < best.0 {
                best = (cost, candidate);
            }
        }
        best.1
    }
}

/// The request after `request`, in whole grains.
pub(crate) fn step(request: u64, rungs: &Rungs, settings: &Settings) -> Option<u64> {
    let next = settings.request(rungs.next(request as f64)?);
    // The rung may lie within the grain that was asked for already.
    let more = request.saturating_add(settings.grain.max(1));
    let next = if next <= request {
        settings.request(more as f64)
    } else {
        next
    };
    (next > request).then_some(next)
}

/// What a run held beyond its need, in amounts times their weight.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Charge {
    /// By attempts that failed.
    pub(crate) failed: f64,
    /// By the one that did not, above what it used.
    pub(crate) idle: f64,
}

impl Charge {
    pub(crate) fn cost(&self, price: Price) -> f64 {
        (1.0 + price.times()) * self.failed + self.idle
    }

    pub(crate) fn waste(&self) -> f64 {
        self.failed + self.idle
    }
}
