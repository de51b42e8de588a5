//! All processes of a job together: by host first, then on one axis of real time. Pure.

use super::course::{ABSENT, COUNTERS, Growth, Member, Rhythm};
use super::types::{Point, Step, Totals};

/// The processes of one host, from one boot to the next.
#[derive(Debug, Default)]
pub(super) struct Sum {
    /// Between two of these a counter has one rate.
    bounds: Vec<i64>,
    /// What each counter grew by from one to the next; nothing where none of them is known.
    grown: [Option<Vec<f64>>; COUNTERS],
    rss: Held,
    held: Held,
}

/// A sum in each reading.
#[derive(Debug, Default)]
struct Held {
    sums: Vec<i64>,
    is_known: bool,
}

impl Held {
    fn add(&mut self, place: usize, value: i64) {
        if value == ABSENT {
            return;
        }
        self.is_known = true;
        if let Some(sum) = self.sums.get_mut(place) {
            *sum = sum.saturating_add(value);
        }
    }
}

impl Sum {
    /// `begin` and `end`: what is told beyond the first and the last reading.
    pub(super) fn new(rhythm: &Rhythm, begin: i64, end: i64) -> Self {
        let instants = rhythm.instants.iter().copied();
        let inside = instants.filter(|at| *at > begin && *at < end);
        let mut bounds = vec![begin];
        bounds.extend(inside);
        if end > begin {
            bounds.push(end);
        }
        let sums = vec![0; rhythm.instants.len()];
        Self {
            bounds,
            grown: [const { None }; COUNTERS],
            rss: Held {
                sums: sums.clone(),
                is_known: false,
            },
            held: Held {
                sums,
                is_known: false,
            },
        }
    }

    /// What the readings of a process say that it had.
    pub(super) fn add_readings(&mut self, member: &Member, rhythm: &Rhythm) {
        let mut next = 0;
        for reading in &member.readings {
            // Mostly each reading follows the one before.
            let place = match rhythm.instants.get(next) {
                Some(at) if *at == reading.at => next,
                _ => rhythm.instants.partition_point(|at| *at < reading.at),
            };
            self.rss.add(place, reading.rss);
            self.held.add(place, reading.held);
            next = place + 1;
        }
    }

    /// What a counter of a process grew by, in parts where that went over several readings.
    pub(super) fn add_growth(&mut self, counter: usize, growth: &[Growth]) {
        let Some(grown) = self.grown.get_mut(counter) else {
            return;
        };
        if growth.is_empty() {
            return;
        }
        let intervals = self.bounds.len().saturating_sub(1);
        let grown = grown.get_or_insert_with(|| vec![0.0; intervals]);
        let mut place = 0;
        for one in growth {
            let begins = self.bounds.get(place).copied();
            if begins != Some(one.from) {
                let behind = self.bounds.partition_point(|at| *at <= one.from);
                place = behind.saturating_sub(1);
            }
            let whole = (one.to - one.from) as f64;
            loop {
                let ends = (self.bounds.get(place), self.bounds.get(place + 1));
                let ((Some(begin), Some(end)), Some(sum)) = (ends, grown.get_mut(place)) else {
                    break;
                };
                let part = (one.to.min(*end) - one.from.max(*begin)).max(0);
                *sum += one.by as f64 * (part as f64 / whole);
                if one.to < *end {
                    break;
                }
                place += 1;
                if one.to == *end {
                    break;
                }
            }
        }
    }

    /// The rates, shifted to real time; `scale` nanoseconds are one unit of time.
    fn rates(&self, counter: usize, scale: f64, offset: i64) -> Option<Vec<Step>> {
        let grown = self.grown.get(counter)?.as_ref()?;
        let ends = self.bounds.iter().zip(self.bounds.iter().skip(1));
        let steps = ends.zip(grown).map(|((from, to), by)| Step {
            from: from + offset,
            to: to + offset,
            rate: by / (to - from) as f64 * scale,
        });
        Some(steps.collect())
    }

    fn points(held: &Held, rhythm: &Rhythm, offset: i64) -> Vec<Point> {
        let mut points = Vec::with_capacity(held.sums.len());
        if !held.is_known {
            return points;
        }
        let mut before: Option<i64> = None;
        for (at, sum) in rhythm.instants.iter().zip(&held.sums) {
            if let Some(before) = before.filter(|before| rhythm.is_gap(*before, *at)) {
                points.push(Point {
                    at: before + offset + 1,
                    value: None,
                });
            }
            points.push(Point {
                at: at + offset,
                value: Some(*sum),
            });
            before = Some(*at);
        }
        points
    }
}

