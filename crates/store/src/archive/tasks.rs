//! The tasks of a set: of each the attempt that counts, and the graph that they are.

use crate::Error;
use record::attempt::{Attempt, End};
use reduce::graph::{Graph, Task};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Tasks of one set: they are held in memory.
pub const TASKS_MAX: usize = 1_000_000;

/// Names that are told of a way.
const NAMES_MAX: usize = 24;

/// The tasks of a set, in the order of their names.
#[derive(Debug, Default)]
pub struct Tasks {
    chosen: BTreeMap<String, Attempt>,
    attempts: u64,
}

impl Tasks {
    /// Takes an attempt. Of a task the last that was done counts; where none was, the last. One
    /// without the name of a task is a task of its own, called by its id.
    ///
    /// # Errors
    /// [`Error::TooManyTasks`]
    pub fn push(&mut self, attempt: Attempt) -> Result<(), Error> {
        self.attempts += 1;
        let is_full = self.chosen.len() >= TASKS_MAX;
        match self.chosen.entry(name(&attempt).to_owned()) {
            Entry::Vacant(_) if is_full => return Err(Error::TooManyTasks { most: TASKS_MAX }),
            Entry::Vacant(slot) => {
                slot.insert(attempt);
            }
            Entry::Occupied(mut slot) => {
                if rank(&attempt) > rank(slot.get()) {
                    slot.insert(attempt);
                }
            }
        }
        Ok(())
    }

    /// The attempt that counts of each, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attempt)> {
        let all = self.chosen.iter();
        all.map(|(name, attempt)| (name.as_str(), attempt))
    }

    /// How many attempts were taken.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// As a graph has them: how long one took that was not done says nothing.
    pub fn view(&self) -> Vec<Task<'_>> {
        let all = self.iter();
        all.map(|(name, attempt)| Task {
            name,
            parents: &attempt.parents,
            wall: wall(attempt),
        })
        .collect()
    }

    /// The names of some, an arrow between them: of many the first and the last. Round a cycle
    /// the first stands at the end once more.
    pub fn way(&self, places: &[usize], is_cycle: bool) -> String {
        let names: Vec<&str> = self.chosen.keys().map(String::as_str).collect();
        let round = places.first().filter(|_| is_cycle);
        let all: Vec<&str> = places
            .iter()
            .chain(round)
            .filter_map(|place| names.get(*place).copied())
            .collect();
        let left_out = all.len().saturating_sub(NAMES_MAX);
        let (front, back) = (NAMES_MAX / 2, NAMES_MAX - NAMES_MAX / 2);
        match (all.get(..front), all.get(all.len().saturating_sub(back)..)) {
            (Some(front), Some(back)) if left_out > 0 => format!(
                "{} -> ({left_out} more) -> {}",
                front.join(" -> "),
                back.join(" -> ")
            ),
            _ => all.join(" -> "),
        }
    }

    /// The graph of [`Tasks::view`].
    pub fn graph(&self) -> Graph {
        Graph::of(&self.view())
    }
}

/// What others of the set call it.
fn name(attempt: &Attempt) -> &str {
    let named = attempt.task.as_deref();
    named.filter(|name| !name.is_empty()).unwrap_or(&attempt.id)
}

/// The greatest of a task counts.
fn rank(attempt: &Attempt) -> (bool, Option<u32>, Option<i64>, &str) {
    (
        attempt.end == End::Done,
        attempt.attempt,
        attempt.ended.or(attempt.began),
        &attempt.id,
    )
}

/// Nanoseconds, of one that was done.
pub(super) fn wall(attempt: &Attempt) -> Option<u64> {
    let wall = attempt.used.get("wall")?.value.as_f64();
    (attempt.end == End::Done).then_some(wall.max(0.0) as u64)
}
