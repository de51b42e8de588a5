//! Cores kept busy over the last second, from the CPU time at each pass.

use record::unit::Nanos;
use std::collections::VecDeque;

/// What cores are kept busy over.
pub(crate) const SECOND: Nanos = Nanos(1_000_000_000);

/// Points kept; with more passes a second than that, the oldest go and the window shortens.
const POINTS_MAX: usize = 2048;

/// A window of a second over a growing counter.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    points: VecDeque<(Nanos, Nanos)>,
    best: Option<(f64, Nanos)>,
    now: Option<f64>,
    cpus: f64,
}

impl Window {
    /// A window over a counter that was 0 at `start`, on a machine with `cpus` processors.
    pub(crate) fn new(start: Nanos, cpus: u64) -> Self {
        Self {
            points: VecDeque::from([(start, Nanos(0))]),
            best: None,
            now: None,
            cpus: if cpus == 0 { f64::MAX } else { cpus as f64 },
        }
    }

    /// The counter stood at `cpu` at `at`.
    pub(crate) fn push(&mut self, at: Nanos, cpu: Nanos) {
        if self.points.back().is_some_and(|&(last, _)| at <= last) {
            return;
        }
        self.points.push_back((at, cpu));
        // The newest point that is a second old or older begins the window.
        while self.points.get(1).is_some_and(|p| at.since(p.0) >= SECOND)
            || self.points.len() > POINTS_MAX
        {
            self.points.pop_front();
        }
        let Some(&(from, before)) = self.points.front() else {
            return;
        };
        let span = at.since(from);
        let cores = cpu.since(before).0 as f64 / span.0.max(1) as f64;
        // A pass takes its time: what the task used meanwhile is counted to the second before it.
        let cores = cores.min(self.cpus);
        self.now = Some(cores);
        if span >= SECOND && self.best.is_none_or(|(best, _)| cores > best) {
            self.best = Some((cores, at));
        }
    }

    /// Cores busy over the last second, or since the start if that is shorter.
    pub(crate) fn now(&self) -> Option<f64> {
        self.now
    }

    /// The best second and when it ended.
    pub(crate) fn best(&self) -> Option<(f64, Nanos)> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_second_is_found_between_idle_ones() {
        let mut window = Window::new(Nanos(0), 4);
        let mut cpu = 0;
        for tenth in 1..=40u64 {
            cpu += if (10..25).contains(&tenth) {
                200_000_000
            } else {
                0
            };
            window.push(Nanos::from_millis(tenth * 100), Nanos(cpu));
        }
        let (best, at) = window.best().unwrap();
        assert!((best - 2.0).abs() < 1e-9, "{best}");
        assert!(at >= Nanos::from_millis(1900) && at <= Nanos::from_millis(2500));
        assert_eq!(window.now(), Some(0.0));
    }

    #[test]
    fn a_task_shorter_than_a_second_has_no_best_second() {
        let mut window = Window::new(Nanos(0), 4);
        window.push(Nanos::from_millis(500), Nanos::from_millis(500));
        assert_eq!(window.best(), None);
        assert_eq!(window.now(), Some(1.0));
    }

    #[test]
    fn a_late_pass_keeps_no_processor_busy_that_is_not_there() {
        let mut window = Window::new(Nanos(0), 2);
        window.push(Nanos::from_secs(1), Nanos::from_millis(2100));
        assert_eq!(window.best(), Some((2.0, Nanos::from_secs(1))));
        assert_eq!(window.now(), Some(2.0));
    }
}
