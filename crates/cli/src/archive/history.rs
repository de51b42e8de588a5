//! The history of one category, out of an archive.

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

/// The history of the attempts that are wanted, the oldest first.
pub(crate) fn of(
    archive: &Archive,
    filter: &Filter,
    terms: &Terms,
    heed: &dyn Fn(u64) -> bool,
) -> Result<Known, Error> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut count = 0;
    let mut hosts: HashMap<String, Arc<str>> = HashMap::new();
    archive.scan(&COLUMNS, filter, &mut |batch, rows| {
        count += rows.len() as u64;
        if !heed(count) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            attempts.push(attempt(batch, *row, &mut hosts));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    // Those without an instant may be of any time: they count as old.
    attempts.sort_by_key(|one| one.at);
    let old = attempts.len().saturating_sub(ATTEMPTS_MAX);
    let mut history = Category::new(terms);
    let mut done = 0;
    for one in attempts.iter().skip(old) {
        done += u64::from(one.ended == Ended::Finished);
        history.learn(one);
    }
    Ok(Known {
        history,
        attempts: count,
        done,
    })
}

fn attempt(batch: &Batch<'_>, row: usize, hosts: &mut HashMap<String, Arc<str>>) -> Attempt {
    let whole = |column| {
        batch
            .int(column, row)
            .and_then(|value| u64::try_from(value).ok())
    };
    // Of two bounds the upper one is certainly enough.
    let peak = |value: usize, known: usize, upper: usize| {
        let upper = whole(upper);
        whole(value).map(|value| Peak {
            value: upper.unwrap_or(value),
            method: batch.text(known, row).and_then(|word| method(word, upper)),
            cache: false,
        })
    };
    let wall = whole(6);
    // One that does not say how long it took cannot be weighed.
    let ended = match (batch.text(0, row), batch.text(1, row), wall) {
        (Some("done"), _, Some(_)) => Ended::Finished,
        (Some("limit"), Some("memory" | "rss"), _) => killed(Resource::Memory, whole(12)),
        (Some("limit"), Some("wall"), _) => killed(Resource::Wall, whole(13)),
        (Some("limit"), Some("disk" | "footprint"), _) => killed(Resource::Footprint, whole(14)),
        _ => Ended::Failed,
    };
    let at = whole(2).or_else(|| whole(3));
    let host = batch.text(4, row).map(|name| {
        let known = hosts.entry(name.to_owned());
        known.or_insert_with(|| Arc::from(name)).clone()
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
