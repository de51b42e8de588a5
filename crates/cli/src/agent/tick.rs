//! When to read: at whole intervals of the time of day, so that nodes read together. Pure.

use record::unit::Nanos;

/// The instants of the readings.
#[derive(Debug)]
pub(super) struct Ticks {
    interval: Nanos,
    /// Behind whole intervals of the time of day.
    offset: Nanos,
    last: Option<Nanos>,
}

impl Ticks {
    pub(super) fn new(interval: Nanos, offset: Nanos) -> Self {
        Self {
            interval: interval.max(Nanos(1)),
            offset,
            last: None,
        }
    }

    /// The next instant after `now`, by `CLOCK_BOOTTIME`; `real_offset_ns` is what to add for the
    /// time of day. It does not drift: what a reading takes shifts nothing.
    pub(super) fn next(&mut self, now: Nanos, real_offset_ns: i64) -> Nanos {
        let interval = i128::from(self.interval.0);
        let shift = i128::from(real_offset_ns) - i128::from(self.offset.0);
        let real = i128::from(now.0) + shift;
        let next = (real.div_euclid(interval) + 1) * interval - shift;
        Nanos(u64::try_from(next).unwrap_or(now.0))
    }

    /// From now on there is another time between two readings.
    pub(super) fn set_interval(&mut self, interval: Nanos) {
        self.interval = interval.max(Nanos(1));
        // What was left out is told by one interval alone.
        self.last = None;
    }

    /// A reading begins at `now`: how many were left out since the last one.
    pub(super) fn passed(&mut self, now: Nanos) -> u64 {
        let before = self.last.replace(now);
        let gap = before.map_or(0, |before| now.since(before).0);
        // The clock of the day may be set by a part of an interval.
        (gap.saturating_add(self.interval.0 / 2) / self.interval.0).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_come_at_whole_seconds_of_the_day() {
        let mut ticks = Ticks::new(Nanos::from_secs(1), Nanos(0));
        let offset = 300_000_000;
        assert_eq!(ticks.next(Nanos(10), offset), Nanos(700_000_000));
        assert_eq!(ticks.next(Nanos(700_000_000), offset), Nanos(1_700_000_000));
        assert_eq!(
            ticks.next(Nanos(1_699_999_999), offset),
            Nanos(1_700_000_000)
        );
    }

    #[test]
    fn an_offset_shifts_all_of_them() {
        let mut ticks = Ticks::new(Nanos::from_secs(10), Nanos::from_secs(3));
        let next = |ticks: &mut Ticks, now| ticks.next(Nanos::from_secs(now), 0);
        assert_eq!(next(&mut ticks, 0), Nanos::from_secs(3));
        assert_eq!(next(&mut ticks, 3), Nanos::from_secs(13));
        ticks.set_interval(Nanos::from_secs(20));
        assert_eq!(next(&mut ticks, 13), Nanos::from_secs(23));
    }

    #[test]
    fn what_was_left_out_is_counted() {
        let mut ticks = Ticks::new(Nanos::from_secs(1), Nanos(0));
        assert_eq!(ticks.passed(Nanos::from_secs(5)), 0);
        assert_eq!(ticks.passed(Nanos::from_millis(6010)), 0);
        assert_eq!(ticks.passed(Nanos::from_millis(6990)), 0);
        assert_eq!(ticks.passed(Nanos::from_millis(10_000)), 2);
    }
}
