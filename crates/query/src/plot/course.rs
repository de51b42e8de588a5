//! One process: from what its readings and its end told to points and rates. Pure.
//!
//! Instants here are nanoseconds since the boot of its host.

use super::types::{Point, Step};

/// Stands for a value that a reading had not.
pub(super) const ABSENT: i64 = i64::MIN;

/// Counters of a reading: CPU time, bytes by read-like and write-like calls, bytes from and to
/// storage.
pub(super) const COUNTERS: usize = 5;

/// So many usual times between two readings are no gap.
const GAP: i64 = 4;
/// A process that began no longer before the first reading is told from its beginning on.
const LEAD: i64 = 2;

/// In a shorter time, in nanoseconds, what was counted is no rate: a beginning is known to a clock
/// tick, and a reading of many processes takes some milliseconds.
const BRIEF: i64 = 20_000_000;

/// What one reading told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) at: i64,
    pub(super) rss: i64,
    pub(super) held: i64,
    pub(super) counters: [i64; COUNTERS],
}

/// What its end told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at: i64,
    pub(super) counters: [i64; COUNTERS],
}

/// A process of the job.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Member {
    /// Its place among the hosts and boots.
    pub(super) origin: usize,
    pub(super) pid: i64,
    pub(super) start: i64,
    /// Its place among the names of programs.
    pub(super) program: usize,
    pub(super) end: Option<End>,
    /// In the order of time.
    pub(super) readings: Vec<Reading>,
}

/// When a host was read, as far as the job was met.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Rhythm {
    /// The instants, in their order.
    pub(super) instants: Vec<i64>,
    /// The usual time between two of them: hardly any is longer.
    pub(super) usual: Option<i64>,
}

impl Rhythm {
    pub(super) fn of(mut instants: Vec<i64>) -> Self {
        instants.sort_unstable();
        instants.dedup();
        let pairs = instants.iter().zip(instants.iter().skip(1));
        let mut steps: Vec<i64> = pairs.map(|(one, next)| next - one).collect();
        steps.sort_unstable();
        let usual = steps.get(steps.len() * 9 / 10).copied();
        Self { instants, usual }
    }

    /// Whether nobody watched in between.
    pub(super) fn is_gap(&self, from: i64, to: i64) -> bool {
        self.usual.is_some_and(|usual| to - from > GAP * usual)
    }

    /// In a shorter time no rate is told.
    pub(super) fn brief(&self) -> i64 {
        self.usual.map_or(0, |usual| (usual / 10).min(BRIEF))
    }

    /// Whether whoever began then was watched from its beginning on.
    pub(super) fn saw_beginning(&self, start: i64) -> bool {
        match (self.instants.first(), self.usual) {
            (Some(first), Some(usual)) => first - start <= LEAD * usual,
            // Only its end is known, or one reading.
            _ => true,
        }
    }
}

/// What a counter grew by from one instant to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) by: i64,
}

impl Member {
    /// Its resident set, shifted to real time.
    pub(super) fn rss(&self, rhythm: &Rhythm, offset: i64) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::with_capacity(self.readings.len());
        let mut before: Option<i64> = None;
        for reading in self.readings.iter().filter(|one| one.rss != ABSENT) {
            if let Some(before) = before.filter(|before| rhythm.is_gap(*before, reading.at)) {
                points.push(Point {
                    at: before + offset + 1,
                    value: None,
                });
            }
            points.push(Point {
                at: reading.at + offset,
                value: Some(reading.rss),
            });
            before = Some(reading.at);
        }
        points
    }

    /// What one of its counters grew by, reading by reading.
    pub(super) fn growth(&self, counter: usize, rhythm: &Rhythm, out: &mut Vec<Growth>) {
        out.clear();
        let mut before = rhythm.saw_beginning(self.start).then_some((self.start, 0));
        let readings = self.readings.iter().map(|one| (one.at, &one.counters));
        let end = self.end.iter().map(|end| (end.at, &end.counters));
        for (at, counters) in readings.chain(end) {
            let value = counters.get(counter).copied().unwrap_or(ABSENT);
            if value == ABSENT {
                continue;
            }
            if let Some((from, was)) = before {
                if at <= from {
                    continue;
                }
                let by = (value - was).max(0);
                out.push(Growth { from, to: at, by });
            }
            before = Some((at, value));
        }
    }
}

