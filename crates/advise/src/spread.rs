//! The values of a history in order, with how many and how long: what rules ask.

use crate::past::Run;
use record::unit::Bytes;

/// Values seen, with their count and their time, in the order of the values. Also made of the
/// buckets of a sketch: advice does not need the single runs.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    points: Vec<Point>,
    /// Their values, close together: most questions go through these alone.
    values: Vec<f64>,
    /// Counts and times of this point and all below.
    sums: Vec<(f64, f64)>,
}

/// A value that was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    value: f64,
    count: f64,
    /// How much an amount held counts, such as its time.
    weight: f64,
    ln: f64,
    /// The size of the input, where it is known.
    input: Option<Bytes>,
}

impl Point {
    /// Values below 1 are as 1, so that all have a logarithm; times too.
    fn new(value: f64, count: f64, weight: f64) -> Self {
        let value = bounded(value);
        Self {
            value,
            count,
            weight: bounded(weight),
            ln: value.ln(),
            input: None,
        }
    }

    /// Of one run.
    fn of_run(run: &Run) -> Self {
        Self {
            input: run.input,
            ..Self::new(run.value as f64, 1.0, run.weight())
        }
    }

    fn order(&self, other: &Point) -> std::cmp::Ordering {
        let value = self.value.total_cmp(&other.value);
        let weight = self.weight.total_cmp(&other.weight);
        value.then(weight).then(self.input.cmp(&other.input))
    }
}

/// From 1 to 1e30; what is no number is 1.
fn bounded(number: f64) -> f64 {
    number.clamp(1.0, 1e30).max(1.0)
}

impl Spread {
    /// Of values with their weight, each seen once.
    pub(crate) fn of_values(values: impl Iterator<Item = (f64, f64)>) -> Self {
        Self::of_points(values.map(|(value, weight)| Point::new(value, 1.0, weight)))
    }

    pub(crate) fn of_runs<'a>(runs: impl Iterator<Item = &'a Run>) -> Self {
        Self::of_points(runs.map(Point::of_run))
    }

    /// Of the buckets of a sketch: a value for all in it, how many, and their summed time in ns.
    /// Buckets without any are passed over.
    pub fn of_buckets(buckets: impl Iterator<Item = (f64, u64, f64)>) -> Self {
        let filled = buckets.filter(|(_, count, _)| *count > 0);
        Self::of_points(filled.map(|(value, count, time)| Point::new(value, count as f64, time)))
    }

    fn of_points(points: impl Iterator<Item = Point>) -> Self {
        let mut points: Vec<Point> = points.collect();
        points.sort_unstable_by(Point::order);
        Self::of_ordered(points)
    }

    fn of_ordered(points: Vec<Point>) -> Self {
        let mut made = Self {
            values: points.iter().map(|point| point.value).collect(),
            points,
            sums: Vec::new(),
        };
        made.add_up();
        made
    }

    /// Those of its runs that have such an input.
    pub(crate) fn with_input(&self, is_wanted: impl Fn(Bytes) -> bool) -> Self {
        let points = self.points.iter();
        let wanted = points.filter(|point| point.input.is_some_and(&is_wanted));
        Self::of_ordered(wanted.copied().collect())
    }

    /// Takes in a run, and out another that was taken in before.
    pub(crate) fn exchange(&mut self, run: &Run, old: Option<&Run>) {
        let place = |points: &[Point], point: &Point| points.binary_search_by(|it| it.order(point));
        if let Some(Ok(at)) = old.map(|old| place(&self.points, &Point::of_run(old))) {
            self.points.remove(at);
            self.values.remove(at);
        }
        let point = Point::of_run(run);
        let at = place(&self.points, &point).unwrap_or_else(|at| at);
        self.points.insert(at, point);
        self.values.insert(at, point.value);
        self.add_up();
    }

    fn add_up(&mut self) {
        self.sums.clear();
        let mut sum = (0.0, 0.0);
        self.sums.extend(self.points.iter().map(|point| {
            sum = (sum.0 + point.count, sum.1 + point.weight);
            sum
        }));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> f64 {
        self.sums.last().map_or(0.0, |sum| sum.0)
    }

    /// Their summed weight.
    pub(crate) fn weight(&self) -> f64 {
        self.sums.last().map_or(0.0, |sum| sum.1)
    }

    pub(crate) fn max(&self) -> f64 {
        self.points.last().map_or(1.0, |point| point.value)
    }

    /// Count and weight of those at or below `value`.
    pub(crate) fn at_most(&self, value: f64) -> (f64, f64) {
        // On most ladders a rung is above all of them soon.
        let end = match self.values.last() {
            Some(last) if *last <= value => self.values.len(),
            _ => self.values.partition_point(|it| *it <= value),
        };
        let last = end.checked_sub(1).and_then(|at| self.sums.get(at));
        last.copied().unwrap_or_default()
    }

    /// The smallest value that this share of them does not exceed; none of none.
    pub fn quantile(&self, share: crate::settings::Share) -> Option<f64> {
        let rank = share.ratio() * self.count() * (1.0 - 1e-12);
        let at = self.sums.partition_point(|sum| sum.0 < rank);
        let point = self.points.get(at).or(self.points.last())?;
        Some(point.value)
    }

    /// The standard deviation of the logarithms.
    pub(crate) fn deviation_ln(&self) -> f64 {
        if self.points.len() < 2 {
            return 0.0;
        }
        let (points, count) = (self.points.iter(), self.count());
        let middle = points.clone().map(|it| it.count * it.ln).sum::<f64>() / count;
        let squares = points.map(|it| it.count * (it.ln - middle).powi(2));
        (squares.sum::<f64>() / count).sqrt()
    }

    /// How many points there are: of runs one each.
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// The values from the largest down, with their counts.
    pub(crate) fn descending(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().rev().map(|it| (it.value, it.count))
    }

    /// The values from the smallest up, with their counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().map(|it| (it.value, it.count))
    }
}
