//! The statistics of some attempts, resource by resource.

use super::columns::{Columns, Places};
use record::attempt::{RESOURCES, Resource};
use reduce::statistics::Statistics;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Batch, Filter};

/// Shares of attempts that quantiles are told of.
pub(crate) const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Bars of a histogram, all as wide.
pub(crate) const BARS: usize = 20;

/// Where the largest is more than so many times the smallest above 0 there are bars of the
/// logarithm, too.
const LOG_ABOVE: f64 = 100.0;

/// One resource.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) resource: &'static Resource,
    pub(crate) statistics: Statistics,
    /// How many amounts are known how.
    pub(crate) known: BTreeMap<String, u64>,
}

/// So many of the amounts are from one to the other; the last one has the largest too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) count: u64,
}

/// Statistics while attempts are read.
pub(crate) struct Reading {
    places: Places,
    lines: Vec<Line>,
}

/// Of the resources that somebody knows something about; how many attempts there were.
pub(crate) fn of(
    archive: &Archive,
    filter: &Filter,
    resources: &[&'static Resource],
    heed: &dyn Fn(u64) -> bool,
) -> Result<(u64, Vec<Line>), Error> {
    let mut columns = Columns::default();
    let mut reading = Reading::new(resources, &mut columns);
    let mut attempts = 0;
    archive.scan(&columns.names(), filter, &mut |batch, rows| {
        attempts += rows.len() as u64;
        if !heed(attempts) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            reading.add(batch, *row);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((attempts, reading.lines()))
}

impl Reading {
    /// Of these resources, with their columns among those that are read.
    pub(crate) fn new(resources: &[&'static Resource], columns: &mut Columns) -> Self {
        let mut names = vec!["used_wall".to_owned()];
        for one in resources {
            names.push(format!("used_{}", one.name));
            names.push(format!("used_{}_known", one.name));
        }
        let line = |resource: &&'static Resource| Line {
            resource,
            statistics: Statistics::default(),
            known: BTreeMap::new(),
        };
        Self {
            places: columns.add(&names),
            lines: resources.iter().map(line).collect(),
        }
    }

    pub(crate) fn add(&mut self, batch: &Batch<'_>, row: usize) {
        let row = self.places.row(batch, row);
        let seconds = row.number(0).unwrap_or(0.0) / 1e9;
        for (place, line) in self.lines.iter_mut().enumerate() {
            let Some(number) = row.number(2 * place + 1) else {
                continue;
            };
            line.statistics.add(number, seconds);
            let word = row.text(2 * place + 2).unwrap_or("claimed");
            match line.known.get_mut(word) {
                Some(count) => *count += 1,
                None => drop(line.known.insert(word.to_owned(), 1)),
            }
        }
    }

    /// Those that there is anything of.
    pub(crate) fn lines(mut self) -> Vec<Line> {
        self.lines
            .retain(|line| line.statistics.extremes().is_some());
        self.lines
    }
}

/// All resources, or those of these names.
pub(crate) fn named(names: &[String]) -> Vec<&'static Resource> {
    let is_wanted = |one: &&Resource| names.is_empty() || names.iter().any(|name| name == one.name);
    RESOURCES.iter().filter(is_wanted).collect()
}

impl Line {
    /// Bars of one width.
    pub(crate) fn histogram(&self) -> Vec<Bar> {
        let Some((min, max)) = self.statistics.extremes() else {
            return Vec::new();
        };
        let width = (max - min) / BARS as f64;
        if width <= 0.0 {
            let count = self.statistics.moments().count();
            return vec![Bar {
                from: min,
                to: max,
                count,
            }];
        }
        let bound = |place: usize| match place {
            BARS => max,
            place => min + width * place as f64,
        };
        let mut bars = bars(&bound);
        for (number, count, _) in self.statistics.sketch().buckets() {
            let place = ((number.clamp(min, max) - min) / width) as usize;
            count_in(&mut bars, place, count);
        }
        bars
    }

    /// Bars of one width in the logarithm, where one width for all would show little of the small
    /// ones; with how many numbers have none: those that are 0 or less.
    pub(crate) fn histogram_log(&self) -> Option<(u64, Vec<Bar>)> {
        let (_, max) = self.statistics.extremes()?;
        let min = self.statistics.spread().least_above_zero()?;
        if max <= min * LOG_ABOVE {
            return None;
        }
        let width = (max / min).ln() / BARS as f64;
        let bound = |place: usize| match place {
            0 => min,
            BARS => max,
            place => min * (width * place as f64).exp(),
        };
        let mut bars = bars(&bound);
        let mut without = 0;
        for (number, count, _) in self.statistics.sketch().buckets() {
            if number <= 0.0 {
                without += count;
                continue;
            }
            let place = ((number.clamp(min, max) / min).ln() / width) as usize;
            count_in(&mut bars, place, count);
        }
        Some((without, bars))
    }

    pub(crate) fn json(&self) -> Value {
        let moments = self.statistics.moments();
        let quantile = |share: &f64| {
            let value = self.statistics.quantile(*share);
            (share.to_string(), json!(value))
        };
        let quantiles: Map<String, Value> = SHARES.iter().map(quantile).collect();
        let bars = |bars: Vec<Bar>| {
            let bars = bars.into_iter();
            bars.map(|bar| json!({"from": bar.from, "to": bar.to, "count": bar.count}))
                .collect::<Vec<_>>()
        };
        let logarithmic = self
            .histogram_log()
            .map(|(without, all)| json!({"zero_or_less": without, "bars": bars(all)}));
        let extremes = self.statistics.extremes();
        json!({
            "unit": self.resource.unit,
            "count": moments.count(),
            "mean": moments.mean(),
            "sd": moments.deviation(),
            "skewness": moments.skewness(),
            "excess_kurtosis": moments.kurtosis_excess(),
            "min": extremes.map(|(min, _)| min),
            "max": extremes.map(|(_, max)| max),
            "quantiles": quantiles,
            "histogram": bars(self.histogram()),
            "histogram_log": logarithmic,
            "known": self.known,
        })
    }
}

/// Empty ones, each from a bound to the next.
fn bars(bound: &dyn Fn(usize) -> f64) -> Vec<Bar> {
    let bar = |place: usize| Bar {
        from: bound(place),
        to: bound(place + 1),
        count: 0,
    };
    (0..BARS).map(bar).collect()
}

/// What is at the upper end of all is in the last one.
fn count_in(bars: &mut [Bar], place: usize, count: u64) {
    if let Some(bar) = bars.get_mut(place.min(BARS - 1)) {
        bar.count += count;
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that meets what it did not expect fails by panicking"
    )]
    use super::*;

    fn of(numbers: &[f64]) -> Line {
        let mut line = Line {
            resource: &RESOURCES[0],
            statistics: Statistics::default(),
            known: BTreeMap::new(),
        };
        for number in numbers {
            line.statistics.add(*number, 1.0);
        }
        line
    }

    fn count(bars: &[Bar]) -> u64 {
        bars.iter().map(|bar| bar.count).sum()
    }

    #[test]
    fn amounts_that_are_far_apart_have_bars_of_the_logarithm() {
        // As many in each tenfold: one bar of the same width would have nearly all.
        let mut numbers: Vec<f64> = (0..3000)
            .map(|it| 10f64.powf(f64::from(it) / 1000.0))
            .collect();
        numbers.extend([0.0, 0.0, -4.0]);
        let line = of(&numbers);
        let plain = line.histogram();
        assert_eq!(count(&plain), 3003);
        assert!(plain[0].count > 1500, "{plain:?}");
        let (without, bars) = line.histogram_log().unwrap();
        assert_eq!((without, bars.len(), count(&bars)), (3, BARS, 3000));
        assert_eq!((bars[0].from, bars[BARS - 1].to), (1.0, numbers[2999]));
        for two in bars.windows(2) {
            assert_eq!(two[0].to, two[1].from);
        }
        let factor = (numbers[2999]).powf(1.0 / BARS as f64);
        for bar in &bars {
            assert!((bar.to / bar.from / factor - 1.0).abs() < 1e-9, "{bar:?}");
            // To the width of a bucket at either end.
            assert!((100..=200).contains(&bar.count), "{bar:?}");
        }
        let told = line.json();
        assert_eq!(told["histogram_log"]["zero_or_less"], 3);
        assert_eq!(told["histogram_log"]["bars"][19]["count"], bars[19].count);
    }

    #[test]
    fn amounts_that_are_near_have_none() {
        assert_eq!(of(&[1.0, 100.0]).histogram_log(), None);
        assert!(of(&[1.0, 101.0]).histogram_log().is_some());
        assert_eq!(of(&[0.0, 7.0]).histogram_log(), None);
        assert_eq!(of(&[-1e9, 0.0]).histogram_log(), None);
        assert_eq!(of(&[]).histogram_log(), None);
        assert_eq!(of(&[5.0]).json()["histogram_log"], Value::Null);
    }
}
