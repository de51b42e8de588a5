//! What the living processes of each job use together.

use super::people::{Counter, Gone, Person};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The processes of one job; what none of them tells is not known.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Load {
    pub(crate) identifier: String,
    /// Whose the first of them is.
    pub(crate) user: Option<String>,
    pub(crate) processes: u64,
    pub(crate) threads: Option<f64>,
    /// Processes that ended since the reading before, where ends are told.
    pub(crate) ended: u64,
    /// CPUs that are busy with it, those who ended included.
    pub(crate) cores: Option<f64>,
    /// Threads that wait for a CPU.
    pub(crate) wait: Option<f64>,
    /// Resident sets: shared pages count in each.
    pub(crate) rss_bytes: Option<f64>,
    /// Anonymous and shared memory.
    pub(crate) memory_bytes: Option<f64>,
    /// Bytes a second.
    pub(crate) read: Option<f64>,
    pub(crate) written: Option<f64>,
    /// When the oldest of them began, since boot.
    pub(crate) first_start_ns: i64,
}

/// The jobs of these processes, those that use most first.
pub(crate) fn by_job<'a>(
    all: impl Iterator<Item = &'a Person>,
    gone: &FxHashMap<String, Gone>,
) -> Vec<Load> {
    let mut jobs: BTreeMap<&str, Load> = BTreeMap::new();
    for one in all {
        let Some(identifier) = one.job.as_deref().filter(|job| !job.is_empty()) else {
            continue;
        };
        let load = jobs.entry(identifier).or_insert_with(|| Load {
            identifier: identifier.to_owned(),
            first_start_ns: i64::MAX,
            ..Load::default()
        });
        load.add(one);
    }
    for (identifier, gone) in gone {
        if let Some(load) = jobs.get_mut(identifier.as_str()) {
            load.ended = gone.processes;
            load.cores = Some(load.cores.unwrap_or(0.0) + gone.share);
        }
    }
    let mut loads: Vec<Load> = jobs.into_values().collect();
    // They are in the order of their names, which stays where they use the same.
    loads.sort_by(|a, b| b.cores.unwrap_or(0.0).total_cmp(&a.cores.unwrap_or(0.0)));
    loads
}

impl Load {
    fn add(&mut self, one: &Person) {
        let whole = |value: Option<i64>| value.map(|it| it as f64);
        self.processes += 1;
        if one.start_ns < self.first_start_ns {
            self.first_start_ns = one.start_ns;
            self.user = one.user.clone().or_else(|| self.user.take());
        }
        for (sum, value) in [
            (&mut self.threads, whole(one.threads)),
            (&mut self.cores, one.share(Counter::Cpu)),
            (&mut self.wait, one.share(Counter::CpuWait)),
            (&mut self.rss_bytes, whole(one.rss_bytes)),
            (&mut self.memory_bytes, whole(one.memory_bytes)),
            (&mut self.read, one.rate(Counter::Read)),
            (&mut self.written, one.rate(Counter::Written)),
        ] {
            *sum = match (*sum, value) {
                (Some(sum), Some(value)) => Some(sum + value),
                (sum, value) => sum.or(value),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::people::tests::people;

    #[test]
    fn what_is_not_told_is_not_counted_as_nothing() {
        let people = people();
        let mut all: Vec<Person> = people.living().cloned().collect();
        all.iter_mut()
            .for_each(|one| one.job = Some("7".to_owned()));
        let dead = Gone {
            processes: 3,
            share: 0.25,
        };
        let gone = FxHashMap::from_iter([("7".to_owned(), dead), ("8".to_owned(), dead)]);
        let loads = by_job(all.iter(), &gone);
        let [load] = loads.as_slice() else {
            panic!("{loads:?}");
        };
        assert_eq!((load.processes, load.ended, load.cores), (2, 3, Some(0.75)));
        assert_eq!(load.rss_bytes, Some(1_048_576.0), "one of them tells it");
        assert_eq!((load.written, load.wait), (None, None));
        all.iter_mut().for_each(|one| one.job = None);
        assert!(by_job(all.iter(), &gone).is_empty());
    }
}
