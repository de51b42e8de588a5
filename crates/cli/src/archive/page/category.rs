//! `api/category`: one category, in all sets or in one.

use super::input::Fit;
use super::sample::Sample;
use super::{Asked, millis, number};
use crate::archive::columns::{Columns, Places};
use crate::archive::history;
use crate::archive::request::{Answer, Asked as Requested};
use crate::archive::statistics;
use advise::Terms;
use anyhow::Result;
use record::attempt::End;
use reduce::request;
use serde_json::{Map, Value, json};
use serve::Refusal;
use std::collections::HashMap;
use store::archive::{Batch, Filter, end_word};

/// What has a strip, and its unit.
const STRIPS: [(&str, &str); 3] = [("memory", "bytes"), ("wall", "ns"), ("cores", "cores")];

/// The used amounts come behind the first four, each with what was asked for.
const COLUMNS: [&str; 10] = [
    "id",
    "ended",
    "end",
    "input_size",
    "used_memory",
    "requested_memory",
    "used_wall",
    "requested_wall",
    "used_cores",
    "requested_cores",
];
const AMOUNTS: usize = 4;

/// An attempt in a picture.
#[derive(Debug, Clone)]
struct Point {
    id: String,
    at: Option<i64>,
    end: String,
    /// Across and up; what a picture says they are.
    numbers: (Option<f64>, Option<f64>, Option<f64>),
}

struct Pictures {
    places: Places,
    strips: [Sample<Point>; STRIPS.len()],
    input: Sample<Point>,
    memory: Fit,
    wall: Fit,
    attempts: u64,
}

/// All that is told of a category, while its attempts are read.
struct Course {
    pictures: Pictures,
    statistics: statistics::Reading,
    history: history::Reading,
}

/// Attempts of several categories that are looked at together: some hundred bytes each.
const TOGETHER_MAX: u64 = 100_000;

/// A category, and how many attempts it has.
pub(crate) type Counted = (String, u64);

pub(super) fn of(asked: &Asked<'_>, name: &str, set: Option<&str>) -> Result<Value> {
    if set == Some("") {
        let words = "a category is asked for in all sets or in one: set=NAME";
        return Err(Refusal::Question(words.to_owned()).into());
    }
    let filter = asked.filter(set, Some(name))?;
    let mut columns = Columns::default();
    let mut course = Course::new(asked.view.points, &mut columns);
    asked.scan(&columns.names(), &filter, false, &mut |batch, row| {
        course.add(asked, batch, row);
    })?;
    if course.pictures.attempts == 0 {
        return Err(nothing(asked, name, set)?.into());
    }
    Ok(course.json(asked, name, set))
}

/// Several categories in all sets, by name: those that are neighbours are read together, each
/// attempt once.
pub(super) fn many(asked: &Asked<'_>, wanted: &[Counted]) -> Result<HashMap<String, Value>> {
    let mut wanted: Vec<&Counted> = wanted.iter().collect();
    wanted.sort();
    let mut told = HashMap::new();
    while let Some((first, _)) = wanted.first() {
        let mut attempts = 0_u64;
        let fits = |(_, more): &&&Counted| {
            attempts = attempts.saturating_add(*more);
            attempts <= TOGETHER_MAX
        };
        let count = wanted.iter().take_while(fits).count().max(1);
        let part: Vec<&Counted> = wanted.drain(..count).collect();
        let last = part.last().map_or(first, |(name, _)| name);
        let mut filter = asked.filter(None, None)?;
        filter.categories = Some((first.clone(), last.clone()));
        together(asked, &filter, &part, &mut told)?;
    }
    Ok(told)
}

