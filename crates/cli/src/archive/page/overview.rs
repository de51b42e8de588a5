//! `api/overview`: all sets and categories.

use super::{Asked, millis, number};
use crate::archive::overview::{COLUMNS, GIB, HOUR, Line};
use anyhow::Result;
use record::attempt::RESOURCES;
use reduce::statistics::Sketch;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use store::archive::Batch;

/// Sets, and categories, that are told of at most.
const LINES_MAX: usize = 5000;

/// What is looked at behind [`COLUMNS`].
const MORE: [&str; 2] = ["used_cores", "requested_memory"];

/// As they are in the archive, in the order of the answer.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) sets: Vec<String>,
    pub(crate) categories: Vec<String>,
}

/// Amounts of one resource.
#[derive(Default)]
struct Amounts {
    sketch: Sketch,
    max: Option<f64>,
}

#[derive(Default)]
struct Summary {
    line: Line,
    cancelled: u64,
    knows_cpu: bool,
    knows_gib_hours: bool,
    gib_hours_requested: Option<f64>,
    memory: Amounts,
    wall: Amounts,
    cores: Amounts,
    requested: Amounts,
}

type Summaries = HashMap<String, Summary>;

pub(super) fn of(asked: &Asked<'_>) -> Result<(Value, Names)> {
    let columns: Vec<&str> = COLUMNS.iter().chain(&MORE).copied().collect();
    let (mut sets, mut categories) = (Summaries::new(), Summaries::new());
    let mut attempts = 0_u64;
    asked.scan(&columns, &asked.view.base, false, &mut |batch, row| {
        attempts += 1;
        let category = batch.text(0, row).unwrap_or_default();
        let set = batch.text(1, row).unwrap_or_default();
        summary(&mut categories, category).add(batch, row);
        summary(&mut sets, set).add(batch, row);
    })?;
    let described = asked.archive.folder().sets()?;
    let (sets_of, categories_of) = (sets.len(), categories.len());
    let sets = sorted(sets, |one| one.line.span.map(|(_, last)| last));
    let categories = sorted(categories, |_| None);
    let set_json = |(name, one): &(String, Summary)| {
        let mut line = one.json(asked.view.shown(name));
        if let Some(said) = described.iter().find(|said| said.name == *name) {
            let labels = said.labels.iter().map(|(name, value)| {
                let value = Value::from(asked.view.shown(value));
                (asked.view.shown(name), value)
            });
            let words = said.description.as_deref();
            let words = words.map(|words| asked.view.shown(words));
            line.insert("description".to_owned(), json!(words));
            line.insert("labels".to_owned(), Value::Object(labels.collect()));
        }
        Value::Object(line)
    };
    let resources = RESOURCES
        .iter()
        .map(|one| json!({"name": one.name, "unit": one.unit, "doc": one.description}));
    let made = SystemTime::now().duration_since(UNIX_EPOCH);
    let told = json!({
        "schema": serve::SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "title": asked.view.title,
        "made": made.ok().and_then(|made| u64::try_from(made.as_millis()).ok()),
        "attempts": attempts,
        "is_live": asked.view.is_live,
        "sets": sets.iter().map(set_json).collect::<Vec<_>>(),
        "sets_of": sets_of,
        "categories": categories
            .iter()
            .map(|(name, one)| Value::Object(one.json(name.clone())))
            .collect::<Vec<_>>(),
        "categories_of": categories_of,
        "resources": resources.collect::<Vec<_>>(),
    });
    let names = |lines: Vec<(String, Summary)>| lines.into_iter().map(|(name, _)| name).collect();
    let names = Names {
        sets: names(sets),
        categories: names(categories),
    };
    Ok((told, names))
}

fn summary<'a>(all: &'a mut Summaries, name: &str) -> &'a mut Summary {
    // A name is made once, not for each of its attempts.
    if !all.contains_key(name) {
        all.insert(name.to_owned(), Summary::default());
    }
    all.entry(name.to_owned()).or_default()
}

