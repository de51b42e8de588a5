//! `api/category`: one category, in all sets or in one.

use super::input::Fit;
use super::sample::Sample;
use super::{Asked, millis, number};
use crate::archive::history;
use crate::archive::request::{Answer, Asked as Requested};
use crate::archive::statistics;
use advise::Terms;
use anyhow::Result;
use record::attempt::End;
use reduce::request;
use serde_json::{Map, Value, json};
use serve::Refusal;
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
    strips: [Sample<Point>; STRIPS.len()],
    input: Sample<Point>,
    memory: Fit,
    wall: Fit,
    attempts: u64,
}

pub(super) fn of(asked: &Asked<'_>, name: &str, set: Option<&str>) -> Result<Value> {
    if set == Some("") {
        let words = "a category is asked for in all sets or in one: set=NAME";
        return Err(Refusal::Question(words.to_owned()).into());
    }
    let filter = asked.filter(set, Some(name))?;
    let pictures = Pictures::of(asked, &filter)?;
    if pictures.attempts == 0 {
        return Err(nothing(asked, name, set)?.into());
    }
    let mut done = filter.clone();
    done.end = done.end.or(Some(End::Done));
    let (_, lines) = statistics::of(asked.archive, &done, &statistics::named(&[]), asked.heed)?;
    let resource = lines.iter();
    let resource = resource.map(|line| (line.resource.name.to_owned(), line.json()));
    let known = history::of(asked.archive, &filter, &Terms::default(), asked.heed)?;
    let advice = Answer::of(name, &known, None, &Requested::default(), request::own());
    Ok(json!({
        "schema": serve::SCHEMA,
        "name": name,
        "set": set.map(|set| asked.view.shown(set)),
        "attempts": pictures.attempts,
        "resource": Value::Object(resource.collect()),
        "advice": (!advice.is_empty()).then(|| advice.json()),
        "input": pictures.input.json_of_input(&pictures.memory, &pictures.wall),
        "strips": strips(pictures.strips),
    }))
}

fn nothing(asked: &Asked<'_>, name: &str, set: Option<&str>) -> Result<Refusal> {
    let anywhere =
        set.is_some() && Pictures::of(asked, &asked.filter(None, Some(name))?)?.attempts > 0;
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
    fn of(asked: &Asked<'_>, filter: &Filter) -> Result<Self> {
        let points = asked.view.points;
        let mut pictures = Self {
            strips: std::array::from_fn(|_| Sample::new(points, 1)),
            input: Sample::new(points, 2),
            memory: Fit::default(),
            wall: Fit::default(),
            attempts: 0,
        };
        asked.scan(&COLUMNS, filter, false, &mut |batch, row| {
            pictures.add(batch, row)
        })?;
        Ok(pictures)
    }

    fn add(&mut self, batch: &Batch<'_>, row: usize) {
        self.attempts += 1;
        let id = batch.text(0, row).unwrap_or_default();
        let end = batch.text(2, row).unwrap_or(end_word(End::Unknown));
        let finite = |place: usize| batch.number(place, row).filter(|number| number.is_finite());
        let point = |one, two, three| Point {
            id: id.to_owned(),
            at: millis(batch.int(1, row)),
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
            return;
        };
        let (memory, wall) = (finite(AMOUNTS), finite(AMOUNTS + 2));
        let numbers = [Some(size), memory];
        self.input
            .push(id, &numbers, &|| point(Some(size), memory, wall));
        if end == end_word(End::Done) {
            for (fit, amount) in [(&mut self.memory, memory), (&mut self.wall, wall)] {
                if let Some(amount) = amount {
                    fit.add(size, amount);
                }
            }
        }
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
