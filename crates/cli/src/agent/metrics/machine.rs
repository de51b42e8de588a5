//! What the machine and the agent tell of themselves, as the last readings have it.

use record::metric::{Kind, Metric, Scope};
use record::unit::Nanos;
use record::value::Number;
use std::collections::{BTreeMap, HashMap};
use store::openmetrics::{self, Page, Type};

/// Values that are kept, at most.
const VALUES_MAX: usize = 1 << 16;
/// What is not read each time stays so long: some sources are due every 30 s.
const STAYS: Nanos = Nanos::from_secs(90);
/// Or as long as so many readings.
const STAYS_READINGS: u64 = 3;

/// The values by the place of their metric, and by instance.
#[derive(Debug)]
pub(super) struct Machine {
    metrics: Vec<Metric>,
    places: HashMap<&'static str, usize>,
    values: BTreeMap<(usize, Vec<u8>), (i64, Nanos)>,
    /// The last readings, the latest first.
    readings: [Nanos; STAYS_READINGS as usize],
    /// Rows that did not fit.
    pub(super) left_out: u64,
}

impl Default for Machine {
    fn default() -> Self {
        let tables = crate::cmd::metrics::tables().into_iter();
        let metrics: Vec<Metric> = tables
            .flat_map(|(_, metrics)| metrics)
            .filter(|metric| metric.scope == Scope::Node)
            .collect();
        let places = metrics.iter().enumerate();
        Self {
            places: places.map(|(place, one)| (one.name, place)).collect(),
            metrics,
            values: BTreeMap::new(),
            readings: [Nanos(0); STAYS_READINGS as usize],
            left_out: 0,
        }
    }
}

impl Machine {
    pub(super) fn row(&mut self, metric: &[u8], instance: &[u8], value: i64, at: Nanos) {
        let name = std::str::from_utf8(metric).ok();
        let Some(place) = name.and_then(|name| self.places.get(name)) else {
            return;
        };
        let key = (*place, instance.to_vec());
        if self.values.len() >= VALUES_MAX && !self.values.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        self.values.insert(key, (value, at));
    }

    /// A reading is over: what has not been told for long is not there any more.
    pub(super) fn settle(&mut self, at: Nanos) {
        self.readings.rotate_right(1);
        if let Some(first) = self.readings.first_mut() {
            *first = at;
        }
        let oldest = self.readings.last().copied().unwrap_or_default();
        self.values
            .retain(|_, (_, told)| *told >= oldest || at.since(*told) < STAYS);
    }

    /// The families of the machine and of the agent.
    pub(super) fn put(&self, page: &mut Page) {
        let mut last = None;
        for ((place, instance), (value, _)) in &self.values {
            let Some(metric) = self.metrics.get(*place) else {
                continue;
            };
            if last != Some(place) {
                let kind = match metric.kind {
                    Kind::Counter => Type::Counter,
                    Kind::Gauge | Kind::Event => Type::Gauge,
                };
                let name = openmetrics::name("plimsoll_", metric.name, metric.unit);
                page.family(&name, kind, metric.unit, metric.doc);
                last = Some(place);
            }
            let part = super::accounts::label(instance);
            let labels = match part.is_empty() {
                true => String::new(),
                false => openmetrics::labels([("part", part.as_str())]),
            };
            let value = match u64::try_from(*value) {
                Ok(value) => Number::Whole(value),
                Err(_) => Number::Real(*value as f64),
            };
            page.sample(&labels, value);
        }
    }
}
