//! What the memory of processes weighs, each page divided by its users: within the agent's leisure,
//! never of large processes, first of those that share most.
//!
//! To weigh a process walks its page tables under the lock of its memory, some 9 ms for each GiB of
//! small pages, so one of the largest that are weighed is held up by 2 ms at most.

use super::detail::{Asker, Job};
use record::identity::ProcessId;
use record::sample::{Memory, ProcessSample};
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use rustc_hash::FxHashMap;
use source::aside::Haste;
use source::query::proc_pid_smaps_rollup::SmapsRollup;

/// A larger process is not held up for it.
const PROCESS_MAX: Bytes = Bytes(256 << 20);
/// So many are asked at once, and of so many processes one more; the next ones when these have
/// answered, and not sooner than after so long.
const ASKED_LEAST: usize = 8;
const ASKED_MAX: usize = 64;
const PROCESSES_FOR_ONE: usize = 60;
const CHOICE_AFTER: Nanos = Nanos::from_secs(5);
/// One is weighed again after so long if its resident set is another by more than a tenth, and
/// after so long in any case.
const CHANGED_AFTER: Nanos = Nanos::from_secs(60);
const CHANGED_PERCENT: u64 = 10;
const AGAIN_AFTER: Nanos = Nanos::from_secs(900);
/// Who may not be weighed, or did not answer, is asked again after so long.
const REFUSED_AFTER: Nanos = Nanos::from_secs(3600);

/// What was weighed.
pub(super) struct Weights {
    weighs: bool,
    /// When each was asked last; those of ended processes go with the next choice.
    asked: FxHashMap<ProcessId, Asked>,
    /// Not answered yet.
    waiting: usize,
    /// When to choose the next ones.
    due: Nanos,
    /// Since the last reading.
    fresh: FxHashMap<ProcessId, SmapsRollup>,
}

struct Asked {
    at: Nanos,
    rss: Bytes,
    is_waiting: bool,
    is_refused: bool,
}

impl Weights {
    pub(super) fn new(weighs: bool) -> Self {
        Self {
            weighs,
            asked: FxHashMap::default(),
            waiting: 0,
            due: Nanos(0),
            fresh: FxHashMap::default(),
        }
    }

    /// Fills in what was weighed since the last reading; `samples` are in the order of their ids.
    pub(super) fn fill(&mut self, samples: &mut [ProcessSample]) {
        for (id, weight) in self.fresh.drain() {
            let found = samples.binary_search_by_key(&id.pid, |one| one.id.pid);
            let sample = found.ok().and_then(|place| samples.get_mut(place));
            if let Some(sample) = sample.filter(|sample| sample.id == id) {
                sample.memory.pss = weight.pss;
                sample.memory.pss_unreclaimable = weight.unreclaimable();
                sample.memory.swap_pss = weight.pss_swap;
                sample.revision = None;
            }
        }
    }

    /// A reading at `at` met these: asks those that deserve it most, once the last ones answered.
    pub(super) fn met<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a ProcessSample>,
        asker: &Asker,
        at: Nanos,
    ) {
        if !self.weighs || self.waiting > 0 || at < self.due {
            return;
        }
        self.due = at.plus(CHOICE_AFTER);
        let mut before = std::mem::take(&mut self.asked);
        let mut due = Vec::new();
        for sample in samples {
            let last = before.remove(&sample.id);
            if let Some(merit) = merit(sample, last.as_ref(), at) {
                due.push((merit, sample.id, rss(sample)));
            }
            if let Some(last) = last {
                self.asked.insert(sample.id, last);
            }
        }
        let asked_max = self.asked.len().max(due.len()) / PROCESSES_FOR_ONE + ASKED_LEAST;
        let asked_max = asked_max.min(ASKED_MAX);
        if due.len() > asked_max {
            due.select_nth_unstable_by(asked_max - 1, |one, other| other.0.cmp(&one.0));
            due.truncate(asked_max);
        }
        due.sort_unstable_by_key(|one| std::cmp::Reverse(one.0));
        for (_, id, rss) in due {
            if asker.ask(Job::Weight(id), Haste::Leisure).is_err() {
                break;
            }
            self.waiting += 1;
            let asked = Asked {
                at,
                rss,
                is_waiting: true,
                is_refused: false,
            };
            self.asked.insert(id, asked);
        }
    }

    /// What a process weighs, or why that is not known.
    pub(super) fn answered(
        &mut self,
        id: ProcessId,
        weight: Result<SmapsRollup, Absent>,
        at: Nanos,
    ) {
        self.ends(id, at, weight.is_err());
        if let Ok(weight) = weight {
            self.fresh.insert(id, weight);
        }
    }

    /// A process does not answer.
    pub(super) fn unanswered(&mut self, id: ProcessId, at: Nanos) {
        self.ends(id, at, true);
    }

    fn ends(&mut self, id: ProcessId, at: Nanos, is_refused: bool) {
        if let Some(asked) = self.asked.get_mut(&id) {
            self.waiting -= usize::from(asked.is_waiting);
            (asked.at, asked.is_waiting, asked.is_refused) = (at, false, is_refused);
        }
    }
}

