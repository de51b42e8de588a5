//! `api/overview`: all sets and categories.

use super::category::Counted;
use super::{Asked, millis, number};
use crate::archive::overview::{COLUMNS, GIB, HOUR, Line};
use anyhow::Result;
use record::attempt::RESOURCES;
use reduce::statistics::Spread;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};
use store::archive::Batch;

/// Sets, and categories, that are told of at most.
const LINES_MAX: usize = 5000;

/// What is looked at behind [`COLUMNS`].
const MORE: [&str; 2] = ["used_cores", "requested_memory"];

/// As they are in the archive, in the order of the answer; categories with their attempts.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) sets: Vec<String>,
    pub(crate) categories: Vec<Counted>,
}

#[derive(Default)]
struct Summary {
    line: Line,
    cancelled: u64,
    knows_cpu: bool,
    knows_gib_hours: bool,
    /// Of attempts of which both are known: what they asked for, and what they used of it.
    gib_hours_asked: Option<(f64, f64)>,
    memory: Spread,
    wall: Spread,
    cores: Spread,
    requested: Spread,
}

/// What an attempt tells its set and its category.
struct Reading {
    is_cancelled: bool,
    knows_cpu: bool,
    memory: Option<f64>,
    wall: Option<f64>,
    cores: Option<f64>,
    requested: Option<f64>,
}

impl Reading {
    fn of(batch: &Batch<'_>, row: usize) -> Self {
        Self {
            is_cancelled: batch.text(2, row) == Some("cancelled"),
            knows_cpu: batch.int(6, row).is_some(),
            memory: batch.number(4, row),
            wall: batch.number(5, row),
            cores: batch.number(COLUMNS.len(), row),
            requested: batch.number(COLUMNS.len() + 1, row),
        }
    }
}

/// By name.
#[derive(Default)]
struct Summaries {
    all: Vec<(String, Summary)>,
    places: HashMap<String, usize>,
    /// Where the last one is: many that follow one another have the same name.
    last: usize,
}

/// The columns that a summary is made of, in this order.
pub(super) fn columns() -> Vec<&'static str> {
    COLUMNS.iter().chain(&MORE).copied().collect()
}

/// Attempts together, and by category.
#[derive(Default)]
pub(super) struct Tally {
    total: Summary,
    categories: Summaries,
}

impl Tally {
    /// Counts a row of [`columns`], which others may follow.
    pub(super) fn add(&mut self, batch: &Batch<'_>, row: usize) {
        let read = Reading::of(batch, row);
        self.total.add(batch, row, &read);
        if let Some(one) = self.categories.of(batch.text(0, row).unwrap_or_default()) {
            one.add(batch, row, &read);
        }
    }

    /// The line of all, which has a name, and those of the first so many categories of how many.
    pub(super) fn json(self, name: String, most: usize) -> (Value, Vec<Value>, usize) {
        let of = self.categories.all.len();
        let categories = sorted(self.categories, |_| None).into_iter().take(most);
        let categories = categories.map(|(name, one)| Value::Object(one.json(name)));
        (
            Value::Object(self.total.json(name)),
            categories.collect(),
            of,
        )
    }
}

pub(super) fn of(asked: &Asked<'_>) -> Result<(Value, Names)> {
    let columns = columns();
    let (mut sets, mut categories) = (Summaries::default(), Summaries::default());
    let mut attempts = 0_u64;
    asked.scan(&columns, &asked.view.base, false, &mut |batch, row| {
        attempts += 1;
        let category = batch.text(0, row).unwrap_or_default();
        let set = batch.text(1, row).unwrap_or_default();
        let read = Reading::of(batch, row);
        for (all, name) in [(&mut categories, category), (&mut sets, set)] {
            if let Some(one) = all.of(name) {
                one.add(batch, row, &read);
            }
        }
    })?;
    let described = asked.archive.folder().sets()?;
    let (sets_of, categories_of) = (sets.all.len(), categories.all.len());
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
    let counted = |(name, one): (String, Summary)| (name, one.line.attempts);
    let names = Names {
        sets: sets.into_iter().map(|(name, _)| name).collect(),
        categories: categories.into_iter().map(counted).collect(),
    };
    Ok((told, names))
}

impl Summaries {
    /// That of a name, which is new or not.
    fn of(&mut self, name: &str) -> Option<&mut Summary> {
        let is_last = self.all.get(self.last).is_some_and(|(one, _)| one == name);
        if !is_last {
            self.last = match self.places.get(name) {
                Some(place) => *place,
                None => {
                    self.places.insert(name.to_owned(), self.all.len());
                    self.all.push((name.to_owned(), Summary::default()));
                    self.all.len() - 1
                }
            };
        }
        self.all.get_mut(self.last).map(|(_, one)| one)
    }
}

/// The latest first, then those with most GiB hours, CPU time and attempts.
fn sorted(all: Summaries, at: fn(&Summary) -> Option<i64>) -> Vec<(String, Summary)> {
    let mut lines = all.all;
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

/// In the shape of an answer: the largest exactly.
fn json_of(spread: &Spread) -> Value {
    let quantile = |share: f64| {
        let (found, (min, max)) = spread.quantile(share).zip(spread.extremes())?;
        Some(found.round_to_unit().clamp(min, max))
    };
    match spread.extremes() {
        None => Value::Null,
        Some((_, max)) => json!({
            "p50": number(quantile(0.5)),
            "p95": number(quantile(0.95)),
            "max": number(Some(max)),
        }),
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
    fn add(&mut self, batch: &Batch<'_>, row: usize, read: &Reading) {
        self.line.add(batch, row);
        self.cancelled += u64::from(read.is_cancelled);
        self.knows_cpu |= read.knows_cpu;
        self.knows_gib_hours |= read.memory.is_some() && read.wall.is_some();
        if let (Some(requested), Some(used), Some(wall)) = (read.requested, read.memory, read.wall)
        {
            let hours = |memory: f64| memory / GIB * (wall / HOUR);
            let asked = self.gib_hours_asked.get_or_insert_default();
            asked.0 += hours(requested);
            asked.1 += hours(used);
        }
        for (spread, number) in [
            (&mut self.memory, read.memory),
            (&mut self.wall, read.wall),
            (&mut self.cores, read.cores),
            (&mut self.requested, read.requested),
        ] {
            if let Some(number) = number {
                spread.add(number, 0.0);
            }
        }
    }

    fn json(&self, name: String) -> Map<String, Value> {
        let line = &self.line;
        let told = line.done + line.failed + line.limit + self.cancelled;
        let mut requested = json_of(&self.requested);
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
            (
                "gib_hours_requested",
                json!(self.gib_hours_asked.map(|asked| asked.0)),
            ),
            (
                "gib_hours_of_requested",
                json!(self.gib_hours_asked.map(|asked| asked.1)),
            ),
            ("memory", json_of(&self.memory)),
            ("wall", json_of(&self.wall)),
            ("cores", json_of(&self.cores)),
            ("memory_requested", requested),
        ];
        let fields = fields.into_iter();
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