/// CPU time as CPUs, shifted to real time. A stretch shorter than `brief` is one with its
/// neighbour.
pub(super) fn cores(growth: &[Growth], brief: i64, offset: i64) -> Vec<Step> {
    let is_brief = |one: &Growth| one.to - one.from < brief;
    let mut joined: Vec<Growth> = Vec::with_capacity(growth.len());
    for one in growth {
        match joined.last_mut() {
            Some(last) if last.to == one.from && (is_brief(last) || is_brief(one)) => {
                last.to = one.to;
                last.by += one.by;
            }
            _ => joined.push(*one),
        }
    }
    let step = |one: &Growth| Step {
        from: one.from + offset,
        to: one.to + offset,
        rate: one.by as f64 / (one.to - one.from) as f64,
    };
    joined.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: i64, rss: i64, cpu: i64) -> Reading {
        Reading {
            at,
            rss,
            held: ABSENT,
            counters: [cpu, ABSENT, ABSENT, ABSENT, ABSENT],
        }
    }

    fn member(start: i64) -> Member {
        let end = End {
            at: 45,
            counters: [26, ABSENT, ABSENT, ABSENT, ABSENT],
        };
        Member {
            start,
            end: Some(end),
            readings: vec![
                reading(20, 100, 5),
                reading(30, 200, 15),
                reading(40, 50, 25),
            ],
            ..Member::default()
        }
    }

    #[test]
    fn a_process_is_told_from_its_beginning_to_its_end() {
        let rhythm = Rhythm::of((1..=20).map(|at| at * 10).collect());
        assert_eq!(rhythm.usual, Some(10));
        let mut growth = Vec::new();
        member(15).growth(0, &rhythm, &mut growth);
        let cores: Vec<_> = cores(&growth, rhythm.brief(), 1000)
            .iter()
            .map(|step| (step.from, step.to, step.rate))
            .collect();
        assert_eq!(
            cores,
            [
                (1015, 1020, 1.0),
                (1020, 1030, 1.0),
                (1030, 1040, 1.0),
                (1040, 1045, 0.2)
            ]
        );
        // What it used before anybody watched is nobody's.
        member(-500).growth(0, &rhythm, &mut growth);
        assert_eq!(growth.len(), 3);
        assert_eq!(growth[0].from, 20);
        member(15).growth(1, &rhythm, &mut growth);
        assert!(growth.is_empty());
    }

    #[test]
    fn what_is_counted_in_next_to_no_time_is_no_rate() {
        let growth = [(7, 10, 9), (10, 110, 55), (110, 210, 50), (210, 214, 10)]
            .map(|(from, to, by)| Growth { from, to, by });
        let told = |brief| {
            let steps = cores(&growth, brief, 0);
            let told: Vec<_> = steps
                .iter()
                .map(|one| (one.from, one.to, one.rate))
                .collect();
            told
        };
        let [first, last] = [64.0 / 103.0, 60.0 / 104.0];
        assert_eq!(told(10), [(7, 110, first), (110, 214, last)]);
        assert_eq!(told(0).len(), 4);
        // One that lived so short is told by itself.
        assert_eq!(cores(&growth[..1], 10, 0).len(), 1);
    }

    #[test]
    fn where_nobody_watched_there_is_no_line() {
        let rhythm = Rhythm::of((1..=20).map(|at| at * 10).collect());
        let mut member = member(15);
        member.readings.push(reading(200, 7, 25));
        let told: Vec<_> = member
            .rss(&rhythm, 0)
            .iter()
            .map(|point| (point.at, point.value))
            .collect();
        let gap = (41, None);
        assert_eq!(told[2..], [(40, Some(50)), gap, (200, Some(7))]);
    }
}
