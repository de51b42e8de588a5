//! When to walk again: no sooner than 20 times as long after the last walk as that one took, so
//! that walking stays below 5 %, and 100 times where nobody asked for it (1 %, its thread counted);
//! nor before the task has grown by an eighth of its age, up to a quarter of a second. Walks that
//! nobody asked for and that find the same again become rarer.

use super::walk::{Plan, Walk, Walked};
use record::unit::Nanos;
use std::io;

/// The pause after a walk, in durations of that walk: one that was asked for, and one that was not.
const PAUSE_FACTOR: [u64; 2] = [20, 100];
/// The pause is no shorter than this fraction of the age, within these bounds: a walk of a small
/// folder costs less than the thread it runs in.
const AGE_FRACTION: u64 = 8;
const PAUSE_MIN: [Nanos; 2] = [Nanos::from_millis(10), Nanos::from_millis(250)];
/// What the thread of a walk takes of a CPU to begin and to end (Linux 6.18). Where nobody asked
/// for the walk, the pause after it counts that too.
const THREAD_COST: Nanos = Nanos::from_micros(120);
/// A walk under way is asked for its result no sooner than this after it began, then after this
/// fraction of its age each.
const ASK_MIN: Nanos = Nanos::from_millis(1);
const ASK_FRACTION: u64 = 8;
/// Each walk within a budget that finds what the last one found doubles that, so many times.
const SAME_MAX: u32 = 4;

/// Walks the same folders again and again, one walk at a time.
#[derive(Debug)]
pub struct Footprint {
    plan: Plan,
    walk: Option<Walk>,
    /// When it began, and how long the last one took.
    began: Nanos,
    took: Nanos,
    not_before: Nanos,
    /// The first tick.
    start: Option<Nanos>,
    /// What the last walk found, and how many before it found the same.
    found: (u64, u64),
    same: u32,
}

impl Footprint {
    /// Measures what `plan` says, again and again. Nothing starts yet.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            walk: None,
            began: Nanos(0),
            took: Nanos(0),
            not_before: Nanos(0),
            start: None,
            found: (0, 0),
            same: 0,
        }
    }

    /// Leaves out one more file (device, inode) from the next walk on.
    pub fn exclude(&mut self, file: (u64, u64)) {
        if !self.plan.exclude.contains(&file) {
            self.plan.exclude.push(file);
        }
    }

    /// Collects a finished walk and starts the next one if its time has come. Never blocks.
    ///
    /// # Errors
    /// That no thread could be made, or that a walk ended without a result.
    pub fn tick(&mut self, now: Nanos) -> io::Result<Option<Walked>> {
        let start = *self.start.get_or_insert(now);
        let Some(walk) = &mut self.walk else {
            if now >= self.not_before {
                self.start()?;
                self.began = now;
            }
            return Ok(None);
        };
        let result = walk.poll();
        if let Ok(None) = result {
            return Ok(None);
        }
        self.walk = None;
        if let Ok(Some(walked)) = &result {
            let found = (walked.bytes().0, walked.files());
            let is_unasked = self.plan.budget.is_some();
            let same = is_unasked && found == self.found;
            self.same = if same { self.same + 1 } else { 0 };
            self.found = found;
            self.took = walked.took;
            let pause = pause(walked.took, is_unasked);
            self.not_before = next_start(now, pause, now.since(start), self.same);
        }
        result
    }

    /// Starts a walk now unless one is under way: for a last look after the end of the task.
    ///
    /// # Errors
    /// That no thread could be made.
    pub fn start(&mut self) -> io::Result<()> {
        if self.walk.is_none() {
            self.walk = Some(Walk::start(self.plan.clone())?);
        }
        Ok(())
    }

    /// Whether a walk is under way.
    pub fn is_walking(&self) -> bool {
        self.walk.is_some()
    }

    /// When the next [`Footprint::tick`] has something to do: the walk under way should have ended,
    /// or the next one may start.
    pub fn due(&self, now: Nanos) -> Nanos {
        if self.walk.is_none() {
            return self.not_before;
        }
        let usual = self.began.plus(self.took.max(ASK_MIN));
        let again = Nanos(now.since(self.began).0 / ASK_FRACTION).max(ASK_MIN);
        if usual > now { usual } else { now.plus(again) }
    }

    /// Entries seen so far by the walk under way; `None` without one.
    pub fn progress(&self) -> Option<u64> {
        self.walk.as_ref().map(Walk::entries)
    }
}

