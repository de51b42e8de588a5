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
}

impl Top {
    /// Takes a process into consideration.
    pub(crate) fn offer(&mut self, candidate: Candidate) {
        if candidate.cpu.is_none() && candidate.rss.is_none() {
            return;
        }
        self.held.push(candidate);
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

    #[test]
    fn the_busiest_and_the_largest_stay_among_many() {
        let mut top = Top::default();
        for pid in 0..100_000u32 {
            top.offer(Candidate {
                pid,
                command: Arc::from(b"x\0".as_slice()),
                cpu: Some(Nanos(if pid == 777 {
                    1 << 40
                } else {
                    u64::from(pid % 9)
                })),
                rss: Some(if pid == 31_337 { 1 << 40 } else { 7 }),
            });
        }
        assert!(top.held.len() <= HELD);
        let list = top.list();
        assert_eq!(list[0].pid, 777);
        assert!(list.iter().any(|p| p.pid == 31_337));
    }
}
