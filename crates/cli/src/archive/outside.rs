//! Whether an attempt lies outside the history of its category.

use crate::view::style::printable;
use advise::{Among, among};
use record::attempt::{Attempt, End, Known, RESOURCES, Resource};
use record::quantity::show;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter, end_word};

/// What is judged.
const JUDGED: [&str; 4] = ["memory", "wall", "cpu", "disk"];

/// One resource of an attempt, and where it lies.
pub(crate) struct Line {
    /// Which.
    pub(crate) resource: &'static Resource,
    /// What was used, in the unit of the resource.
    pub(crate) value: f64,
    /// How many others it is judged by.
    pub(crate) runs: usize,
    /// Where it lies among those.
    pub(crate) among: Among,
}

impl Line {
    /// Whether it is to be named.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(self.among, Among::Above(_) | Among::Below(_))
    }
}

/// What the attempt used against what others of its category did that are in the archive, as long
/// as `heed`, told how many were read, says to go on.
pub(crate) fn judge(
    archive: &Archive,
    attempt: &Attempt,
    heed: &dyn Fn(u64) -> bool,
) -> Result<Vec<Line>, Error> {
    let known = |resource: &&Resource| {
        JUDGED.contains(&resource.name) && attempt.used.get(resource.name).is_some()
    };
    let judged: Vec<&'static Resource> = RESOURCES.iter().filter(known).collect();
    let used = judged.iter().map(|one| format!("used_{}", one.name));
    let names: Vec<String> = ["id", "end"]
        .map(str::to_owned)
        .into_iter()
        .chain(used)
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let filter = Filter {
        category: Some(attempt.category.clone()),
        ..Filter::default()
    };
    let mut before = vec![Vec::new(); judged.len()];
    let mut count = 0;
    archive.scan(&names, &filter, &mut |batch, rows| {
        count += rows.len() as u64;
        if !heed(count) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            let is_other = batch.text(0, *row) != Some(attempt.id.as_str());
            if is_other && batch.text(1, *row) == Some(end_word(End::Done)) {
                for (place, values) in before.iter_mut().enumerate() {
                    values.extend(batch.number(place + 2, *row));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let line = |(resource, before): (&'static Resource, &Vec<f64>)| {
        let used = attempt.used.get(resource.name)?;
        let value = used.value.as_f64();
        let among = among(value, before);
        // What is known from one side alone may lie inside after all.
        let doubtful = match among {
            Among::Above(_) => used.known == Known::UpperBound,
            Among::Below(_) => used.known == Known::LowerBound,
            Among::Few | Among::Inside => false,
        };
        (!doubtful).then_some(Line {
            resource,
            value,
            runs: before.len(),
            among,
        })
    };
    Ok(judged
        .iter()
        .copied()
        .zip(&before)
        .filter_map(line)
        .collect())
}

/// What is to be said of it: one for each resource that is outside, else a single one.
pub(crate) fn sentences(category: &str, lines: &[Line]) -> Vec<String> {
    let category = printable(category);
    let words = |line: &Line| {
        let (times, most) = match line.among {
            Among::Above(times) => (times, "largest"),
            Among::Below(times) => (times, "smallest"),
            Among::Few | Among::Inside => return None,
        };
        Some(format!(
            "{} {}: {times:.2} times the {most} of {} runs of {category}",
            line.resource.name,
            show(line.value, line.resource.unit),
            line.runs
        ))
    };
    let outside: Vec<String> = lines.iter().filter_map(words).collect();
    if !outside.is_empty() {
        return outside;
    }
    let most = |few: bool| {
        let lines = lines.iter();
        let lines = lines.filter(|line| (line.among == Among::Few) == few);
        lines.map(|line| line.runs).max()
    };
    vec![match most(false) {
        Some(runs) => format!("nothing outside the history of {category} ({runs} runs)"),
        None => format!(
            "too few runs of {category} to judge ({})",
            most(true).unwrap_or_default()
        ),
    }]
}
