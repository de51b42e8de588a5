//! The retry ladder: which request follows one that was too small, and what a first request costs
//! with all that may follow it.

use crate::settings::{Price, Settings, Share};
use crate::smooth::Smooth;

/// What may be needed above the largest value seen.
const MARGIN: f64 = 1.05;

/// No ladder is longer; from 1 to the largest number are fewer doublings.
const STEPS_MAX: usize = 128;

/// More tasks may fail at first where all that is held, failures included, is less than this part
/// of what it is where few may: then there are peaks far apart.
const PAYS: f64 = 0.5;

/// Candidates that are looked at before the others.
const SCOUTS: usize = 16;

/// The rule by which rungs follow one another, in amounts or in multiples of a base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rungs {
    /// A rung below this is followed by this: where a few need many times what the others do, those
    /// that the first request is too little for.
    second: Option<f64>,
    /// A rung below this is followed by at most this.
    top: f64,
    /// The last rung.
    cap: f64,
}

impl Rungs {
    /// Above values of which the largest is `max`.
    pub(crate) fn above(max: f64, cap: f64) -> Self {
        Self {
            second: None,
            top: MARGIN * max,
            cap,
        }
    }

    /// With a second rung, if there is one.
    pub(crate) const fn with(self, second: Option<f64>) -> Self {
        Self { second, ..self }
    }

    /// The rung after `rung`; none after the last.
    pub(crate) fn next(&self, rung: f64) -> Option<f64> {
        let double = 2.0 * rung;
        let next = match self.second {
            Some(second) if rung < second => second,
            _ if rung < self.top => double.min(self.top),
            _ => double,
        };
        let next = next.min(self.cap);
        (next > rung).then_some(next)
    }

    /// What `first` costs on average of everything in `smooth` but what is `done` already, times
    /// its weight, less a constant; infinite once that is more than `enough`.
    fn cost(
        &self,
        first: f64,
        smooth: &Smooth<'_>,
        (mut done, weight, price): (f64, f64, Price),
        enough: f64,
    ) -> f64 {
        let (mut cost, mut rung) = (0.0, first.min(self.cap));
        for _ in 0..STEPS_MAX {
            let (_, held) = smooth.at_most(rung);
            cost += rung * (held - done);
            let left = weight - held;
            if left <= 1e-9 * weight {
                break;
            }
            cost += (1.0 + price.times()) * rung * left;
            if cost > enough {
                return f64::INFINITY;
            }
            done = held;
            match self.next(rung) {
                Some(next) => rung = next,
                None => break,
            }
        }
        cost
    }

    /// The first request that costs least of those that leave few retries; of those that leave more
    /// where that costs less by far; the smaller of equals. Then what follows it, where that is not
    /// twice as much.
    pub(crate) fn first(
        &self,
        smooth: &Smooth<'_>,
        weight: f64,
        settings: &Settings,
    ) -> (f64, Option<f64>) {
        let price = settings.price;
        let few = self.cheapest(smooth, (weight, price), settings.retries, f64::INFINITY);
        let enough = PAYS * few.0;
        let most = settings.retries_at_peaks;
        let most = most.filter(|most| self.may_cost(enough, smooth, weight, *most));
        let many = most.map(|most| self.cheapest(smooth, (weight, price), most, enough));
        match many.filter(|many| many.0 < enough) {
            Some(many) => (many.1, self.second(many.1, smooth, weight, settings)),
            None => (few.1, None),
        }
    }

    /// Whether any request that leaves at most such a share of retries may cost as little: all of
    /// it is held at least, so those that cost less are small, and of few of a kind enough are.
    fn may_cost(&self, enough: f64, smooth: &Smooth<'_>, weight: f64, retries: Share) -> bool {
        let largest = enough / weight * (1.0 + 1e-8);
        let (held, _) = smooth.at_most(largest);
        let least = (1.0 - retries.ratio()) * smooth.count();
        largest >= self.cap || held >= least * (1.0 - 1e-8)
    }

