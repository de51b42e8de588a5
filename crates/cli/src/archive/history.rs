//! The history of one category, out of an archive.

use super::columns::{Columns, Places, Row};
use advise::{Attempt, Category, Ended, Peak, Terms};
use record::limit::Resource;
use record::unit::{Bytes, Nanos};
use record::value::Method;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::Error;
use store::archive::{Archive, Batch, Filter};

/// More than the rule remembers: attempts that did not finish are among them.
const ATTEMPTS_MAX: usize = 4000;

const COLUMNS: [&str; 17] = [
    "end",
    "exceeded",
    "ended",
    "began",
    "host_class",
    "input_size",
    "used_wall",
    "used_cpu",
    "used_memory",
    "used_memory_known",
    "used_disk",
    "used_disk_known",
    "requested_memory",
    "requested_wall",
    "requested_disk",
    "used_memory_upper",
    "used_disk_upper",
];

/// What is known of a category.
pub(crate) struct Known {
    pub(crate) history: Category,
    /// Attempts that are in the archive.
    pub(crate) attempts: u64,
    /// Those that say how long they took and that they did what they were to do.
    pub(crate) done: u64,
}

/// A history while it is read.
pub(crate) struct Reading {
    places: Places,
    /// With the order in which they came.
    kept: Vec<(u64, Attempt)>,
    attempts: u64,
    hosts: HashMap<String, Arc<str>>,
}

/// The history of the attempts that are wanted, the oldest first.
pub(crate) fn of(
    archive: &Archive,
    filter: &Filter,
    terms: &Terms,
    heed: &dyn Fn(u64) -> bool,
) -> Result<Known, Error> {
    let mut columns = Columns::default();
    let mut reading = Reading::new(&mut columns);
    let names = columns.names();
    let attempts = archive.scan_newest(&names, filter, ATTEMPTS_MAX, &mut |batch, rows| {
        for row in rows {
            reading.add(batch, *row);
        }
        match heed(reading.attempts) {
            true => Ok(ControlFlow::Continue(())),
            false => Err(Error::Interrupted),
        }
    })?;
    let known = reading.known(terms);
    Ok(Known { attempts, ..known })
}

impl Reading {
    /// With its columns among those that are read.
    pub(crate) fn new(columns: &mut Columns) -> Self {
        Self {
            places: columns.add(&COLUMNS),
            kept: Vec::new(),
            attempts: 0,
            hosts: HashMap::new(),
        }
    }

    pub(crate) fn add(&mut self, batch: &Batch<'_>, row: usize) {
        let one = attempt(self.places.row(batch, row), &mut self.hosts);
        self.kept.push((self.attempts, one));
        self.attempts += 1;
        if self.kept.len() >= 2 * ATTEMPTS_MAX {
            self.forget();
        }
    }

    /// Keeps the latest. Those without an instant may be of any time: they count as old.
    fn forget(&mut self) {
        self.kept
            .sort_unstable_by_key(|(came, one)| (one.at, *came));
        let old = self.kept.len().saturating_sub(ATTEMPTS_MAX);
        self.kept.drain(..old);
    }

    /// What is known then.
    pub(crate) fn known(mut self, terms: &Terms) -> Known {
        self.forget();
        let kept: Vec<Attempt> = self.kept.into_iter().map(|(_, one)| one).collect();
        let done = kept.iter().filter(|one| one.ended == Ended::Finished);
        let done = done.count() as u64;
        let mut history = Category::new(terms);
        history.learn_all(&kept);
        Known {
            history,
            attempts: self.attempts,
            done,
        }
    }
}

fn attempt(row: Row<'_>, hosts: &mut HashMap<String, Arc<str>>) -> Attempt {
    let whole = |column| row.int(column).and_then(|value| u64::try_from(value).ok());
    // Of two bounds the upper one is certainly enough.
    let peak = |value: usize, known: usize, upper: usize| {
        let upper = whole(upper);
        whole(value).map(|value| Peak {
            value: upper.unwrap_or(value),
            method: row.text(known).and_then(|word| method(word, upper)),
            cache: false,
        })
    };
    let wall = whole(6);
    // One that does not say how long it took cannot be weighed.
    let ended = match (row.text(0), row.text(1), wall) {
        (Some("done"), _, Some(_)) => Ended::Finished,
        (Some("limit"), Some("memory" | "rss"), _) => killed(Resource::Memory, whole(12)),
        (Some("limit"), Some("wall"), _) => killed(Resource::Wall, whole(13)),
        (Some("limit"), Some("disk" | "footprint"), _) => killed(Resource::Footprint, whole(14)),
        _ => Ended::Failed,
    };
    let at = whole(2).or_else(|| whole(3));
    let host = row.text(4).map(|name| match hosts.get(name) {
        Some(known) => known.clone(),
        None => {
            let known: Arc<str> = Arc::from(name);
            hosts.insert(name.to_owned(), known.clone());
            known
        }
    });
    let cores = whole(7)
        .zip(wall.filter(|wall| *wall > 0))
        .map(|(cpu, wall)| {
            let thousandths = (cpu as f64 / wall as f64 * 1000.0).round();
            Peak {
                value: thousandths as u64,
                method: None,
                cache: false,
            }
        });
    Attempt {
        ended,
        wall: Nanos(wall.unwrap_or(0)),
        at: at.map(|micros| Nanos(micros.saturating_mul(1000))),
        host,
        input: whole(5).map(Bytes),
        memory: peak(8, 9, 15),
        disk: peak(10, 11, 16),
        cores,
    }
}

/// A limit that is not known teaches nothing.
fn killed(resource: Resource, limit: Option<u64>) -> Ended {
    limit.map_or(Ended::Failed, |limit| Ended::Limit { resource, limit })
}

fn method(word: &str, upper: Option<u64>) -> Option<Method> {
    Some(match word {
        "exact" => Method::Exact,
        "sampled" => Method::Sampled {
            period_ns: Nanos(0),
        },
        "lower_bound" => Method::LowerBound { upper },
        "upper_bound" => Method::UpperBound,
        "scaled" => Method::Scaled,
        "claimed" => Method::Claimed,
        _ => return None,
    })
}
