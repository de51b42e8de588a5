//! Proportional set sizes on a budget: they tell shared pages apart, but cost the reader and,
//! through the lock
//! on the address space, the read process about 9 ms for each GiB of small pages.

use super::proc_pid_smaps_rollup;
use crate::root::Root;
use record::sample::ProcessSample;
use record::unit::{Bytes, Nanos};
use std::time::Instant;

/// What a reading costs for each byte resident, nanoseconds per MiB (8.8 ms per GiB, measured on
/// Linux 6.18).
const NS_PER_MIB: u64 = 8600;
/// What a reading costs in any case.
const NS_PER_PROCESS: u64 = 25_000;
/// Readings take at most one part in this of the task's age.
const SHARE: u64 = 50;
/// The first reading may be dearer, once the task is this old, if it stays below [`FIRST_MAX`].
const FIRST_AGE: Nanos = Nanos::from_millis(200);
const FIRST_MAX: u64 = 60_000_000;
/// A process larger than this is not stalled for it unless a limit is at stake.
const PROCESS_MAX: Bytes = Bytes(4 << 30);
/// A new reading is worth it when the sum of resident sets has grown by this, in percent.
const GROWTH_PERCENT: u64 = 10;

/// The budget and what was spent of it.
#[derive(Debug, Default)]
pub struct Scales {
    root: Root,
    spent_ns: u64,
    readings: u64,
    heaviest: u64,
    forced: bool,
}

impl Scales {
    /// Scales that read below `root`.
    pub fn new(root: Root) -> Self {
        Self {
            root,
            ..Self::default()
        }
    }

    /// A limit is at stake: the next pass is weighed whatever it costs.
    pub fn force(&mut self) {
        self.forced = true;
    }

    /// Fills in the proportional set sizes of `samples` if that is worth its cost and affordable at
    /// `age`.
    pub fn weigh(&mut self, samples: &mut [ProcessSample], age: Nanos) {
        let forced = std::mem::take(&mut self.forced);
        let rss = |sample: &ProcessSample| sample.memory.rss.map_or(0, |bytes| bytes.0);
        let sum: u64 = samples.iter().map(rss).sum();
        let several = samples.iter().filter(|sample| rss(sample) > 0).count() > 1;
        let grown = sum.saturating_mul(100) > self.heaviest.saturating_mul(100 + GROWTH_PERCENT);
        if !several || !(forced || grown && self.affords(sum, samples.len() as u64, age)) {
            return;
        }
        self.heaviest = self.heaviest.max(sum);
        self.readings += 1;
        let begun = Instant::now();
        for sample in samples.iter_mut() {
            if !forced && sample.memory.rss.is_some_and(|rss| rss > PROCESS_MAX) {
                continue;
            }
            // One that ended meanwhile, or that we may not read, stays unweighed.
            if let Ok(weight) = proc_pid_smaps_rollup::read(&self.root, sample.id.pid) {
                sample.memory.pss = weight.pss;
                sample.memory.pss_unreclaimable = weight.unreclaimable();
            }
        }
        let spent = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.spent_ns = self.spent_ns.saturating_add(spent);
    }

    fn affords(&self, sum: u64, processes: u64, age: Nanos) -> bool {
        let cost = (sum >> 20) * NS_PER_MIB + processes * NS_PER_PROCESS;
        let first = self.readings == 0 && age >= FIRST_AGE && cost <= FIRST_MAX;
        first || cost <= (age.0 / SHARE).saturating_sub(self.spent_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weighing_keeps_to_its_budget() {
        let mut scales = Scales::default();
        let gib = 1 << 30;
        assert!(!scales.affords(4 * gib, 8, Nanos::from_millis(100)));
        assert!(scales.affords(4 * gib, 8, Nanos::from_millis(250)));
        scales.readings = 1;
        assert!(!scales.affords(4 * gib, 8, Nanos::from_secs(1)));
        assert!(scales.affords(4 * gib, 8, Nanos::from_secs(3)));
        scales.spent_ns = 50_000_000;
        assert!(!scales.affords(4 * gib, 8, Nanos::from_secs(3)));
    }
}
