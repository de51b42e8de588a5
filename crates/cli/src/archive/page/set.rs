//! `api/set`: who ran when in a set.

use super::overview::{self, Tally};
use super::{Asked, millis, steps};
use anyhow::Result;
use record::attempt::End;
use serde_json::{Map, Value, json};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use store::archive::Set;
use store::archive::{Batch, end_word};

/// Steps of a function at most.
const STEPS_MAX: usize = 600;

/// Attempts of one set that are looked at together: 56 bytes each.
const SPANS_MAX: usize = 8_000_000;

/// What is looked at behind what a tally takes, which has those below.
const MORE: [&str; 6] = ["id", "task", "host", "submitted", "began", "parents"];
const CATEGORY: usize = 0;
const SET: usize = 1;
const END: usize = 2;
const ENDED: usize = 3;
const WALL: usize = 5;
const CPU: usize = 6;

/// One that ran, ordered by when it began.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    began: i64,
    id: String,
    ended: i64,
    submitted: Option<i64>,
    task: Option<String>,
    category: String,
    host: Option<String>,
    end: String,
    parents: Vec<String>,
}

impl Ord for Line {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.began, &self.id).cmp(&(other.began, &other.id))
    }
}

impl PartialOrd for Line {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Course {
    most: usize,
    /// Where [`MORE`] begins.
    more: usize,
    tally: Tally,
    attempts: u64,
    without_times: u64,
    without_cpu: u64,
    /// The first ones, the last of these on top.
    lines: BinaryHeap<Line>,
    running: Vec<steps::Span>,
    queued: Vec<steps::Span>,
    knows_queue: bool,
    cores: Vec<(steps::Span, f64)>,
}

fn columns() -> Vec<&'static str> {
    let mut columns = overview::columns();
    columns.extend(MORE);
    columns
}

pub(super) fn of(asked: &Asked<'_>, name: &str) -> Result<Value> {
    let filter = asked.filter(Some(name), None)?;
    let mut course = Course::new(asked.view.lines);
    asked.scan(&columns(), &filter, name.is_empty(), &mut |batch, row| {
        course.add(batch, row);
    })?;
    if course.attempts == 0 {
        return Err(asked.nothing("set", name)?.into());
    }
    Ok(course.json(asked, name, &asked.archive.folder().sets()?))
}

/// Of several sets at once, in their order: each attempt is read once, not once for each.
pub(super) fn many(asked: &Asked<'_>, names: &[String]) -> Result<Vec<Value>> {
    let new = |name: &String| (name.clone(), Course::new(asked.view.lines));
    let mut courses: HashMap<String, Course> = names.iter().map(new).collect();
    asked.scan(&columns(), &asked.view.base, false, &mut |batch, row| {
        if let Some(course) = courses.get_mut(batch.text(SET, row).unwrap_or_default()) {
            course.add(batch, row);
        }
    })?;
    let said = asked.archive.folder().sets()?;
    let told = names.iter().filter_map(|name| {
        let course = courses.remove(name)?;
        Some(course.json(asked, name, &said))
    });
    Ok(told.collect())
}

impl Course {
    fn new(most: usize) -> Self {
        Self {
            most,
            more: overview::columns().len(),
            tally: Tally::default(),
            attempts: 0,
            without_times: 0,
            without_cpu: 0,
            lines: BinaryHeap::new(),
            running: Vec::new(),
            queued: Vec::new(),
            knows_queue: false,
            cores: Vec::new(),
        }
    }