/// The latest first, then those with most GiB hours, CPU time and attempts.
fn sorted(all: Summaries, at: fn(&Summary) -> Option<i64>) -> Vec<(String, Summary)> {
    let mut lines: Vec<_> = all.into_iter().collect();
    lines.sort_by(|(name, one), (other_name, other)| {
        let hours = other.line.gib_hours.total_cmp(&one.line.gib_hours);
        let rest = |one: &Summary| Reverse((one.line.cpu, one.line.attempts));
        Reverse(at(one))
            .cmp(&Reverse(at(other)))
            .then(hours)
            .then(rest(one).cmp(&rest(other)))
            .then(name.cmp(other_name))
    });
    lines.truncate(LINES_MAX);
    lines
}

impl Amounts {
    fn add(&mut self, number: Option<f64>) {
        if let Some(number) = number.filter(|number| number.is_finite()) {
            self.sketch.add(number, 1, 0.0);
            self.max = Some(self.max.map_or(number, |max| max.max(number)));
        }
    }

    /// The number that a share is at or below: to 1 %, and no more than the largest.
    fn quantile(&self, share: f64) -> Value {
        let found = self.sketch.quantile(share).zip(self.max);
        number(found.map(|(found, max)| found.min(max).round_to_unit()))
    }

    fn json(&self) -> Value {
        match self.max {
            None => Value::Null,
            max => json!({
                "p50": self.quantile(0.5),
                "p95": self.quantile(0.95),
                "max": number(max),
            }),
        }
    }
}

/// A quantile is known to 1 %: digits behind that only make a page longer.
trait RoundToUnit {
    fn round_to_unit(self) -> Self;
}

impl RoundToUnit for f64 {
    fn round_to_unit(self) -> Self {
        if self.abs() >= 1000.0 {
            self.round()
        } else {
            (self * 1000.0).round() / 1000.0
        }
    }
}

impl Summary {
    fn add(&mut self, batch: &Batch<'_>, row: usize) {
        self.line.add(batch, row);
        self.cancelled += u64::from(batch.text(2, row) == Some("cancelled"));
        let (memory, wall) = (batch.number(4, row), batch.number(5, row));
        self.knows_cpu |= batch.int(6, row).is_some();
        self.knows_gib_hours |= memory.is_some() && wall.is_some();
        let requested = batch.number(COLUMNS.len() + 1, row);
        if let Some((requested, wall)) = requested.zip(wall) {
            let hours = requested / GIB * (wall / HOUR);
            *self.gib_hours_requested.get_or_insert(0.0) += hours;
        }
        self.memory.add(memory);
        self.wall.add(wall);
        self.cores.add(batch.number(COLUMNS.len(), row));
        self.requested.add(requested);
    }

    fn json(&self, name: String) -> Map<String, Value> {
        let line = &self.line;
        let told = line.done + line.failed + line.limit + self.cancelled;
        let mut requested = self.requested.json();
        if let Some(requested) = requested.as_object_mut() {
            requested.remove("p95");
        }
        let fields = [
            ("name", json!(name)),
            ("attempts", json!(line.attempts)),
            ("done", json!(line.done)),
            ("failed", json!(line.failed)),
            ("limit", json!(line.limit)),
            ("cancelled", json!(self.cancelled)),
            ("unknown", json!(line.attempts.saturating_sub(told))),
            ("first", json!(millis(line.span.map(|(first, _)| first)))),
            ("last", json!(millis(line.span.map(|(_, last)| last)))),
            (
                "core_hours",
                json!(self.knows_cpu.then_some(line.cpu as f64 / HOUR)),
            ),
            (
                "gib_hours",
                json!(self.knows_gib_hours.then_some(line.gib_hours)),
            ),
            ("gib_hours_requested", json!(self.gib_hours_requested)),
            ("memory", self.memory.json()),
            ("wall", self.wall.json()),
            ("cores", self.cores.json()),
            ("memory_requested", requested),
        ];
        let fields = fields.into_iter();
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