fn pause(took: Nanos, is_unasked: bool) -> Nanos {
    let [asked, unasked] = PAUSE_FACTOR;
    Nanos(if is_unasked {
        took.plus(THREAD_COST).0.saturating_mul(unasked)
    } else {
        took.0.saturating_mul(asked)
    })
}

fn next_start(end: Nanos, pause: Nanos, age: Nanos, same: u32) -> Nanos {
    let least = Nanos(age.0 / AGE_FRACTION).clamp(PAUSE_MIN[0], PAUSE_MIN[1]);
    let least = Nanos(least.0 << same.min(SAME_MAX));
    end.plus(least.max(pause))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finish(footprint: &mut Footprint, now: Nanos) -> Walked {
        loop {
            if let Some(walked) = footprint.tick(now).unwrap() {
                return walked;
            }
            assert!(footprint.is_walking());
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_next_walk_waits_for_the_pause_or_the_age() {
        let next =
            |pause, age, same| next_start(Nanos(100), Nanos(pause), Nanos(age), same).0 - 100;
        assert_eq!(next(140_000_000, 0, 0), 140_000_000);
        assert_eq!(next(u64::MAX, 0, 0), u64::MAX - 100);
        assert_eq!(next(7, 0, 0), 10_000_000);
        assert_eq!(next(7, 800_000_000, 0), 100_000_000);
        assert_eq!(next(7, 80_000_000_000, 0), 250_000_000);
        assert_eq!(next(7, 80_000_000_000, 99), 4_000_000_000);
    }

    #[test]
    fn walks_that_nobody_asked_for_are_five_times_rarer() {
        let dir = tempfile::tempdir().unwrap();
        let pause = |budget| {
            let dirs = vec![dir.path().to_owned()];
            let plan = Plan {
                dirs,
                budget,
                ..Plan::default()
            };
            let mut footprint = Footprint::new(plan);
            footprint.tick(Nanos(0)).unwrap();
            let walked = finish(&mut footprint, Nanos(1));
            (footprint.due(Nanos(1)).0 - 1, walked.took.0)
        };
        let (asked, took) = pause(None);
        assert_eq!(asked, (20 * took).max(PAUSE_MIN[0].0));
        let (unasked, took) = pause(Some(std::time::Duration::from_secs(60)));
        // Beside the walk it is the thread that costs.
        assert_eq!(unasked, 100 * (took + 120_000));
    }

    #[test]
    fn walks_do_not_overlap_and_keep_their_distance() {
        let name = format!("plimsoll-pace-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let dirs = vec![dir.clone()];
        let mut footprint = Footprint::new(Plan {
            dirs,
            ..Plan::default()
        });
        let now = Nanos(1000);
        assert_eq!(footprint.due(now), Nanos(0));
        assert_eq!(footprint.tick(now).unwrap(), None);
        assert_eq!(footprint.due(now), now.plus(ASK_MIN));
        let late = now.plus(Nanos::from_secs(80));
        assert_eq!(footprint.due(late), late.plus(Nanos::from_secs(10)));
        let walked = finish(&mut footprint, now);
        let pause = Nanos(walked.took.0 * PAUSE_FACTOR[0]);
        let due = next_start(now, pause, Nanos(0), 0);
        assert_eq!(footprint.due(now), due);
        assert_eq!(footprint.tick(Nanos(due.0 - 1)).unwrap(), None);
        assert!(!footprint.is_walking());
        footprint.tick(due).unwrap();
        assert!(footprint.is_walking());
        finish(&mut footprint, due);
        footprint.start().unwrap();
        assert!(footprint.is_walking());
        finish(&mut footprint, due);
        std::fs::remove_dir(&dir).unwrap();
    }
}
