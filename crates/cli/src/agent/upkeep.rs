//! Compaction and retention while the agent runs: by a process of the keeper's, which ends with
//! that, so that nobody keeps the memory that it takes.

use super::say;
use crate::cmd::compact::{line_of, lines, unread};
use record::unit::{Bytes, Nanos};
use std::path::Path;
use store::Error;
use store::compact::{Keep, Merge, Options, Step, compact, retain};
use store::disk::RealDisk;
use sys::clock::{self, Clock};
use sys::heap;
use sys::process::{self, Fork};
use sys::scheduling;

/// What is done with the dataset now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Upkeep {
    /// How often; nothing for never.
    pub(crate) every: Option<Nanos>,
    /// What is kept; everything if that is not said.
    pub(crate) keep: Option<Keep>,
}

/// Words of an upkeep on its way to the keeper.
pub(super) const WORDS: usize = 3;

/// Stands for nothing in a word.
const NONE: u64 = u64::MAX;

impl Upkeep {
    /// As words for another process.
    pub(super) fn words(self) -> [u64; WORDS] {
        let age = self.keep.and_then(|keep| keep.age).map(|age| age.0);
        let bytes = self.keep.and_then(|keep| keep.bytes).map(|bytes| bytes.0);
        [self.every.map(|every| every.0), age, bytes].map(|word| word.unwrap_or(NONE))
    }

    /// From [`Upkeep::words`].
    pub(super) fn of_words(words: [u64; WORDS]) -> Self {
        let [every, age, bytes] = words.map(|word| Some(word).filter(|word| *word != NONE));
        let keep = Keep {
            age: age.map(Nanos),
            bytes: bytes.map(Bytes),
        };
        let is_all = keep.age.is_none() && keep.bytes.is_none();
        Self {
            every: every.map(Nanos),
            keep: (!is_all).then_some(keep),
        }
    }

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
/// An hour has a file or two of one node; what was compacted more often is made one.
const FILES_OF_HOUR: usize = 8;
/// The lowest priority.
const NICE: i32 = 19;
const SIGKILL: i32 = 9;
/// Exit status of work that could not be done.
const FAILED: i32 = 1;

/// When what is done so often is due first.
fn first(every: Nanos) -> Nanos {
    let now = Nanos(clock::boot());
    now.plus(every).plus(Nanos(every.0 / LATE))
}

impl Turns {
    /// The first turn comes when the first segment is whole.
    pub(super) fn new(upkeep: Upkeep) -> Self {
        Self {
            upkeep,
            due: upkeep.every.map(first),
            at_work: None,
        }
    }

    /// Does otherwise from now on.
    pub(super) fn set(&mut self, upkeep: Upkeep) {
        if upkeep.every != self.upkeep.every {
            self.due = upkeep.every.map(first);
        }
        self.upkeep = upkeep;
    }

    /// Who is at work, if anybody is.
    pub(super) fn at_work(&self) -> Option<u32> {
        self.at_work
    }

    /// How long the keeper may sleep; nothing for as long as it likes.
    pub(super) fn pause(&self) -> Option<Nanos> {
        let left = self.due.map(|due| due.since(Nanos(clock::boot())));
        match self.at_work {
            Some(_) => Some(left.map_or(LOOK, |left| left.min(LOOK))),
            None => left,
        }
    }

    /// Does what is due; whether it went well, of one that has ended since the last turn.
    pub(super) fn turn(&mut self, dataset: &Path) -> Option<bool> {
        let mut ended = None;
        if let Some(pid) = self.at_work {
            ended = match process::wait_end(pid, false) {
                Ok(None) => None,
                Ok(Some(waited)) => Some(waited.status == 0),
                Err(_) => Some(false),
            };
            self.at_work = self.at_work.filter(|_| ended.is_none());
        }
        let now = Nanos(clock::boot());
        let Some(every) = self.upkeep.every.filter(|_| self.due <= Some(now)) else {
            return ended;
        };
        self.due = Some(now.plus(every));
        if self.at_work.is_some() {
            return ended;
        }
        match process::fork() {
            Ok(Fork::Child) => {
                // Nobody is hurt by one that is not nicer.
                let _ = rustix::process::nice(NICE);
                let _ = scheduling::become_idle();
                process::exit_now(work(dataset, self.upkeep.keep));
            }
            Ok(Fork::Parent(pid)) => self.at_work = Some(pid),
            Err(error) => {
                say(&format!("warning: no compaction: {error}"));
                ended = Some(false);
            }
        }
        ended
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
    let now = Nanos(clock::now(Clock::Real));
    let options = Options {
        merge: Some(Merge {
            files: FILES_OF_HOUR,
            now,
        }),
        ..Options::default()
    };
    match compact(&RealDisk, dataset, options, &mut tell) {
        // Nobody has written a whole segment since.
        Ok(summary) if summary.segments == 0 && summary.files_merged == 0 => {}
        Ok(summary) => lines(&summary).iter().for_each(|line| say(line)),
        Err(error) => return failed(error),
    }
    match keep.map(|keep| retain(&RealDisk, dataset, keep, now)) {
        Some(Ok(removed)) if removed.hours > 0 => say(&line_of(&removed)),
        Some(Err(error)) => return failed(error),
        _ => {}
    }
    0
}

fn tell(step: Step<'_>) {
    match step {
        Step::Done(_) => {}
        Step::Freed => heap::trim(),
        Step::Unread(error) => say(&format!("warning: {}", unread(error))),
    }
}

fn failed(error: Error) -> i32 {
    let text = crate::run::chain(&error.into());
    say(&format!("warning: the dataset stays as it is: {text}"));
    FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upkeep_is_the_same_in_another_process() {
        let age = Some(Nanos::from_secs(5));
        let bytes = Some(Bytes(7));
        for keep in [
            None,
            Some(Keep { age, bytes: None }),
            Some(Keep { age: None, bytes }),
            Some(Keep { age, bytes }),
        ] {
            for every in [None, Some(Nanos::from_secs(1))] {
                let upkeep = Upkeep { every, keep };
                assert_eq!(Upkeep::of_words(upkeep.words()), upkeep);
            }
        }
    }

    #[test]
    fn a_new_period_counts_from_now_and_the_old_one_goes_on() {
        let hourly = Upkeep {
            every: Some(Nanos::from_secs(3600)),
            keep: None,
        };
        let mut turns = Turns::new(hourly);
        let due = turns.due;
        turns.set(Upkeep {
            keep: Some(Keep {
                age: Some(Nanos(1)),
                bytes: None,
            }),
            ..hourly
        });
        assert_eq!(turns.due, due);
        turns.set(Upkeep {
            every: Some(Nanos::from_secs(60)),
            keep: None,
        });
        assert!(turns.due < due);
        turns.set(Upkeep {
            every: None,
            keep: None,
        });
        assert_eq!((turns.due, turns.pause()), (None, None));
    }
}
