//! The values of a history as the values to come: each run stands for five, wide apart while runs
//! are few.

use crate::settings::Share;
use crate::spread::Spread;

/// Where the five values of a run lie, in widths; each is a fifth of it.
const PLACES: [f64; 5] = [-1.28, -0.52, 0.0, 0.52, 1.28];

/// From so many runs on their own spread says all.
const MANY: f64 = 30.0;

/// The spread of logarithms that is believed of runs not seen yet, as so many runs say it.
const BELIEVED: (f64, f64) = (0.25, 2.0);

/// The width is never below this.
const WIDTH_MIN: f64 = 0.01;

/// So many candidates are compared.
const CANDIDATES_MAX: usize = 400;

/// A history with each run spread out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Smooth<'a> {
    spread: &'a Spread,
    /// What a value is multiplied with for each of its five places.
    factors: [f64; 5],
}

impl<'a> Smooth<'a> {
    pub(crate) fn new(spread: &'a Spread) -> Self {
        let (count, deviation) = (spread.count().max(1.0), spread.deviation_ln());
        let (believed, runs) = BELIEVED;
        let width = if count < MANY {
            let squares = runs * believed.powi(2) + count * deviation.powi(2);
            (squares / (count + runs) / count).sqrt()
        } else {
            deviation / count.sqrt()
        };
        let width = width.max(WIDTH_MIN);
        Self {
            spread,
            factors: PLACES.map(|place| (place * width).exp()),
        }
    }

    /// How many runs.
    pub(crate) fn count(&self) -> f64 {
        self.spread.count()
    }

    /// Count and weight of what is at or below `value`, in runs.
    pub(crate) fn at_most(&self, value: f64) -> (f64, f64) {
        self.factors.iter().fold((0.0, 0.0), |sum, factor| {
            // A value times its factor is at most itself, however it was rounded.
            let (count, weight) = self.spread.at_most(value / factor * (1.0 + 1e-12));
            (sum.0 + count / 5.0, sum.1 + weight / 5.0)
        })
    }

    /// What a first request is chosen from: the values that at most a share `retries` lie above, in
    /// rising order.
    pub(crate) fn candidates(&self, retries: Share) -> Vec<f64> {
        let allowed = retries.ratio() * self.spread.count() * 5.0 * (1.0 + 1e-12);
        // By each factor the values fall: the largest of those that come first is next.
        let mut falling = self.factors.map(|factor| {
            let mut values = self.spread.descending();
            (factor, values.next(), values)
        });
        let (mut values, mut above) = (Vec::new(), 0.0);
        while above <= allowed {
            let firsts = falling.iter_mut().filter_map(|(factor, first, rest)| {
                let (value, count) = (*first)?;
                Some((value * *factor, count, first, rest))
            });
            let largest = firsts.max_by(|a, b| a.0.total_cmp(&b.0));
            let Some((value, count, first, rest)) = largest else {
                break;
            };
            *first = rest.next();
            above += count;
            values.push(value);
        }
        values.reverse();
        thin(&values)
    }
}

/// At most [`CANDIDATES_MAX`] of them, evenly, the first and the last included.
fn thin(values: &[f64]) -> Vec<f64> {
    if values.len() <= CANDIDATES_MAX {
        return values.to_vec();
    }
    let last = values.len() - 1;
    (0..CANDIDATES_MAX)
        .filter_map(|step| values.get(step * last / (CANDIDATES_MAX - 1)).copied())
        .collect()
}
