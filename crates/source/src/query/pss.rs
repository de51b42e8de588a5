//! The proportional set size on a budget: reading it costs the target 8.8 ms under its mmap lock for each GiB of 4 KiB
//! pages, so it may take no more than one percent of the time, and no single reading more than 10 ms unless forced.

use super::proc_pid_smaps_rollup;
use super::proc_pid_status;
use crate::root::Root;
use record::unit::{Bytes, Nanos};
use record::value::Absent;
use std::time::Instant;

/// Share of the elapsed time: one part in a hundred.
const SHARE: u64 = 100;
/// The longest single reading; as much may be saved up.
const READING_MAX: Nanos = Nanos::from_millis(10);
/// What a reading costs whatever the size, and for each GiB (measured, MECHANISMS.md section 5).
const COST_FIXED: Nanos = Nanos::from_micros(20);
const COST_PER_GIB: Nanos = Nanos::from_micros(8800);

/// A proportional set size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pss {
    /// All of it.
    pub total: Bytes,
    /// Anonymous and shared memory, which reclaim cannot simply drop (Linux 5.4).
    pub unreclaimable: Option<Bytes>,
}

/// Reads proportional set sizes while the budget lasts.
#[derive(Debug)]
pub struct PssReader {
    root: Root,
    start: Instant,
    budget: Budget,
}

impl PssReader {
    /// A reader whose budget begins to fill now.
    pub fn new(root: Root) -> Self {
        Self {
            root,
            start: Instant::now(),
            budget: Budget::default(),
        }
    }

    /// The proportional set size of `pid`. `Off` where the budget does not allow it now (or ever, for a process
    /// above 1.1 GiB) and `force` is not set; `NoKernelSupport` before Linux 4.14.
    pub fn read(&mut self, pid: u32, force: bool) -> Result<Pss, Absent> {
        let status = proc_pid_status::read(&self.root, Some(pid))?;
        let rss = status.memory.rss.ok_or(Absent::NotApplicable)?;
        let now = elapsed(self.start);
        if !force && !self.budget.allows(now, estimate(rss)) {
            return Err(Absent::Off);
        }
        let rollup = proc_pid_smaps_rollup::read(&self.root, pid);
        self.budget.spend(now, elapsed(self.start).since(now));
        let rollup = rollup?;
        Ok(Pss {
            total: rollup.pss.ok_or(Absent::NoKernelSupport)?,
            unreclaimable: rollup.unreclaimable(),
        })
    }

    /// Time spent reading so far.
    pub fn spent(&self) -> Nanos {
        self.budget.spent
    }
}

fn elapsed(start: Instant) -> Nanos {
    Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

/// What reading a process of this resident set will cost it.
fn estimate(rss: Bytes) -> Nanos {
    let per_gib = (u128::from(rss.0) * u128::from(COST_PER_GIB.0)) >> 30;
    COST_FIXED.plus(Nanos(u64::try_from(per_gib).unwrap_or(u64::MAX)))
}

/// A bucket that one percent of the time flows into, of the size of one long reading.
#[derive(Debug, Default)]
struct Budget {
    /// Filled up to this instant.
    filled: Nanos,
    saved: Nanos,
    spent: Nanos,
}

impl Budget {
    fn allows(&mut self, now: Nanos, cost: Nanos) -> bool {
        let income = Nanos(now.since(self.filled).0 / SHARE);
        self.saved = self.saved.plus(income).min(READING_MAX);
        self.filled = now;
        cost <= self.saved
    }

    fn spend(&mut self, now: Nanos, cost: Nanos) {
        self.allows(now, cost);
        self.saved = self.saved.since(cost);
        self.spent = self.spent.plus(cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_percent_of_the_time_is_never_passed() {
        let (mut budget, mut spent) = (Budget::default(), 0);
        let cost = Nanos::from_micros(900);
        for ms in 0..10_000 {
            let now = Nanos::from_millis(ms);
            if budget.allows(now, cost) {
                budget.spend(now, cost);
                spent += cost.0;
            }
            assert!(spent <= now.0 / 100);
        }
        assert!(spent > 90_000_000, "and it is used: {spent}");
    }

    #[test]
    fn a_large_process_never_has_its_turn_unless_forced() {
        let mut budget = Budget::default();
        let long = Nanos::from_secs(100_000);
        assert!(!budget.allows(long, estimate(Bytes(2 << 30))));
        assert!(budget.allows(long, estimate(Bytes(1 << 30))));
        assert_eq!(estimate(Bytes(1 << 30)), Nanos::from_micros(8820));
        assert!(estimate(Bytes(u64::MAX)) > Nanos::from_secs(100_000_000));
    }

    #[test]
    fn this_process_has_a_proportional_set_within_its_resident_one() {
        let mut reader = PssReader::new(Root::default());
        let me = std::process::id();
        assert_eq!(
            reader.read(me, false),
            Err(Absent::Off),
            "nothing saved yet"
        );
        let pss = reader.read(me, true).unwrap();
        assert!(pss.unreclaimable.unwrap() <= pss.total);
        assert!(reader.spent() > Nanos(0));
        assert_eq!(reader.read(u32::MAX, true), Err(Absent::Gone));
    }
}
