//! Glances: between two passes the largest processes are read alone, as long as they grow, or the
//! memory of the group that holds them all. What came since it was read last is what a bound of
//! memory is wide by.

use record::unit::{Bytes, Nanos};
use std::cmp::Reverse;

/// Glances take at most this part of the time, the waking apart.
const COST_SHARE: u64 = 200;
/// No glance comes sooner after another.
const PAUSE_MIN: Nanos = Nanos::from_millis(5);
/// At a group, whose highest charge the kernel keeps anyway, no sooner than after this fraction of
/// the age of the task: each glance wakes us.
const GROUP_AGE_FRACTION: u64 = 32;
/// Processes looked at, of those that have at least a part of what the largest has.
const WHOM_MAX: usize = 4;
const PART_OF_LARGEST: u64 = 8;
/// Less than this is not worth a look, bytes.
const RSS_MIN: u64 = 1 << 20;
/// The same for the whole group: what small processes hold together comes and goes all the time.
const GROUP_MIN: u64 = 4 << 20;
/// Memory that came or went by less is no change: this part of it, and so many bytes.
const CHANGE_PART: u64 = 64;
const CHANGE_MIN: u64 = 128 << 10;
/// After so many glances without a change, each after twice the pause, there is none until a pass
/// finds one.
const QUIET_MAX: u32 = 5;

/// Whom to look at, and when.
#[derive(Debug, Default)]
pub(crate) struct Glance {
    whom: Vec<u32>,
    /// Not at processes, but at their group: the shortest pause.
    grouped: Option<Nanos>,
    next: Option<Nanos>,
    /// Glances in a row that found no change.
    quiet: u32,
    /// The resident sets of those looked at, when they were read last, bytes.
    rss: u64,
    cost: u64,
}

impl Glance {
    /// Those to look at, if it is time to.
    pub(crate) fn due(&self, now: Nanos) -> Option<&[u32]> {
        self.next.filter(|next| now >= *next).map(|_| &*self.whom)
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.next
    }

    /// A pass that began at `now` found these processes with these resident sets, bytes.
    pub(crate) fn passed(&mut self, now: Nanos, found: impl Iterator<Item = (u32, u64)>) {
        let mut large: Vec<_> = found.filter(|(_, rss)| *rss >= RSS_MIN).collect();
        large.sort_unstable_by_key(|(_, rss)| Reverse(*rss));
        large.truncate(WHOM_MAX);
        let least = large.first().map_or(0, |(_, rss)| rss / PART_OF_LARGEST);
        large.retain(|(_, rss)| *rss >= least);
        self.grouped = None;
        self.whom.clear();
        self.whom.extend(large.iter().map(|(pid, _)| pid));
        self.plan(now, large.iter().map(|(_, rss)| rss).sum());
    }

    /// A pass that began at `now` found so much memory in the group of the task, which is of this
    /// age.
    pub(crate) fn passed_group(&mut self, now: Nanos, age: Nanos, memory: Option<Bytes>) {
        self.whom.clear();
        let large = memory.is_some_and(|bytes| bytes.0 >= GROUP_MIN);
        let pause = PAUSE_MIN.max(Nanos(age.0 / GROUP_AGE_FRACTION));
        self.grouped = large.then_some(pause);
        self.plan(now, memory.map_or(0, |bytes| bytes.0));
    }

    /// A glance that began at `now` took `cost` nanoseconds of a CPU and found `rss` bytes in sum.
    pub(crate) fn glanced(&mut self, now: Nanos, cost: u64, rss: u64) {
        self.cost = cost;
        self.plan(now, rss);
    }

    fn plan(&mut self, now: Nanos, rss: u64) {
        let before = std::mem::replace(&mut self.rss, rss);
        let step = CHANGE_MIN.max(rss.max(before) / CHANGE_PART);
        self.quiet = match rss.abs_diff(before) > step {
            true => 0,
            false => (self.quiet + 1).min(QUIET_MAX),
        };
        let least = self.grouped.unwrap_or(PAUSE_MIN);
        let pause = least.max(Nanos(self.cost.saturating_mul(COST_SHARE)));
        let anyone = self.grouped.is_some() || !self.whom.is_empty();
        let wanted = self.quiet < QUIET_MAX && anyone;
        self.next = wanted.then(|| now.plus(Nanos(pause.0 << self.quiet)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_largest_are_looked_at_while_they_grow() {
        let mut glance = Glance::default();
        glance.passed(Nanos(0), (1..=6).map(|pid| (pid, u64::from(pid) * 4 * MIB)));
        assert_eq!(glance.due(Nanos(0)), None);
        let next = glance.next().unwrap();
        assert_eq!(glance.due(next), Some(&[6, 5, 4, 3][..]));
        glance.glanced(next, 1_000_000, 200 * MIB);
        let later = glance.next().unwrap();
        assert_eq!(later.since(next), Nanos::from_millis(200), "its share");
    }

    #[test]
    fn a_group_is_looked_at_as_a_whole() {
        let mut glance = Glance::default();
        let young = Nanos::from_millis(50);
        for (memory, next) in [
            (None, None),
            (Some(3 * MIB), None),
            (Some(8 * MIB), Some(5)),
        ] {
            glance.passed_group(Nanos(0), young, memory.map(Bytes));
            assert_eq!(glance.next(), next.map(Nanos::from_millis));
        }
        assert_eq!(glance.due(Nanos::from_millis(5)), Some(&[][..]));
        let old = Nanos::from_secs(32);
        glance.passed_group(Nanos(0), old, Some(Bytes(30 * MIB)));
        assert_eq!(glance.next(), Some(Nanos::from_secs(1)));
    }

    #[test]
    fn who_rests_is_left_alone_until_a_pass_finds_a_change() {
        let mut glance = Glance::default();
        let mut now = Nanos(0);
        let pass = |glance: &mut Glance, now, mib| glance.passed(now, [(1, mib * MIB)].into_iter());
        pass(&mut glance, now, 50);
        for _ in 0..QUIET_MAX {
            now = glance.next().unwrap();
            glance.glanced(now, 1000, 50 * MIB);
        }
        assert_eq!(glance.next(), None);
        pass(&mut glance, now, 50);
        assert_eq!(glance.next(), None);
        pass(&mut glance, now, 60);
        assert!(glance.next().is_some());
    }
}
