//! Axes: from values to pixels, and the round values that are marked.

use record::quantity::show_bytes;

/// From a value to a place, and where an axis ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// The value at [`Scale::low`].
    pub(super) from: f64,
    /// The value at [`Scale::high`].
    pub(super) to: f64,
    /// The place of the smallest value.
    pub(super) low: f64,
    /// The place of the largest.
    pub(super) high: f64,
}

impl Scale {
    /// The place of a value; what is beyond an end is at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = (value - self.from) / (self.to - self.from);
        self.low + part.clamp(0.0, 1.0) * (self.high - self.low)
    }
}

/// What is marked: a value and its words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) words: String,
}

/// Room above the largest value, in parts of it.
const HEADROOM: f64 = 1.06;

/// Where an axis for values up to this one ends; never at nothing.
pub(super) fn top(largest: f64, least: f64) -> f64 {
    largest.max(least) * HEADROOM
}

/// The step between marks of sizes, at most so many of them: a power of two.
pub(super) fn size_step(span: f64, most: usize) -> f64 {
    let mut step = 1.0;
    while span / step > most.max(1) as f64 {
        step *= 2.0;
    }
    step
}

/// Marks of sizes, so far apart.
pub(super) fn sizes(to: f64, step: f64, unit: &str) -> Vec<Tick> {
    each(step, to, |value| {
        format!("{}{unit}", show_bytes(value as u64))
    })
}

/// Marks of plain numbers, at most so many above zero: steps of 1, 2 and 5.
pub(super) fn numbers(to: f64, most: usize) -> Vec<Tick> {
    let mut power = -3;
    let step = loop {
        let scale = 10f64.powi(power);
        let fits = |one: &&f64| to / (**one * scale) <= most.max(1) as f64;
        if let Some(one) = [1.0, 2.0, 5.0].iter().find(fits) {
            break one * scale;
        }
        power += 1;
    };
    let digits = usize::try_from(-power).unwrap_or(0);
    each(step, to, |value| format!("{value:.digits$}"))
}

fn each(step: f64, to: f64, words: impl Fn(f64) -> String) -> Vec<Tick> {
    let count = (to / step).floor() as u32;
    let tick = |value| Tick {
        value,
        words: words(value),
    };
    (0..=count).map(|n| tick(f64::from(n) * step)).collect()
}

/// Steps of time: how long one is in its unit, that unit in nanoseconds and its name.
const STEPS: &[(&[f64], f64, &str)] = &[
    (
        &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0],
        1e6,
        "ms",
    ),
    (&[1.0, 2.0, 5.0, 10.0, 20.0, 30.0], 1e9, "s"),
    (&[1.0, 2.0, 5.0, 10.0, 20.0, 30.0], 6e10, "min"),
    (&[1.0, 2.0, 3.0, 6.0, 12.0], 3.6e12, "h"),
    (
        &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0],
        8.64e13,
        "d",
    ),
];

/// Marks of time from one to another, nanoseconds, at most so many, and their unit.
pub(super) fn times(from: f64, to: f64, most: usize) -> (Vec<Tick>, &'static str) {
    let all = STEPS
        .iter()
        .flat_map(|(steps, unit, name)| steps.iter().map(move |step| (step, unit, name)));
    let fits = |(step, unit, _): &(&f64, &f64, _)| (to - from) / (*step * *unit) <= most as f64;
    let mut all = all.skip_while(|one| !fits(one));
    let (step, unit, name) = all.next().unwrap_or((&1000.0, &8.64e13, &"d"));
    let whole = step * unit;
    let (first, last) = ((from / whole).ceil() as i64, (to / whole).floor() as i64);
    let tick = |n: i64| Tick {
        value: n as f64 * whole,
        words: format!("{:.0}", n as f64 * step),
    };
    ((first..=last).map(tick).collect(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.words.as_str()).collect()
    }

    #[test]
    fn marks_are_round() {
        let gib = 1_073_741_824.0;
        let marked = sizes(3.2 * gib, size_step(3.2 * gib, 4), "");
        assert_eq!(words(&marked), ["0 B", "1 GiB", "2 GiB", "3 GiB"]);
        let marked = sizes(1.8 * gib, size_step(1.8 * gib, 4), "/s");
        assert_eq!(
            words(&marked),
            ["0 B/s", "512 MiB/s", "1 GiB/s", "1.5 GiB/s"]
        );
        assert_eq!(words(&numbers(2.1, 3)), ["0", "1", "2"]);
        assert_eq!(words(&numbers(1.06, 3)), ["0.0", "0.5", "1.0"]);
        assert_eq!(words(&numbers(66.0, 4)), ["0", "20", "40", "60"]);
        let (ticks, unit) = times(0.0, 119e9, 8);
        assert_eq!(
            (words(&ticks), unit),
            (vec!["0", "20", "40", "60", "80", "100"], "s")
        );
        let (ticks, unit) = times(3.7e12, 9.1e12, 4);
        assert_eq!((words(&ticks), unit), (vec!["90", "120", "150"], "min"));
        let (ticks, unit) = times(0.0, 50e6, 10);
        assert_eq!((ticks.len(), unit), (11, "ms"));
    }

    #[test]
    fn a_value_has_its_place() {
        let scale = Scale {
            from: 0.0,
            to: 8.0,
            low: 200.0,
            high: 100.0,
        };
        assert_eq!(
            [0.0, 2.0, 8.0, 9.0].map(|at| scale.place(at)),
            [200.0, 175.0, 100.0, 100.0]
        );
    }
}