fn together(
    asked: &Asked<'_>,
    filter: &Filter,
    wanted: &[&Counted],
    told: &mut HashMap<String, Value>,
) -> Result<()> {
    let mut names = Vec::new();
    let mut courses: HashMap<&str, Course> = HashMap::new();
    for (name, _) in wanted {
        // All of them ask for the same columns, which have the same places then.
        let mut columns = Columns::default();
        courses.insert(name, Course::new(asked.view.points, &mut columns));
        names = columns.into_names();
    }
    let category = names.len();
    names.push("category".to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    asked.scan(&names, filter, false, &mut |batch, row| {
        let name = batch.text(category, row).unwrap_or_default();
        if let Some(course) = courses.get_mut(name) {
            course.add(asked, batch, row);
        }
    })?;
    for (name, course) in courses {
        told.insert(name.to_owned(), course.json(asked, name, None));
    }
    Ok(())
}

impl Course {
    fn new(points: usize, columns: &mut Columns) -> Self {
        Self {
            pictures: Pictures::new(points, columns),
            statistics: statistics::Reading::new(&statistics::named(&[]), columns),
            history: history::Reading::new(columns),
        }
    }

    fn add(&mut self, asked: &Asked<'_>, batch: &Batch<'_>, row: usize) {
        let is_done = self.pictures.add(batch, row);
        // As of `plimsoll archive stats`: those that did what they were to do, unless the page is
        // of others.
        if asked.view.base.end.is_some() || is_done {
            self.statistics.add(batch, row);
        }
        self.history.add(batch, row);
    }

    fn json(self, asked: &Asked<'_>, name: &str, set: Option<&str>) -> Value {
        let pictures = self.pictures;
        let lines = self.statistics.lines();
        let resource = lines.iter();
        let resource = resource.map(|line| (line.resource.name.to_owned(), line.json()));
        let known = self.history.known(&Terms::default());
        let advice = Answer::of(name, &known, None, &Requested::default(), request::own());
        json!({
            "schema": serve::SCHEMA,
            "name": name,
            "set": set.map(|set| asked.view.shown(set)),
            "attempts": pictures.attempts,
            "resource": Value::Object(resource.collect()),
            "advice": (!advice.is_empty()).then(|| advice.json()),
            "input": pictures.input.json_of_input(&pictures.memory, &pictures.wall),
            "strips": strips(pictures.strips),
        })
    }
}

fn nothing(asked: &Asked<'_>, name: &str, set: Option<&str>) -> Result<Refusal> {
    let mut anywhere = false;
    if set.is_some() {
        let all = asked.filter(None, Some(name))?;
        asked.scan(&[], &all, false, &mut |_, _| anywhere = true)?;
    }
    match set {
        Some(set) if anywhere => {
            let all = asked.filter(Some(set), None)?;
            let mut is_there = false;
            asked.scan(&[], &all, false, &mut |_, _| is_there = true)?;
            match is_there {
                false => asked.nothing("set", set),
                true => Ok(Refusal::NotFound(format!(
                    "no attempt of `{}` in the set `{}`",
                    crate::view::style::printable(name),
                    crate::view::style::printable(set)
                ))),
            }
        }
        _ => asked.nothing("category", name),
    }
}

impl Pictures {
    fn new(points: usize, columns: &mut Columns) -> Self {
        Self {
            places: columns.add(&COLUMNS),
            strips: std::array::from_fn(|_| Sample::new(points, 1)),
            input: Sample::new(points, 2),
            memory: Fit::default(),
            wall: Fit::default(),
            attempts: 0,
        }
    }

    /// One more; whether it did what it was to do.
    fn add(&mut self, batch: &Batch<'_>, row: usize) -> bool {
        self.attempts += 1;
        let row = self.places.row(batch, row);
        let id = row.text(0).unwrap_or_default();
        let end = row.text(2).unwrap_or(end_word(End::Unknown));
        let is_done = end == end_word(End::Done);
        let finite = |place: usize| row.number(place).filter(|number| number.is_finite());
        let point = |one, two, three| Point {
            id: id.to_owned(),
            at: millis(row.int(1)),
            end: end.to_owned(),
            numbers: (one, two, three),
        };
        for (place, strip) in self.strips.iter_mut().enumerate() {
            let used = finite(AMOUNTS + 2 * place);
            let requested = finite(AMOUNTS + 2 * place + 1);
            if used.is_some() {
                strip.push(id, &[used], &|| point(used, requested, None));
            }
        }
        let Some(size) = finite(3) else {
            return is_done;
        };
        let (memory, wall) = (finite(AMOUNTS), finite(AMOUNTS + 2));
        let numbers = [Some(size), memory];
        self.input
            .push(id, &numbers, &|| point(Some(size), memory, wall));
        if is_done {
            for (fit, amount) in [(&mut self.memory, memory), (&mut self.wall, wall)] {
                if let Some(amount) = amount {
                    fit.add(size, amount);
                }
            }
        }
        is_done
    }
}

fn strips(strips: [Sample<Point>; STRIPS.len()]) -> Value {
    let strip = |(sample, (name, unit)): (Sample<Point>, (&str, &str))| {
        let of = sample.of();
        let points = sample.taken(&|one, other| one.at.cmp(&other.at));
        let points = points.into_iter().map(|one| {
            let (used, requested, _) = one.numbers;
            json!({
                "id": one.id,
                "at": one.at,
                "used": number(used),
                "requested": number(requested),
                "end": one.end,
            })
        });
        let told = json!({"unit": unit, "points": points.collect::<Vec<_>>(), "of": of});
        (name.to_owned(), told)
    };
    let strips: Map<String, Value> = strips.into_iter().zip(STRIPS).map(strip).collect();
    Value::Object(strips)
}

impl Sample<Point> {
    fn json_of_input(self, memory: &Fit, wall: &Fit) -> Value {
        let of = self.of();
        let points = self.taken(&|one, other| one.at.cmp(&other.at));
        let points = points.into_iter().map(|one| {
            let (size, memory, wall) = one.numbers;
            json!({
                "id": one.id,
                "size": number(size),
                "memory": number(memory),
                "wall": number(wall),
                "end": one.end,
            })
        });
        json!({
            "points": points.collect::<Vec<_>>(),
            "of": of,
            "fit": {"memory": memory.json(), "wall": wall.json()},
        })
    }
}