    /// What costs least of all that `first` is too little for, if that is less than to double it.
    fn second(
        &self,
        first: f64,
        smooth: &Smooth<'_>,
        weight: f64,
        settings: &Settings,
    ) -> Option<f64> {
        let (_, done) = smooth.at_most(first);
        let cost = |next| self.cost(next, smooth, (done, weight, settings.price), f64::INFINITY);
        let doubled = cost(self.next(first)?);
        let candidates = smooth.candidates(settings.retries).into_iter();
        let costs = candidates
            .filter(|candidate| *candidate > first)
            .map(|candidate| (cost(candidate), candidate));
        let best = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 < doubled).then_some(best.1)
    }

    /// The cost of the first request that costs least of those that leave at most such a share of
    /// retries, and that request; infinite where that is more than `enough`.
    fn cheapest(
        &self,
        smooth: &Smooth<'_>,
        (weight, price): (f64, Price),
        retries: Share,
        enough: f64,
    ) -> (f64, f64) {
        let candidates = smooth.candidates(retries);
        let cost = |candidate, enough| self.cost(candidate, smooth, (0.0, weight, price), enough);
        // A few first: most others need not be added up to the end then.
        let scouts = candidates
            .iter()
            .step_by((candidates.len() / SCOUTS).max(1));
        let enough = scouts.fold(enough, |enough, candidate| {
            enough.min(cost(*candidate, enough))
        });
        let mut best = (f64::INFINITY, 1.0);
        for candidate in candidates {
            let enough = enough.min(best.0);
            // All of it is held at least, however little fails; those behind it cost more.
            if candidate.min(self.cap) * weight * (1.0 - 1e-8) > enough {
                break;
            }
            let cost = cost(candidate, enough);
            if cost < best.0 {
                best = (cost, candidate);
            }
        }
        best
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Share;
    use crate::spread::Spread;

    fn ladder(first: f64, rungs: Rungs) -> Vec<f64> {
        let next = |rung: &f64| rungs.next(*rung);
        std::iter::successors(Some(first), next).take(6).collect()
    }

    #[test]
    fn a_ladder_doubles_halts_above_the_largest_seen_and_doubles_on() {
        let rungs = Rungs::above(1000.0, f64::INFINITY);
        assert_eq!(
            ladder(300.0, rungs),
            [300.0, 600.0, 1050.0, 2100.0, 4200.0, 8400.0]
        );
        let capped = Rungs::above(1000.0, 1500.0);
        assert_eq!(ladder(600.0, capped), [600.0, 1050.0, 1500.0]);
    }

    #[test]
    fn a_step_asks_for_a_further_grain_at_least() {
        let settings = Settings::new(64);
        let rungs = Rungs::above(120.0, f64::INFINITY);
        assert_eq!(step(64, &rungs, &settings), Some(128));
        // 1.05 x 120 / (1 - 10^-10) is no further grain.
        let just = Settings::new(126);
        let rungs_just = Rungs::above(120.0 * (1.0 + 1e-10), f64::INFINITY);
        assert_eq!(step(126, &rungs_just, &just), Some(252));
        assert_eq!(step(128, &rungs, &settings), Some(256));
        let capped = Settings {
            node: Some(150),
            ..settings
        };
        assert_eq!(step(128, &Rungs::above(120.0, 150.0), &capped), Some(150));
        assert_eq!(step(150, &Rungs::above(120.0, 150.0), &capped), None);
        assert_eq!(step(u64::MAX, &rungs, &settings), None);
    }

    /// The points of the rule written out, each first request charged on each.
    fn cheapest(values: &[(f64, f64)], max: f64) -> f64 {
        let count = values.len() as f64;
        let ln: Vec<f64> = values.iter().map(|run| run.0.ln()).collect();
        let mean = ln.iter().sum::<f64>() / count;
        let variance = ln.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
        let width = if count < 30.0 {
            ((2.0 * 0.0625 + count * variance) / (count + 2.0)).sqrt() / count.sqrt()
        } else {
            (variance.sqrt() / count.sqrt()).max(0.01)
        };
        let places = [-1.28, -0.52, 0.0, 0.52, 1.28];
        let points: Vec<(f64, f64)> = values
            .iter()
            .flat_map(|(v, t)| places.map(|z| (v * (z * width.max(0.01)).exp(), t / 5.0)))
            .collect();
        let rungs = Rungs::above(max, f64::INFINITY);
        let cost = |first: f64| -> f64 {
            let each = points.iter().map(|(v, t)| {
                let (mut rung, mut cost) = (first, 0.0);
                while rung < *v {
                    cost += 2.0 * rung * t;
                    rung = rungs.next(rung).unwrap();
                }
                cost + (rung - v) * t
            });
            each.sum()
        };
        let share = |first: f64| {
            let above = points.iter().filter(|point| point.0 > first).count();
            above as f64 / points.len() as f64
        };
        let allowed = points.iter().map(|it| it.0).filter(|a| share(*a) <= 0.05);
        allowed
            .min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
            .unwrap()
    }

    #[test]
    fn the_first_request_is_the_cheapest_of_those_allowed() {
        for count in [1_u32, 2, 7, 29, 30, 80] {
            let run = |index: u32| {
                let value = 1000.0 + f64::from(index * 7919 % 1009) * f64::from(index % 7);
                (value, 1.0 + f64::from(index * 31 % 17))
            };
            let values: Vec<(f64, f64)> = (0..count).map(run).collect();
            let spread = Spread::of_values(values.iter().copied());
            let rungs = Rungs::above(spread.max(), f64::INFINITY);
            let settings = Settings {
                retries: Share::new(0.05).unwrap(),
                ..Settings::new(1)
            };
            let (first, _) = rungs.first(&Smooth::new(&spread), spread.weight(), &settings);
            let truth = cheapest(&values, spread.max());
            assert!(
                (first / truth - 1.0).abs() < 1e-9,
                "{count}: {first} {truth}"
            );
        }
    }
}
