//! Interleaved pairs: bare and watched by turns, so that what disturbs one disturbs the other.

use super::meter::{self, Reading};
use super::person::Person;
use super::place::Place;
use super::ways::{BARE, Way, on};
use super::workload::Workload;
use anyhow::Result;

/// All pairs of one workload, one user and one way.
#[derive(Debug)]
pub(super) struct Line {
    /// Who ran it.
    pub(super) person: &'static str,
    /// What ran; `None` for the fixed cost of a command that does nothing.
    pub(super) workload: Option<&'static str>,
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
    let run = |words: &[_]| meter::run(place, person, &workload.folder, words);
    // Fills caches; its figures say nothing.
    run(&workload.command)?;
    let mut lines = empty(person, Some(workload.name), ways);
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
    let run = |words: &[_]| meter::run(place, person, &place.home(person), words);
    let mut lines = empty(person, None, ways);
    for _ in 0..count {
        for (line, way) in lines.iter_mut().zip(ways) {
            line.pairs.push((run(&nothing)?, run(&on(way, &nothing))?));
        }
    }
    lines.retain(|line| line.way != BARE);
    Ok(lines)
}

fn empty(person: Person, workload: Option<&'static str>, ways: &[Way]) -> Vec<Line> {
    ways.iter()
        .map(|way| Line {
            person: person.name(),
            workload,
            way: way.name.clone(),
            pairs: Vec::new(),
        })
        .collect()
}
