//! The statistics of some attempts, resource by resource.

use record::attempt::{RESOURCES, Resource};
use reduce::statistics::Statistics;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter};

/// Shares of attempts that quantiles are told of.
pub(crate) const SHARES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];

/// Bars of a histogram, all as wide.
pub(crate) const BARS: usize = 20;

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

/// Of the resources that somebody knows something about; how many attempts there were.
pub(crate) fn of(
    archive: &Archive,
    filter: &Filter,
    resources: &[&'static Resource],
    heed: &dyn Fn(u64) -> bool,
) -> Result<(u64, Vec<Line>), Error> {
    let amount = resources.iter().map(|one| format!("used_{}", one.name));
    let known = resources
        .iter()
        .map(|one| format!("used_{}_known", one.name));
    let mut names: Vec<String> = amount.chain(known).collect();
    names.push("used_wall".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let wall = names.len() - 1;
    let mut lines: Vec<Line> = resources
        .iter()
        .map(|resource| Line {
            resource,
            statistics: Statistics::default(),
            known: BTreeMap::new(),
        })
        .collect();
    let mut attempts = 0;
    archive.scan(&names, filter, &mut |batch, rows| {
        attempts += rows.len() as u64;
        if !heed(attempts) {
            return Err(Error::Interrupted);
        }
        for (place, line) in lines.iter_mut().enumerate() {
            // One after the other: a category has few words for it.
            let mut counts = [("", 0_u64); 6];
            for row in rows {
                let Some(number) = batch.number(place, *row) else {
                    continue;
                };
                let seconds = batch.number(wall, *row).unwrap_or(0.0) / 1e9;
                line.statistics.add(number, seconds);
                let word = batch
                    .text(resources.len() + place, *row)
                    .unwrap_or("claimed");
                let slot = counts
                    .iter_mut()
                    .find(|(one, _)| *one == word || one.is_empty());
                if let Some(slot) = slot {
                    *slot = (word, slot.1 + 1);
                }
            }
            for (word, count) in counts.iter().filter(|(_, count)| *count > 0) {
                *line.known.entry((*word).to_owned()).or_default() += count;
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    lines.retain(|line| line.statistics.extremes().is_some());
    Ok((attempts, lines))
}

/// All resources, or those of these names.
pub(crate) fn named(names: &[String]) -> Vec<&'static Resource> {
    let is_wanted = |one: &&Resource| names.is_empty() || names.iter().any(|name| name == one.name);
    RESOURCES.iter().filter(is_wanted).collect()
}

impl Line {
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
        let bar = |place: usize| Bar {
            from: min + width * place as f64,
            to: min + width * (place + 1) as f64,
            count: 0,
        };
        let mut bars: Vec<Bar> = (0..BARS).map(bar).collect();
        for (number, count, _) in self.statistics.sketch().buckets() {
            let place = ((number.clamp(min, max) - min) / width) as usize;
            if let Some(bar) = bars.get_mut(place.min(BARS - 1)) {
                bar.count += count;
            }
        }
        bars
    }

    pub(crate) fn json(&self) -> Value {
        let moments = self.statistics.moments();
        let quantile = |share: &f64| {
            let value = self.statistics.quantile(*share);
            (share.to_string(), json!(value))
        };
        let quantiles: Map<String, Value> = SHARES.iter().map(quantile).collect();
        let bars = self.histogram();
        let bars = bars
            .iter()
            .map(|bar| json!({"from": bar.from, "to": bar.to, "count": bar.count}));
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
            "histogram": bars.collect::<Vec<_>>(),
            "known": self.known,
        })
    }
}
