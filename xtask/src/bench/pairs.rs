//! Interleaved pairs: bare and watched by turns, so that what disturbs one disturbs the other.

use super::meter::{self, Reading};
use super::person::Person;
use super::place::Place;
use super::ways::{BARE, Way, on};
use super::workload::Workload;
use anyhow::Result;
use std::time::Duration;

/// What no bare run takes.
pub(super) const LONG: Duration = Duration::from_secs(1800);

/// All pairs of one workload, one user and one way.
#[derive(Debug)]
pub(super) struct Line {
    /// Who ran it.
    pub(super) person: &'static str,
    /// What ran; `None` for the fixed cost of a command that does nothing.
    pub(super) workload: Option<String>,
    /// How it was run.
    pub(super) way: String,
    /// Bare and watched.
    pub(super) pairs: Vec<(Reading, Reading)>,
}

/// The pairs of a workload with each way. The way `bare` is paired with itself: the noise.
///
/// # Errors
/// When a run fails.
pub(super) fn measure(
    place: &Place,
    person: Person,
    workload: &Workload,
    ways: &[Way],
    count: u64,
) -> Result<Vec<Line>> {
    let folder = &workload.folder;
    // Fills caches; its figures say no more than how long others may take.
    let limit = meter::run(place, person, folder, LONG, &workload.command)?.limit();
    let run = |words: &[_]| meter::run(place, person, folder, limit, words);
    let mut lines = empty(person, Some(&workload.name), ways);
    for turn in 0..count {
        for (line, way) in lines.iter_mut().zip(ways) {
            let watched = on(way, &workload.command);
            let pair = if turn % 2 == 0 {
                let bare = run(&workload.command)?;
                (bare, run(&watched)?)
            } else {
                let watched = run(&watched)?;
                (run(&workload.command)?, watched)
            };
            line.pairs.push(pair);
        }
        eprintln!(
            "{}: {}: pair {} of {count}",
            person.name(),
            workload.name,
            turn + 1
        );
    }
    Ok(lines)
}

/// What it costs to watch a command that does nothing.
///
/// # Errors
/// When a run fails.
pub(super) fn fixed(place: &Place, person: Person, ways: &[Way], count: u64) -> Result<Vec<Line>> {
    let nothing = [place.file("nothing").into()];
    let home = place.home(person);
    let limit = meter::run(place, person, &home, LONG, &nothing)?.limit();
    let run = |words: &[_]| meter::run(place, person, &home, limit, words);
    let mut lines = empty(person, None, ways);
    for _ in 0..count {
        for (line, way) in lines.iter_mut().zip(ways) {
            line.pairs.push((run(&nothing)?, run(&on(way, &nothing))?));
        }
    }
    lines.retain(|line| line.way != BARE);
    Ok(lines)
}

fn empty(person: Person, workload: Option<&str>, ways: &[Way]) -> Vec<Line> {
    ways.iter()
        .map(|way| Line {
            person: person.name(),
            workload: workload.map(str::to_owned),
            way: way.name.clone(),
            pairs: Vec::new(),
        })
        .collect()
}
