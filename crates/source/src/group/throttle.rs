//! How long quotas of the groups above us held back whoever is in them. The kernel counts in the
//! group that has the quota, and in none below it.

use super::content::value_of;
use record::unit::Nanos;
use std::path::PathBuf;
use sys::cgroup::{ControlDir, Controller, Place, Places};

/// Microseconds in v2, nanoseconds in v1.
const NS_PER_US: u64 = 1000;

/// The counts as of the start of the task.
#[derive(Debug, Default)]
pub struct Throttles(Vec<Level>);

/// A group with a quota.
#[derive(Debug)]
struct Level {
    dir: ControlDir,
    begin: Counts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counts {
    times: u64,
    time_ns: u64,
}

/// What one quota held back since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which the quota ran out.
    pub times: u64,
    /// How long the threads of a CPU were held back, added over the CPUs.
    pub time: Nanos,
    /// The file that tells.
    pub source: PathBuf,
}

impl Throttles {
    /// Counts from now on.
    pub fn begin(places: &Places) -> Self {
        let v1 = places.v1(Controller::Cpu).into_iter();
        let v2 = places.v2.as_ref();
        let with_quota = v1.chain(v2).flat_map(Place::upwards).filter(has_quota);
        let levels = with_quota.filter_map(|dir| {
            let begin = counts(&dir)?;
            Some(Level { dir, begin })
        });
        Self(levels.collect())
    }

    /// The nearest quota that held somebody back since.
    pub fn found(&self) -> Option<Throttled> {
        self.0.iter().find_map(|Level { dir, begin }| {
            let now = counts(dir)?;
            let time_ns = now.time_ns.checked_sub(begin.time_ns)?;
            (time_ns > 0).then(|| Throttled {
                times: now.times.saturating_sub(begin.times),
                time: Nanos(time_ns),
                source: dir.path().join(STAT),
            })
        })
    }
}

const STAT: &str = "cpu.stat";

fn has_quota(dir: &ControlDir) -> bool {
    let v2 = dir.read("cpu.max").ok();
    let v1 = || dir.read("cpu.cfs_quota_us").ok();
    // `max 100000`, or -1: there is none.
    v2.or_else(v1)
        .is_some_and(|text| text.starts_with(|first: char| first.is_ascii_digit()))
}

fn counts(dir: &ControlDir) -> Option<Counts> {
    let text = dir.read(STAT).ok()?;
    let v2 = value_of(&text, "throttled_usec").map(|us| us.saturating_mul(NS_PER_US));
    Some(Counts {
        times: value_of(&text, "nr_throttled")?,
        time_ns: v2.or_else(|| value_of(&text, "throttled_time"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn write(dir: &Path, file: &str, text: &str) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join(file), text).unwrap();
    }

    fn places(top: &Path, is_v2: bool) -> Places {
        let place = Place {
            top: top.to_owned(),
            dir: ControlDir::new(top.join("job/step")),
        };
        match is_v2 {
            true => Places {
                v2: Some(place),
                v1: Vec::new(),
            },
            false => Places {
                v2: None,
                v1: vec![(Controller::Cpu, place)],
            },
        }
    }

    #[test]
    fn the_group_with_the_quota_tells() {
        for (is_v2, quota, none, time) in [
            (true, "cpu.max", "max 100000\n", "throttled_usec"),
            (false, "cpu.cfs_quota_us", "-1\n", "throttled_time"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path();
            let stat = |times: u64, ns: u64| {
                let ns = if is_v2 { ns / 1000 } else { ns };
                format!("nr_periods 9\nnr_throttled {times}\n{time} {ns}\n")
            };
            write(&top.join("job/step"), quota, none);
            write(&top.join("job/step"), STAT, &stat(0, 0));
            write(&top.join("job"), quota, "20000 100000\n");
            write(&top.join("job"), STAT, &stat(5, 7_000_000));
            let throttles = Throttles::begin(&places(top, is_v2));
            assert_eq!(throttles.found(), None);
            write(&top.join("job"), STAT, &stat(8, 9_000_000));
            let found = Throttled {
                times: 3,
                time: Nanos(2_000_000),
                source: top.join("job").join(STAT),
            };
            assert_eq!(throttles.found(), Some(found));
        }
    }

    #[test]
    fn without_a_quota_nothing_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let throttles = Throttles::begin(&places(folder.path(), true));
        assert_eq!(throttles.found(), None);
        assert_eq!(Throttles::default().found(), None);
    }
}
