//! Compaction and retention while the agent runs: by a process of the keeper's, which ends with
//! that, so that nobody keeps the memory that it takes.

use super::say;
use crate::cmd::compact::{line_of, lines};
use record::unit::Nanos;
use std::path::Path;
use store::Error;
use store::compact::{Keep, Options, compact, retain};
use store::disk::RealDisk;
use sys::clock::{self, Clock};
use sys::process::{self, Fork};

/// What is done with the dataset now and then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Upkeep {
    /// How often; nothing for never.
    pub(crate) every: Option<Nanos>,
    /// What is kept; everything if that is not said.
    pub(crate) keep: Option<Keep>,
}

impl Upkeep {
    /// How old a segment becomes.
    pub(super) fn segment_age(self, most: Nanos) -> Nanos {
        self.every.map_or(most, |every| every.min(most))
    }
}

/// The next time, and who is at it.
#[derive(Debug)]
pub(super) struct Turns {
    upkeep: Upkeep,
    due: Option<Nanos>,
    at_work: Option<u32>,
}

/// A segment is as old as the time between two turns; a turn comes this part of it later.
const LATE: u64 = 16;
/// Who is at work is looked after this often.
const LOOK: Nanos = Nanos::from_secs(1);
/// The lowest priority.
const NICE: i32 = 19;
const SIGKILL: i32 = 9;
/// Exit status of work that could not be done.
const FAILED: i32 = 1;

impl Turns {
    /// The first turn comes when the first segment is whole.
    pub(super) fn new(upkeep: Upkeep) -> Self {
        let now = Nanos(clock::boot());
        let first = |every: Nanos| now.plus(every).plus(Nanos(every.0 / LATE));
        Self {
            upkeep,
            due: upkeep.every.map(first),
            at_work: None,
        }
    }

    /// How long the keeper may sleep; nothing for as long as it likes.
    pub(super) fn pause(&self) -> Option<Nanos> {
        let left = self.due.map(|due| due.since(Nanos(clock::boot())));
        match self.at_work {
            Some(_) => Some(left.map_or(LOOK, |left| left.min(LOOK))),
            None => left,
        }
    }

    /// Does what is due.
    pub(super) fn turn(&mut self, dataset: &Path) {
        if let Some(pid) = self.at_work
            && !matches!(process::wait_end(pid, false), Ok(None))
        {
            self.at_work = None;
        }
        let now = Nanos(clock::boot());
        let Some(every) = self.upkeep.every.filter(|_| self.due <= Some(now)) else {
            return;
        };
        self.due = Some(now.plus(every));
        if self.at_work.is_some() {
            return;
        }
        match process::fork() {
            Ok(Fork::Child) => {
                // Nobody is hurt by one that is not nicer.
                let _ = rustix::process::nice(NICE);
                process::exit_now(work(dataset, self.upkeep.keep));
            }
            Ok(Fork::Parent(pid)) => self.at_work = Some(pid),
            Err(error) => say(&format!("warning: no compaction: {error}")),
        }
    }

    /// Ends whoever is at work: what was begun is taken up by the next compaction.
    pub(super) fn end(&self) {
        if let Some(pid) = self.at_work {
            // It may have ended by itself.
            let _ = process::kill(pid, SIGKILL);
            let _ = process::wait_end(pid, true);
        }
    }
}

/// Tells people what was done; the exit status.
fn work(dataset: &Path, keep: Option<Keep>) -> i32 {
    match compact(&RealDisk, dataset, Options::default(), &mut |_, _| {}) {
        // Nobody has written a whole segment since.
        Ok(summary) if summary.segments == 0 => {}
        Ok(summary) => lines(&summary).iter().for_each(|line| say(line)),
        Err(error) => return failed(error),
    }
    let now = Nanos(clock::now(Clock::Real));
    match keep.map(|keep| retain(&RealDisk, dataset, keep, now)) {
        Some(Ok(removed)) if removed.hours > 0 => say(&line_of(&removed)),
        Some(Err(error)) => return failed(error),
        _ => {}
    }
    0
}

fn failed(error: Error) -> i32 {
    let text = crate::run::chain(&error.into());
    say(&format!("warning: the dataset stays as it is: {text}"));
    FAILED
}
