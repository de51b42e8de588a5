//! Proportional set sizes on a budget: they tell shared pages apart, but cost the reader and,
//! through the lock on the address space, the read process about 9 ms for each GiB of small pages.

use super::proc_pid_smaps_rollup::{self, SmapsRollup};
use super::{main_thread, proc_pid_status};
use crate::root::Root;
use record::sample::ProcessSample;
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use sys::clock::{self, Clock};

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

/// A reading during which the sum of resident sets changed by more than this, in percent, is none;
/// one is not begun while the sum changes by more from pass to pass, unless it does so for long.
const CHANGE_PERCENT: u64 = 3;
/// A reading is put off until the task is older by one part in this.
const PATIENCE: u64 = 2;

/// The budget and what was spent of it.
#[derive(Debug, Default)]
pub struct Scales {
    root: Root,
    spent_ns: u64,
    readings: u64,
    heaviest: u64,
    /// The sum of resident sets in the pass before.
    before: u64,
    /// How old the task was when a reading was put off.
    put_off: Option<Nanos>,
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

    /// Fills in the proportional set sizes of `samples` if that is worth its cost and affordable
    /// at `age`.
    ///
    /// A reading of several processes is no instant. If their resident sets changed meanwhile,
    /// pages may have been divided by another number of users in each: then the reading is thrown
    /// away.
    pub fn weigh(&mut self, samples: &mut [ProcessSample], age: Nanos) {
        let forced = std::mem::take(&mut self.forced);
        let sum: u64 = samples.iter().map(resident).sum();
        let several = samples.iter().filter(|sample| resident(sample) > 0).count() > 1;
        let grown = sum.saturating_mul(100) > self.heaviest.saturating_mul(100 + GROWTH_PERCENT);
        let before = std::mem::replace(&mut self.before, sum);
        let worth = several && grown && self.affords(sum, samples.len() as u64, age);
        let now = worth && (!changed(before, sum) || self.is_overdue(age));
        if !forced && !now {
            return;
        }
        self.put_off = None;
        self.readings += 1;
        // A reading that waits for a CPU costs nobody anything.
        let begun = clock::now(Clock::Thread);
        let weights = self.read(samples, forced);
        let after: u64 = samples.iter().map(|sample| self.resident_now(sample)).sum();
        let spent = clock::now(Clock::Thread).saturating_sub(begun);
        self.spent_ns = self.spent_ns.saturating_add(spent);
        let moved = changed(sum, after);
        if moved && !forced {
            return;
        }
        self.heaviest = self.heaviest.max(sum);
        for (sample, weight) in samples.iter_mut().zip(weights) {
            sample.pss_denied = weight == Err(Absent::NoPermission);
            let weight = weight.unwrap_or_default();
            sample.memory.pss = weight.pss;
            sample.memory.pss_unreclaimable = weight.unreclaimable();
        }
        if moved {
            take_off(samples, after.saturating_sub(sum));
        }
    }

    /// CPU time spent reading so far.
    pub fn spent(&self) -> Nanos {
        Nanos(self.spent_ns)
    }

    /// The weights in the order of `samples`; empty for one whose memory another has as well, or
    /// that is too large.
    fn read(&self, samples: &[ProcessSample], forced: bool) -> Vec<Result<SmapsRollup, Absent>> {
        let weigh = |sample: &ProcessSample| {
            if sample.memory_of.is_some() || !forced && resident(sample) > PROCESS_MAX.0 {
                return Ok(SmapsRollup::default());
            }
            let text = main_thread::read(&self.root, sample, "smaps_rollup")?;
            Ok(proc_pid_smaps_rollup::parse(&text))
        };
        samples.iter().map(weigh).collect()
    }

    fn resident_now(&self, sample: &ProcessSample) -> u64 {
        if sample.memory_of.is_some() {
            return 0;
        }
        // One that ended holds nothing any more.
        let text = main_thread::read(&self.root, sample, "status").ok();
        let status = text.map(|text| proc_pid_status::parse(&text));
        status
            .and_then(|status| status.memory.rss)
            .map_or(0, |rss| rss.0)
    }

    /// Whether waiting for the task to hold still has lasted long enough.
    fn is_overdue(&mut self, age: Nanos) -> bool {
        let since = *self.put_off.get_or_insert(age);
        age.since(since).0 > since.0 / PATIENCE
    }

    fn affords(&self, sum: u64, processes: u64, age: Nanos) -> bool {
        let cost = (sum >> 20) * NS_PER_MIB + processes * NS_PER_PROCESS;
        let first = self.readings == 0 && age >= FIRST_AGE && cost <= FIRST_MAX;
        first || cost <= (age.0 / SHARE).saturating_sub(self.spent_ns)
    }
}

fn changed(before: u64, sum: u64) -> bool {
    let difference = before.abs_diff(sum).saturating_mul(100);
    difference > before.max(sum).saturating_mul(CHANGE_PERCENT)
}

/// Takes `bytes` off the weights, from the first on.
fn take_off(samples: &mut [ProcessSample], mut bytes: u64) {
    for sample in samples {
        let memory = &mut sample.memory;
        let most = memory.pss.map_or(0, |pss| pss.0).min(bytes);
        memory.pss = memory.pss.map(|pss| Bytes(pss.0 - most));
        memory.pss_unreclaimable = memory
            .pss_unreclaimable
            .map(|pss| Bytes(pss.0.saturating_sub(most)));
        bytes -= most;
    }
}

/// What is resident and no other tells as well.
fn resident(sample: &ProcessSample) -> u64 {
    let own = sample.memory.rss.filter(|_| sample.memory_of.is_none());
    own.map_or(0, |bytes| bytes.0)
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

    #[test]
    fn a_task_that_moves_is_weighed_later_but_is_weighed() {
        let mut scales = Scales::default();
        assert!(changed(0, 100) && changed(100, 96) && !changed(100, 98) && !changed(0, 0));
        assert!(!scales.is_overdue(Nanos::from_millis(200)));
        assert!(!scales.is_overdue(Nanos::from_millis(300)));
        assert!(scales.is_overdue(Nanos::from_millis(301)));
    }

    #[test]
    fn what_was_added_while_weighing_is_taken_off_and_never_more() {
        let sample = |pss| ProcessSample {
            id: record::identity::ProcessId::new(1, Nanos(0)),
            ppid: 0,
            pgid: 0,
            sid: 0,
            state: 'S',
            comm: [].into(),
            threads: None,
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
            own: record::sample::Counters::default(),
            with_children: record::sample::Counters::default(),
            memory: record::sample::Memory {
                pss: Some(Bytes(pss)),
                pss_unreclaimable: Some(Bytes(pss / 2)),
                ..record::sample::Memory::default()
            },
        };
        let mut samples = [sample(10), sample(20), sample(30)];
        take_off(&mut samples, 25);
        let left: Vec<_> = samples
            .iter()
            .map(|one| one.memory.pss.unwrap().0)
            .collect();
        assert_eq!(left, [0, 5, 30]);
        assert_eq!(samples[1].memory.pss_unreclaimable, Some(Bytes(0)));
    }
}