/// The sums of all hosts, each with its rhythm and with what it is from boot to 1970.
pub(super) fn totals(sums: &[(Sum, &Rhythm, i64)]) -> Totals {
    const SECOND: f64 = 1e9;
    let rates = |counter, scale| {
        let of = |(sum, _, offset): &(Sum, &Rhythm, i64)| sum.rates(counter, scale, *offset);
        if sums.iter().all(|one| of(one).is_none()) {
            return Vec::new();
        }
        // Whoever knows nothing of it adds nothing, at the same instants.
        let none = |(sum, _, offset): &(Sum, &Rhythm, i64)| {
            let ends = sum.bounds.iter().zip(sum.bounds.iter().skip(1));
            let zero = ends.map(|(from, to)| Step {
                from: from + offset,
                to: to + offset,
                rate: 0.0,
            });
            zero.collect()
        };
        let all = sums.iter().map(|one| of(one).unwrap_or_else(|| none(one)));
        merged_steps(all.collect())
    };
    let points = |which: fn(&Sum) -> &Held| {
        let of =
            |(sum, rhythm, offset): &(Sum, &Rhythm, i64)| Sum::points(which(sum), rhythm, *offset);
        merged_points(sums.iter().map(of).collect())
    };
    Totals {
        rss: points(|sum| &sum.rss),
        held: points(|sum| &sum.held),
        cores: rates(0, 1.0),
        read: rates(1, SECOND),
        written: rates(2, SECOND),
        disk_read: rates(3, SECOND),
        disk_written: rates(4, SECOND),
    }
}

/// Rates of several hosts as one: it changes wherever one of them does.
fn merged_steps(mut all: Vec<Vec<Step>>) -> Vec<Step> {
    if all.len() <= 1 {
        return all.pop().unwrap_or_default();
    }
    let mut changes: Vec<(i64, i32, f64)> = Vec::new();
    for step in all.iter().flatten() {
        changes.push((step.from, 1, step.rate));
        changes.push((step.to, -1, -step.rate));
    }
    changes.sort_unstable_by_key(|(at, _, _)| *at);
    let mut merged = Vec::new();
    let (mut active, mut rate, mut from) = (0, 0.0, 0);
    for (at, one, by) in changes {
        if active > 0 && at > from {
            let rate = f64::max(rate, 0.0);
            merged.push(Step { from, to: at, rate });
        }
        from = at;
        active += one;
        // Nothing is left of what was added where nobody is.
        rate = if active == 0 { 0.0 } else { rate + by };
    }
    merged
}

/// Values of several hosts as one; each holds until its next reading.
fn merged_points(mut all: Vec<Vec<Point>>) -> Vec<Point> {
    if all.len() <= 1 {
        return all.pop().unwrap_or_default();
    }
    let mut changes: Vec<(i64, i64, i32)> = Vec::new();
    for points in &all {
        let mut was: Option<i64> = None;
        for point in points {
            let by = point.value.unwrap_or(0) - was.unwrap_or(0);
            let here = i32::from(point.value.is_some()) - i32::from(was.is_some());
            changes.push((point.at, by, here));
            was = point.value;
        }
        if let (Some(last), Some(value)) = (points.last(), was) {
            changes.push((last.at + 1, -value, -1));
        }
    }
    changes.sort_unstable();
    let mut merged: Vec<Point> = Vec::new();
    let (mut sum, mut active) = (0, 0);
    for (at, by, here) in changes {
        sum += by;
        active += here;
        let value = (active > 0).then_some(sum);
        match merged.last_mut().filter(|last| last.at == at) {
            Some(last) => last.value = value,
            None => merged.push(Point { at, value }),
        }
    }
    if merged.last().is_some_and(|last| last.value.is_none()) {
        merged.pop();
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_where_readings_are_missed() {
        let rhythm = Rhythm::of(vec![10, 20, 30, 40]);
        let mut sum = Sum::new(&rhythm, 5, 44);
        let growth = |from, to, by| Growth { from, to, by };
        sum.add_growth(0, &[growth(5, 10, 50), growth(10, 30, 20)]);
        sum.add_growth(0, &[growth(38, 44, 6), growth(35, 44, 0)]);
        let grown = sum.grown[0].clone().unwrap();
        assert_eq!(grown, [50.0, 10.0, 10.0, 2.0, 4.0]);
        let rates = sum.rates(0, 1.0, 100).unwrap();
        assert_eq!(
            (rates[0].from, rates[0].to, rates[0].rate),
            (105, 110, 10.0)
        );
        assert!(sum.rates(1, 1.0, 0).is_none());
    }

    #[test]
    fn hosts_are_added_up_on_one_axis() {
        let step = |from, to, rate| Step { from, to, rate };
        let one = vec![step(0, 10, 1.0), step(10, 20, 2.0)];
        let other = vec![step(5, 15, 4.0)];
        let told: Vec<_> = merged_steps(vec![one, other])
            .iter()
            .map(|step| (step.from, step.to, step.rate))
            .collect();
        assert_eq!(
            told,
            [(0, 5, 1.0), (5, 10, 5.0), (10, 15, 6.0), (15, 20, 2.0)]
        );
        let point = |at, value| Point { at, value };
        let one = vec![point(0, Some(3)), point(10, Some(5)), point(20, Some(5))];
        let other = vec![point(5, Some(7)), point(6, None), point(12, Some(1))];
        let told: Vec<_> = merged_points(vec![one, other])
            .iter()
            .map(|point| (point.at, point.value))
            .collect();
        assert_eq!(told[0], (0, Some(3)));
        assert!(
            told.contains(&(12, Some(6))) && told.contains(&(13, Some(5))),
            "{told:?}"
        );
        assert_eq!(told.last(), Some(&(20, Some(5))));
    }
}
