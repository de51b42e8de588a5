//! Statistics that merge by addition: moments (Pebay 2008, "Formulas for robust, one-pass parallel
//! computation of covariances and arbitrary-order statistical moments") and a sketch of quantiles
//! (Masson et al. 2019, DDSketch) in logarithmic buckets.

use rustc_hash::FxHashMap;

/// A quantile is at most this part of itself off.
pub const QUANTILE_ERROR: f64 = 0.01;

/// The bounds of a bucket are apart by this factor.
const STEP: f64 = (1.0 + QUANTILE_ERROR) / (1.0 - QUANTILE_ERROR);

/// Its logarithm.
const STEP_LN: f64 = 0.020_000_666_706_669_524;

/// Numbers nearer to 0 are counted as 0; larger ones than the other as that. So there are at most
/// 4836 buckets of either sign.
const NEAREST: f64 = 1e-12;
const FARTHEST: f64 = 1e30;

/// Count, mean and central moments of numbers, as numpy and scipy give them by default: those of a
/// population, not corrected for being a sample. One number or a million, of any offset: each is
/// right to a part in 10^9.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moments {
    count: u64,
    mean: Exact,
    /// Sums of second, third and fourth powers of what each is above the mean.
    second: f64,
    third: f64,
    fourth: f64,
}

/// A number with what rounding took from it, so that the mean of instants is not lost in their
/// offset.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Exact {
    high: f64,
    low: f64,
}

impl Exact {
    /// Sum and rounding error (Knuth's two-sum).
    fn plus(self, number: f64) -> Self {
        let high = self.high + number;
        let back = high - self.high;
        let lost = (self.high - (high - back)) + (number - back);
        let low = self.low + lost;
        let sum = high + low;
        Self {
            high: sum,
            low: low - (sum - high),
        }
    }

    fn above(self, other: Exact) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }
}

impl Moments {
    /// Of one number.
    pub fn of(number: f64) -> Self {
        Self {
            count: 1,
            mean: Exact {
                high: number,
                low: 0.0,
            },
            ..Self::default()
        }
    }

    /// Takes in a number: what merging with its own moments comes to.
    pub fn add(&mut self, number: f64) {
        if self.count == 0 {
            *self = Self::of(number);
            return;
        }
        let a = self.count as f64;
        let y = 1.0 / (a + 1.0);
        let x = a * y;
        let d = (number - self.mean.high) - self.mean.low;
        let moved = d * d * a * y;
        self.fourth += d * d * moved * (x * x - x * y + y * y) + 6.0 * d * d * y * y * self.second
            - 4.0 * d * y * self.third;
        self.third += d * moved * (x - y) - 3.0 * d * y * self.second;
        self.second += moved;
        self.mean = self.mean.plus(d * y);
        self.count = self.count.saturating_add(1);
    }

    /// Those of all numbers of both.
    pub fn merge(&mut self, other: &Moments) {
        if self.count == 0 || other.count == 0 {
            if self.count == 0 {
                *self = *other;
            }
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let n = a + b;
        let (x, y) = (a / n, b / n);
        let d = other.mean.above(self.mean);
        self.fourth += other.fourth
            + d.powi(4) * a * y * (x * x - x * y + y * y)
            + 6.0 * d * d * (x * x * other.second + y * y * self.second)
            + 4.0 * d * (x * other.third - y * self.third);
        self.third += other.third
            + d.powi(3) * a * y * (x - y)
            + 3.0 * d * (x * other.second - y * self.second);
        self.second += other.second + d * d * a * y;
        self.mean = self.mean.plus(d * y);
        self.count = self.count.saturating_add(other.count);
    }

    /// How many numbers.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; none of none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean.high)
    }

    /// Their standard deviation; none of none.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.second / self.count as f64).sqrt())
    }

    /// The third moment in standard deviations; none where all numbers are the same.
    pub fn skewness(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.second > 0.0).then(|| self.third * count.sqrt() / self.second.powf(1.5))
    }

    /// The fourth moment in standard deviations above that of a normal distribution: the **excess**
    /// kurtosis, 0 of a normal one; none where all numbers are the same.
    pub fn kurtosis_excess(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.second > 0.0).then(|| self.fourth / self.second * (count / self.second) - 3.0)
    }
}

/// What is in a bucket of a [`Sketch`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Bucket {
    count: u64,
    weight: f64,
}

impl Bucket {
    fn add(&mut self, count: u64, weight: f64) {
        self.count = self.count.saturating_add(count);
        self.weight += weight;
    }
}

/// Numbers by their size in buckets of which each is 2 % wide, with how many there are and a summed
/// weight, such as the time that each lasted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sketch {
    above: FxHashMap<i32, Bucket>,
    zero: Bucket,
    below: FxHashMap<i32, Bucket>,
    count: u64,
}

impl Sketch {
    /// Takes in `count` numbers that are all `number`, together of `weight`.
    pub fn add(&mut self, number: f64, count: u64, weight: f64) {
        let bucket = if number >= NEAREST {
            self.above.entry(index(number)).or_default()
        } else if number <= -NEAREST {
            self.below.entry(index(-number)).or_default()
        } else {
            &mut self.zero
        };
        bucket.add(count, weight);
        self.count = self.count.saturating_add(count);
    }