fn rss(sample: &ProcessSample) -> Bytes {
    sample.memory.rss.unwrap_or(Bytes(0))
}

/// What of a process may be shared: pages of files and shared memory, all where that is not told.
fn shared(memory: &Memory) -> u64 {
    let all = memory.rss.map_or(0, |rss| rss.0);
    memory
        .rss_anon
        .map_or(all, |anon| all.saturating_sub(anon.0))
}

/// How much a process deserves to be weighed at `at`, if it does: never weighed ones before others,
/// then by what they share and for how long nobody looked.
fn merit(sample: &ProcessSample, last: Option<&Asked>, at: Nanos) -> Option<(bool, u128)> {
    let rss = rss(sample);
    if rss.0 == 0 || rss > PROCESS_MAX || sample.memory_of.is_some() || sample.has_ended() {
        return None;
    }
    let shared = u128::from(shared(&sample.memory));
    let Some(last) = last else {
        return Some((true, shared));
    };
    let age = at.since(last.at);
    let has_changed = rss.0.abs_diff(last.rss.0) * 100 > last.rss.0 * CHANGED_PERCENT;
    let is_due = match () {
        () if last.is_refused => age >= REFUSED_AFTER,
        () if has_changed => age >= CHANGED_AFTER,
        () => age >= AGAIN_AFTER,
    };
    is_due.then(|| (false, shared * u128::from(age.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::sample::Counters;

    fn sample(rss_mib: u64, anon_mib: u64) -> ProcessSample {
        let mib = |mib: u64| Some(Bytes(mib << 20));
        ProcessSample {
            id: ProcessId::new(1, Nanos(0)),
            ppid: 0,
            pgid: 0,
            sid: 0,
            state: 'S',
            comm: [].into(),
            threads: Some(1),
            own: Counters::default(),
            with_children: Counters::default(),
            memory: Memory {
                rss: mib(rss_mib),
                rss_anon: mib(anon_mib),
                ..Memory::default()
            },
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
        }
    }

    fn asked(rss_mib: u64, is_refused: bool) -> Asked {
        Asked {
            at: Nanos(0),
            rss: Bytes(rss_mib << 20),
            is_waiting: false,
            is_refused,
        }
    }

    #[test]
    fn who_shares_most_comes_first_and_large_ones_never() {
        let of = |rss, anon| merit(&sample(rss, anon), None, Nanos(0));
        assert!(of(200, 50) > of(200, 190) && of(20, 0) > of(200, 190));
        assert_eq!((of(257, 0), of(0, 0)), (None, None));
        // Never weighed before all others.
        let last = asked(1, false);
        let again = merit(&sample(200, 0), Some(&last), Nanos::from_secs(10_000));
        assert!(of(2, 1) > again && again.is_some());
    }

    #[test]
    fn one_is_weighed_again_when_it_has_changed_or_after_long() {
        let after = |rss, is_refused, secs| {
            let last = asked(100, is_refused);
            merit(&sample(rss, 0), Some(&last), Nanos::from_secs(secs)).is_some()
        };
        assert!(!after(130, false, 59) && after(130, false, 60) && after(70, false, 60));
        assert!(!after(105, false, 899) && after(105, false, 900));
        assert!(!after(200, true, 3599) && after(200, true, 3600));
    }
}
