//! A first request with what follows it, by each rule.

use crate::line::{Line, NoLine};
use crate::rungs::{Charge, Rungs, step};
use crate::settings::{Settings, Share};
use crate::smooth::Smooth;
use crate::spread::Spread;

/// A ratio of 1 as a value of a spread, which takes what is below 1 as 1.
const RATIO_ONE: f64 = 1e6;

/// A line by an input is not believed beyond so many times the largest input seen.
const BEYOND: f64 = 2.0;

/// A first request with the rungs that follow it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Plan {
    pub(crate) first: u64,
    pub(crate) rungs: Rungs,
    /// How many attempts are expected to need a second.
    pub(crate) retries: Share,
}

fn cap(settings: &Settings) -> f64 {
    settings.cap().map_or(f64::INFINITY, |cap| cap as f64)
}

impl Plan {
    /// The cheapest for values as in `spread`; none of none.
    pub(crate) fn of(spread: &Spread, settings: &Settings) -> Option<Self> {
        if spread.is_empty() {
            return None;
        }
        let rungs = Rungs::above(spread.max(), cap(settings));
        let smooth = Smooth::new(spread);
        let (first, second) = rungs.first(&smooth, spread.weight(), settings);
        let first = settings.request(first);
        let (held, _) = smooth.at_most(first as f64);
        Some(Self {
            first,
            rungs: rungs.with(second),
            retries: Share::of(spread.count() - held, spread.count()),
        })
    }

    /// What is asked for however many tasks fail, doubled where they do.
    pub(crate) fn doubling(first: u64, settings: &Settings) -> Self {
        Self {
            first,
            rungs: Rungs::above(0.0, cap(settings)),
            retries: Share::of(0.0, 1.0),
        }
    }

    /// What to ask for after `failed` was too little; none where no more may be asked for.
    pub(crate) fn after(&self, failed: u64, settings: &Settings) -> Option<u64> {
        if failed < self.first {
            return Some(self.first);
        }
        step(failed, &self.rungs, settings)
    }

    /// What a run of `value` that counts `weight` costs by it. A run that the last rung does not
    /// hold costs only its failures.
    pub(crate) fn charge(&self, settings: &Settings, value: f64, weight: f64) -> Charge {
        let mut charge = Charge::default();
        let mut rung = Some(self.first);
        while let Some(request) = rung {
            if request as f64 >= value {
                charge.idle += (request as f64 - value) * weight;
                break;
            }
            charge.failed += request as f64 * weight;
            rung = step(request, &self.rungs, settings);
        }
        charge
    }
}

/// A line by the input, and the cheapest first request as a multiple of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fitted {
    line: Line,
    first: f64,
    second: Option<f64>,
    /// The largest value as a multiple of what its input made expected.
    max: f64,
    input_max: f64,
    retries: Share,
}

impl Fitted {
    /// Through runs of (input, value, weight).
    pub(crate) fn through(runs: &[(f64, f64, f64)], settings: &Settings) -> Result<Self, NoLine> {
        let line = Line::through(runs)?;
        let ratios = runs.iter().map(|(input, value, weight)| {
            let base = line.base(*input);
            (value / base * RATIO_ONE, weight * base)
        });
        let spread = Spread::of_values(ratios);
        let (rungs, smooth) = (
            Rungs::above(spread.max(), f64::INFINITY),
            Smooth::new(&spread),
        );
        let (first, second) = rungs.first(&smooth, spread.weight(), settings);
        let (held, _) = smooth.at_most(first);
        Ok(Self {
            line,
            first: first / RATIO_ONE,
            second: second.map(|second| second / RATIO_ONE),
            max: spread.max() / RATIO_ONE,
            input_max: runs.iter().map(|run| run.0).fold(0.0, f64::max),
            retries: Share::of(spread.count() - held, spread.count()),
        })
    }

    /// For a task with an input of so many bytes.
    pub(crate) fn plan(&self, input: f64, settings: &Settings) -> Plan {
        let base = self.line.base(input.min(BEYOND * self.input_max));
        Plan {
            first: settings.request(self.first * base),
            rungs: Rungs::above(self.max * base, cap(settings))
                .with(self.second.map(|second| second * base)),
            retries: self.retries,
        }
    }
}
