//! When to walk again: no sooner than 20 times as long after the last walk as that one took, so
//! that walking stays below 5 %.

use super::walk::{Walk, Walked};
use record::unit::Nanos;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The pause after a walk, in durations of that walk.
const PAUSE_FACTOR: u64 = 20;

/// Walks the same folders again and again, one walk at a time.
#[derive(Debug)]
pub struct Footprint {
    dirs: Vec<PathBuf>,
    budget: Option<Duration>,
    exclude: Vec<(u64, u64)>,
    walk: Option<Walk>,
    not_before: Nanos,
}

impl Footprint {
    /// Measures `dirs` within `budget` a walk, leaving out `exclude` (device, inode). Nothing
    /// starts yet.
    pub fn new(dirs: Vec<PathBuf>, budget: Option<Duration>, exclude: Vec<(u64, u64)>) -> Self {
        Self {
            dirs,
            budget,
            exclude,
            walk: None,
            not_before: Nanos(0),
        }
    }

    /// Leaves out one more file (device, inode) from the next walk on.
    pub fn exclude(&mut self, file: (u64, u64)) {
        if !self.exclude.contains(&file) {
            self.exclude.push(file);
        }
    }

    /// Collects a finished walk and starts the next one if its time has come. Never blocks.
    ///
    /// # Errors
    /// That no thread could be made, or that a walk ended without a result.
    pub fn tick(&mut self, now: Nanos) -> io::Result<Option<Walked>> {
        let Some(walk) = &mut self.walk else {
            if now >= self.not_before {
                self.start()?;
            }
            return Ok(None);
        };
        let result = walk.poll();
        if let Ok(None) = result {
            return Ok(None);
        }
        self.walk = None;
        if let Ok(Some(walked)) = &result {
            self.not_before = next_start(now, walked.took);
        }
        result
    }

    /// Starts a walk now unless one is under way: for a last look after the end of the task.
    ///
    /// # Errors
    /// That no thread could be made.
    pub fn start(&mut self) -> io::Result<()> {
        if self.walk.is_none() {
            let (dirs, exclude) = (self.dirs.clone(), self.exclude.clone());
            self.walk = Some(Walk::start(dirs, self.budget, exclude)?);
        }
        Ok(())
    }

    /// Whether a walk is under way.
    pub fn is_walking(&self) -> bool {
        self.walk.is_some()
    }

    /// Entries seen so far by the walk under way; `None` without one.
    pub fn progress(&self) -> Option<u64> {
        self.walk.as_ref().map(Walk::entries)
    }
}

fn next_start(end: Nanos, took: Nanos) -> Nanos {
    end.plus(Nanos(took.0.saturating_mul(PAUSE_FACTOR)))
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
    fn the_next_walk_waits_twenty_times_as_long() {
        assert_eq!(next_start(Nanos(100), Nanos(7)), Nanos(240));
        assert_eq!(next_start(Nanos(1), Nanos(u64::MAX)), Nanos(u64::MAX));
    }

    #[test]
    fn walks_do_not_overlap_and_keep_their_distance() {
        let name = format!("plimsoll-pace-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let mut footprint = Footprint::new(vec![dir.clone()], None, Vec::new());
        let now = Nanos(1000);
        assert_eq!(footprint.tick(now).unwrap(), None);
        let walked = finish(&mut footprint, now);
        let due = next_start(now, walked.took);
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
