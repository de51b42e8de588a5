//! A line through values by the size of the input: Theil and Sen's, which a few odd runs do not
//! turn (Sen 1968, "Estimates of the regression coefficient based on Kendall's tau").

/// Fewest runs with an input that a line is drawn through.
pub(crate) const RUNS_MIN: usize = 5;

/// Inputs that vary less than this say nothing.
const VARYING: f64 = 0.05;

/// The slope is the median of those between so many runs.
const POINTS_MAX: usize = 120;

/// What a value is expected to be, by its input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// What a byte of input adds.
    pub(crate) slope: f64,
    /// What is there without any.
    pub(crate) start: f64,
    /// Nothing is expected to be less.
    floor: f64,
}

/// Why there is no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLine {
    /// Fewer than five runs have a known input.
    Few,
    /// Their inputs are all about as large.
    Alike,
    /// Values do not grow with the input.
    Flat,
}

impl Line {
    /// Through runs of (input, value, weight), which all count alike here.
    pub(crate) fn through(runs: &[(f64, f64, f64)]) -> Result<Self, NoLine> {
        if runs.len() < RUNS_MIN {
            return Err(NoLine::Few);
        }
        let smallest =
            |of: fn(&(f64, f64, f64)) -> f64| runs.iter().map(of).fold(f64::MAX, f64::min);
        let (least, most) = (smallest(|run| run.0), -smallest(|run| -run.0));
        if most - least <= VARYING * most {
            return Err(NoLine::Alike);
        }
        let slope = slope(runs).filter(|slope| *slope > 0.0 && slope.is_finite());
        let slope = slope.ok_or(NoLine::Flat)?;
        let mut starts: Vec<f64> = runs.iter().map(|(x, v, _)| v - slope * x).collect();
        let start = median(&mut starts).ok_or(NoLine::Few)?;
        Ok(Self {
            slope,
            start,
            floor: (0.1 * smallest(|run| run.1)).max(1.0),
        })
    }

    /// What an input of `bytes` is expected to need; at least 1.
    pub(crate) fn base(&self, bytes: f64) -> f64 {
        (self.slope * bytes + self.start).clamp(self.floor, 1e30)
    }
}

/// The median slope between any two runs of different inputs.
fn slope(runs: &[(f64, f64, f64)]) -> Option<f64> {
    let some = runs.len().min(POINTS_MAX);
    let points: Vec<(f64, f64, f64)> = (0..some)
        .filter_map(|step| runs.get(step * runs.len() / some).copied())
        .collect();
    let mut slopes = Vec::with_capacity(some * some / 2);
    for (index, (x, v, _)) in points.iter().enumerate() {
        let later = points.iter().skip(index + 1);
        slopes.extend(
            later
                .filter(|it| it.0 != *x)
                .map(|it| (it.1 - v) / (it.0 - x)),
        );
    }
    median(&mut slopes)
}

/// The middle of `values`, the mean of two; none of none.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, middle, _) = if values.is_empty() {
        return None;
    } else {
        values.select_nth_unstable_by(half, f64::total_cmp)
    };
    if odd {
        return Some(*middle);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(f64::midpoint(lower, *middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_odd_runs_do_not_turn_the_line() {
        let odd = |x: u32| x % 5 == 4;
        let value = |x: u32| {
            if odd(x) {
                1e6
            } else {
                100.0 + 3.0 * f64::from(x)
            }
        };
        let runs: Vec<(f64, f64, f64)> = (0..200).map(|x| (f64::from(x), value(x), 1.0)).collect();
        let line = Line::through(&runs).unwrap();
        assert!((line.slope - 3.0).abs() < 0.1, "{line:?}");
        assert!((line.base(1000.0) - 3100.0).abs() < 100.0, "{line:?}");
    }

    #[test]
    fn without_a_line_there_is_a_reason() {
        let runs = |of: fn(f64) -> (f64, f64)| -> Vec<(f64, f64, f64)> {
            let runs = (1..10).map(|x| of(f64::from(x)));
            runs.map(|(input, value)| (input, value, 1.0)).collect()
        };
        let through = |of| Line::through(&runs(of)).unwrap_err();
        assert_eq!(Line::through(&[(1.0, 1.0, 1.0); 4]), Err(NoLine::Few));
        assert_eq!(through(|x| (100.0 + 0.1 * x, x)), NoLine::Alike);
        assert_eq!(through(|x| (x, 10.0 - x)), NoLine::Flat);
        assert_eq!(through(|x| (x, 10.0)), NoLine::Flat);
    }

    #[test]
    fn the_base_is_never_less_than_a_tenth_of_the_least() {
        let runs: Vec<(f64, f64, f64)> = (10..20)
            .map(|x| (f64::from(x), f64::from(x - 9), 1.0))
            .collect();
        let line = Line::through(&runs).unwrap();
        assert_eq!(line.base(0.0), 1.0);
        assert_eq!(line.base(f64::INFINITY), 1e30);
    }

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0, 10.0]), Some(2.5));
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut []), None);
    }
}