    fn add(&mut self, batch: &Batch<'_>, row: usize) {
        self.attempts += 1;
        self.tally.add(batch, row);
        let more = |place: usize| self.more + place;
        // One end of it and how long it took tell the other.
        let wall = batch.int(WALL, row).map(|nanos| nanos.div_euclid(1000));
        let (began, ended) = match (batch.int(more(4), row), batch.int(ENDED, row), wall) {
            (Some(began), Some(ended), _) => (Some(began), Some(ended)),
            (Some(began), None, Some(wall)) => (Some(began), began.checked_add(wall)),
            (None, Some(ended), Some(wall)) => (ended.checked_sub(wall), Some(ended)),
            (began, ended, _) => (began, ended),
        };
        let span = millis(began).zip(millis(ended));
        let Some((began, ended)) = span.filter(|(began, ended)| ended >= began) else {
            self.without_times += 1;
            return;
        };
        let submitted = millis(batch.int(more(3), row));
        self.knows_queue |= submitted.is_some();
        if self.running.len() < SPANS_MAX {
            self.running.push((began, ended));
            self.queued.extend(submitted.map(|at| (at, began)));
            match batch.number(CPU, row).filter(|_| ended > began) {
                Some(cpu) => {
                    let cores = cpu / 1e6 / (ended - began) as f64;
                    self.cores.push(((began, ended), cores));
                }
                None => self.without_cpu += 1,
            }
        }
        let is_late = self.lines.len() >= self.most
            && self.lines.peek().is_none_or(|last| {
                (last.began, last.id.as_str())
                    <= (began, batch.text(more(0), row).unwrap_or_default())
            });
        if is_late {
            return;
        }
        let text = |place: usize| batch.text(place, row).map(str::to_owned);
        self.lines.push(Line {
            began,
            id: text(more(0)).unwrap_or_default(),
            ended,
            submitted,
            task: text(more(1)),
            category: text(CATEGORY).unwrap_or_default(),
            host: text(more(2)),
            end: text(END).unwrap_or_else(|| end_word(End::Unknown).to_owned()),
            parents: batch.texts(more(5), row).map(str::to_owned).collect(),
        });
        if self.lines.len() > self.most {
            self.lines.pop();
        }
    }

    fn json(self, asked: &Asked<'_>, name: &str, said: &[Set]) -> Value {
        let said = said.iter().find(|said| said.name == name);
        let labels = said.iter().flat_map(|said| &said.labels);
        let labels = labels.map(|(name, value)| {
            let value = Value::from(asked.view.shown(value));
            (asked.view.shown(name), value)
        });
        let labels: Map<String, Value> = labels.collect();
        let words = said.and_then(|said| said.description.as_deref());
        let with_times = self.attempts - self.without_times;
        // Those that are not looked at would be missing without a word.
        let is_whole = with_times == self.running.len() as u64;
        let steps = asked.view.points.min(STEPS_MAX);
        let counts = steps::counts(&self.running, &self.queued, steps);
        let queued = self.knows_queue.then_some(counts.queued);
        let counts = json!({"at": counts.at, "running": counts.running, "queued": queued});
        let (at, busy) = steps::busy(&self.cores, steps);
        let shown = |text: &Option<String>| text.as_deref().map(|text| asked.view.shown(text));
        let most = asked.view.set_categories;
        let (total, categories, categories_of) = self.tally.json(asked.view.shown(name), most);
        let rows = self.lines.into_sorted_vec();
        let rows = rows.into_iter().map(|line| {
            let parents = line.parents.iter().map(|parent| asked.view.shown(parent));
            json!({
                "id": line.id,
                "task": shown(&line.task),
                "category": line.category,
                "host": shown(&line.host),
                "submitted": line.submitted,
                "began": line.began,
                "ended": line.ended,
                "end": line.end,
                "parents": parents.collect::<Vec<_>>(),
            })
        });
        let fields = [
            ("schema", json!(serve::SCHEMA)),
            ("name", json!(asked.view.shown(name))),
            (
                "description",
                json!(words.map(|words| asked.view.shown(words))),
            ),
            ("labels", Value::Object(labels)),
            ("attempts", json!(self.attempts)),
            ("total", total),
            ("categories", json!(categories)),
            ("categories_of", json!(categories_of)),
            ("rows", json!(rows.collect::<Vec<_>>())),
            ("rows_of", json!(with_times)),
            ("without_times", json!(self.without_times)),
            ("without_cpu", json!(self.without_cpu)),
            ("counts", if is_whole { counts } else { Value::Null }),
            (
                "cores",
                if is_whole {
                    json!({"at": at, "busy": busy})
                } else {
                    Value::Null
                },
            ),
        ];
        let fields = fields.into_iter();
        let fields: Map<String, Value> = fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Value::Object(fields)
    }
}