    /// Takes in all that another has.
    pub fn merge(&mut self, other: &Sketch) {
        for (mine, theirs) in [
            (&mut self.above, &other.above),
            (&mut self.below, &other.below),
        ] {
            for (index, bucket) in theirs {
                let entry = mine.entry(*index).or_default();
                entry.add(bucket.count, bucket.weight);
            }
        }
        self.zero.add(other.zero.count, other.zero.weight);
        self.count = self.count.saturating_add(other.count);
    }

    /// Buckets from the smallest numbers up: a number within 1 % of all in it, how many there are,
    /// and their weight.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64, f64)> + '_ {
        let told = |number: f64, bucket: &Bucket| (number, bucket.count, bucket.weight);
        let below = in_order(&self.below).into_iter().rev();
        let below = below.map(move |(index, it)| told(-middle(index), it));
        let zero = (self.zero.count > 0).then(|| told(0.0, &self.zero));
        let above = in_order(&self.above).into_iter();
        let above = above.map(move |(index, it)| told(middle(index), it));
        below.chain(zero).chain(above)
    }

    /// The number that a `share` (from 0 to 1) of them is at or below, within [`QUANTILE_ERROR`] of
    /// itself; none of none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        // So many of them; a share that is not quite a number of them is not one more.
        let rank = (share.clamp(0.0, 1.0) * self.count as f64 * (1.0 - 1e-12)).max(1.0);
        let (mut below, mut last) = (0_u64, None);
        for (number, count, _) in self.buckets() {
            below = below.saturating_add(count);
            last = Some(number);
            if below as f64 >= rank {
                break;
            }
        }
        last
    }
}

fn in_order(buckets: &FxHashMap<i32, Bucket>) -> Vec<(i32, &Bucket)> {
    let mut all: Vec<(i32, &Bucket)> = buckets.iter().map(|(index, it)| (*index, it)).collect();
    all.sort_unstable_by_key(|(index, _)| *index);
    all
}

/// The bucket of a number above 0.
fn index(number: f64) -> i32 {
    (number.min(FARTHEST).ln() / STEP_LN).ceil() as i32
}

/// What is at most 1 % from all in a bucket.
fn middle(index: i32) -> f64 {
    2.0 * STEP.powi(index) / (STEP + 1.0)
}

/// Quantiles and extremes of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Spread {
    sketch: Sketch,
    extremes: Option<(f64, f64)>,
    above_zero: Option<f64>,
}

impl Spread {
    /// Takes in a number of a weight; whether it is one: what is not finite is passed over.
    pub fn add(&mut self, number: f64, weight: f64) -> bool {
        if !number.is_finite() {
            return false;
        }
        let weight = if weight.is_finite() { weight } else { 0.0 };
        self.sketch.add(number, 1, weight);
        let above = (number > 0.0).then_some(number);
        self.widen(Some((number, number)), above);
        true
    }

    /// Takes in all numbers of another.
    pub fn merge(&mut self, other: &Spread) {
        self.sketch.merge(&other.sketch);
        self.widen(other.extremes, other.above_zero);
    }

    fn widen(&mut self, extremes: Option<(f64, f64)>, above_zero: Option<f64>) {
        self.extremes = match (self.extremes, extremes) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
        self.above_zero = match (self.above_zero, above_zero) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// The buckets.
    pub const fn sketch(&self) -> &Sketch {
        &self.sketch
    }

    /// The smallest and the largest; none of none.
    pub const fn extremes(&self) -> Option<(f64, f64)> {
        self.extremes
    }

    /// The smallest above 0; none where none is.
    pub const fn least_above_zero(&self) -> Option<f64> {
        self.above_zero
    }

    /// The number that a `share` (from 0 to 1) of them is at or below, within [`QUANTILE_ERROR`] of
    /// itself and never beyond the extremes, which are told exactly; none of none.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let (min, max) = self.extremes?;
        let within = self.sketch.quantile(share)?.clamp(min, max);
        Some(if share <= 0.0 {
            min
        } else if share >= 1.0 {
            max
        } else {
            within
        })
    }
}

/// Moments, quantiles and extremes of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    moments: Moments,
    spread: Spread,
    refused: u64,
}

impl Statistics {
    /// Takes in a number of a weight; what is not finite is only counted, as refused.
    pub fn add(&mut self, number: f64, weight: f64) {
        match self.spread.add(number, weight) {
            true => self.moments.add(number),
            false => self.refused = self.refused.saturating_add(1),
        }
    }

    /// Takes in all numbers of another.
    pub fn merge(&mut self, other: &Statistics) {
        self.moments.merge(&other.moments);
        self.spread.merge(&other.spread);
        self.refused = self.refused.saturating_add(other.refused);
    }

    /// Count, mean and higher moments.
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Quantiles and buckets.
    pub const fn spread(&self) -> &Spread {
        &self.spread
    }

    /// The buckets.
    pub const fn sketch(&self) -> &Sketch {
        self.spread.sketch()
    }

    /// The smallest and the largest; none of none.
    pub const fn extremes(&self) -> Option<(f64, f64)> {
        self.spread.extremes()
    }

    /// How many were no numbers.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// As [`Spread::quantile`].
    pub fn quantile(&self, share: f64) -> Option<f64> {
        self.spread.quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP, STEP_LN};

    #[test]
    fn the_logarithm_of_a_step_is_that() {
        assert!((STEP.ln() / STEP_LN - 1.0).abs() < 1e-14);
    }
}
