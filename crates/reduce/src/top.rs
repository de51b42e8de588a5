//! The processes that used most, kept without keeping them all.

use record::unit::{Bytes, Nanos};
use std::cmp::Reverse;
use std::sync::Arc;

/// Shown by CPU time and by memory, each.
const SHOWN: usize = 8;

/// Candidates held before the least are let go.
const HELD: usize = 64;

/// A process that used much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopProcess {
    /// Process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
    /// CPU time of its own, if known.
    pub cpu: Option<Nanos>,
    /// Highest resident set, if known.
    pub rss_peak: Option<Bytes>,
}

/// A candidate, cheap to hold.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) pid: u32,
    pub(crate) command: Arc<[u8]>,
    pub(crate) cpu: Option<Nanos>,
    pub(crate) rss: Option<u64>,
}

/// The largest so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Top {
    held: Vec<Candidate>,
    /// Of those held after the last cut: the least CPU time of the busiest, and the least memory of
    /// the largest. One that has no more of either would be cut.
    least: Option<(Option<Nanos>, Option<u64>)>,
}

impl Top {
    /// Takes a process into consideration, of which `make` tells the rest if it counts.
    pub(crate) fn offer(
        &mut self,
        cpu: Option<Nanos>,
        rss: Option<u64>,
        make: impl FnOnce() -> Candidate,
    ) {
        let is_less = self
            .least
            .is_some_and(|least| cpu <= least.0 && rss <= least.1);
        if is_less || cpu.is_none() && rss.is_none() {
            return;
        }
        self.held.push(make());
        if self.held.len() >= HELD {
            self.cut();
        }
    }

    /// Keeps the largest by CPU time and the largest by memory.
    fn cut(&mut self) {
        self.held.sort_by_key(|b| Reverse(b.cpu));
        if let Some(rest) = self.held.get_mut(SHOWN..) {
            rest.sort_by_key(|b| Reverse(b.rss));
        }
        self.held.truncate(2 * SHOWN);
        let (busiest, largest) = (self.held.get(SHOWN - 1), self.held.get(2 * SHOWN - 1));
        self.least = busiest
            .zip(largest)
            .map(|(busiest, largest)| (busiest.cpu, largest.rss));
    }

    /// The largest, by CPU time.
    pub(crate) fn list(mut self) -> Vec<TopProcess> {
        self.cut();
        self.held.sort_by_key(|b| Reverse(b.cpu));
        let shown = self.held.into_iter().map(|held| TopProcess {
            pid: held.pid,
            command: crate::life::line(&held.command),
            cpu: held.cpu,
            rss_peak: held.rss.map(Bytes),
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(pid: u32, cpu: Option<Nanos>, rss: Option<u64>) -> Candidate {
        Candidate {
            pid,
            command: Arc::from(b"x\0".as_slice()),
            cpu,
            rss,
        }
    }

    #[test]
    fn the_busiest_and_the_largest_stay_among_many() {
        let mut top = Top::default();
        for pid in 0..100_000u32 {
            let cpu = Some(Nanos(if pid == 777 {
                1 << 40
            } else {
                u64::from(pid % 9)
            }));
            let rss = Some(if pid == 31_337 { 1 << 40 } else { 7 });
            top.offer(cpu, rss, || candidate(pid, cpu, rss));
        }
        assert!(top.held.len() <= HELD);
        let list = top.list();
        assert_eq!(list[0].pid, 777);
        assert!(list.iter().any(|p| p.pid == 31_337));
    }

    #[test]
    fn who_is_left_out_at_once_would_have_been_cut() {
        let (mut top, mut all) = (Top::default(), Vec::new());
        let mut state = 1u64;
        for pid in 0..5000u32 {
            let mut draw = |of: u64| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) % of
            };
            let cpu = (draw(5) > 0).then_some(Nanos(draw(1 << 20)));
            let rss = (draw(5) > 0).then_some(draw(1 << 20));
            top.offer(cpu, rss, || candidate(pid, cpu, rss));
            all.push((pid, cpu, rss));
        }
        let mut expected: Vec<_> = {
            all.sort_by_key(|one| Reverse(one.1));
            let (busiest, rest) = all.split_at_mut(SHOWN);
            rest.sort_by_key(|one| Reverse(one.2));
            let largest = rest.iter().take(SHOWN);
            busiest.iter().chain(largest).map(|one| one.0).collect()
        };
        let mut found: Vec<_> = top.list().iter().map(|one| one.pid).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
