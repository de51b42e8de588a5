//! From points and rates to lines of pixels, with no more points than can be seen.

use super::axis::Scale;
use super::scene::Xy;
use query::plot::{Point, Step};

/// Where a value is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    /// Time from left to right, nanoseconds since 1970.
    pub(super) time: Scale,
    /// Values from the bottom up.
    pub(super) value: Scale,
    /// What is nearer than this in time is one column, pixels.
    pub(super) column: f64,
}

impl Plane {
    /// Lines from reading to reading.
    pub(super) fn of_points(&self, points: &[Point]) -> Vec<Vec<Xy>> {
        let mut lines = Lines::new(self.column);
        for point in points {
            match point.value {
                Some(value) => {
                    lines.add((self.x(point.at), self.value.place(value as f64)));
                }
                None => lines.lift(),
            }
        }
        lines.end()
    }

    /// Stairs: a rate is one from each reading to the next.
    pub(super) fn of_steps(&self, steps: &[Step]) -> Vec<Vec<Xy>> {
        let mut lines = Lines::new(self.column);
        let mut last = None;
        for step in steps.iter().filter(|step| self.is_inside(step)) {
            if last.is_some_and(|last| last != step.from) {
                lines.lift();
            }
            let y = self.value.place(step.rate);
            lines.add((self.x(step.from), y));
            lines.add((self.x(step.to), y));
            last = Some(step.to);
        }
        lines.end()
    }

    /// The same without what goes up and down between them.
    pub(super) fn of_lone_steps(&self, steps: &[Step]) -> Vec<Vec<Xy>> {
        let inside = steps.iter().filter(|step| self.is_inside(step));
        let level = |step: &Step| {
            let y = self.value.place(step.rate);
            vec![(self.x(step.from), y), (self.x(step.to), y)]
        };
        inside.map(level).collect()
    }

    /// What is between such stairs and a height.
    pub(super) fn below_steps(&self, steps: &[Step], height: f64) -> Vec<Vec<Xy>> {
        let mut areas = self.of_steps(steps);
        for area in &mut areas {
            let ends = (area.first().copied(), area.last().copied());
            if let (Some((left, _)), Some((right, _))) = ends {
                area.extend([(right, height), (left, height)]);
            }
        }
        areas
    }

    fn x(&self, at: i64) -> f64 {
        self.time.place(at as f64)
    }

    fn is_inside(&self, step: &Step) -> bool {
        (step.to as f64) > self.time.from && (step.from as f64) < self.time.to
    }
}

/// Lines that are made point by point. Of the points of a column the first, the highest, the lowest
/// and the last are kept, in their order: the same pixels are drawn.
struct Lines {
    column: f64,
    done: Vec<Vec<Xy>>,
    line: Vec<Xy>,
    /// The points of the column that is being filled.
    waiting: Vec<Xy>,
}

impl Lines {
    fn new(column: f64) -> Self {
        Self {
            column,
            done: Vec::new(),
            line: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn add(&mut self, at: Xy) {
        let first = self.waiting.first();
        if first.is_some_and(|first| at.0 - first.0 >= self.column) {
            self.close_column();
        }
        if self.waiting.len() >= COLUMN_POINTS {
            self.thin();
        }
        self.waiting.push(at);
    }

    fn thin(&mut self) {
        let kept = extremes(&self.waiting);
        self.waiting = kept;
    }

    fn close_column(&mut self) {
        self.thin();
        self.line.append(&mut self.waiting);
    }

    fn lift(&mut self) {
        self.close_column();
        let line = without_straight(std::mem::take(&mut self.line));
        if !line.is_empty() {
            self.done.push(line);
        }
    }

    fn end(mut self) -> Vec<Vec<Xy>> {
        self.lift();
        self.done
    }
}

/// So many points of a column are looked at together.
const COLUMN_POINTS: usize = 64;

/// The first, the lowest, the highest and the last, in their order.
fn extremes(points: &[Xy]) -> Vec<Xy> {
    if points.len() <= 4 {
        return points.to_vec();
    }
    let numbered = || points.iter().enumerate();
    let by_height = |one: &(usize, &Xy), other: &(usize, &Xy)| one.1.1.total_cmp(&other.1.1);
    let least = numbered().min_by(by_height).map(|(place, _)| place);
    let most = numbered().max_by(by_height).map(|(place, _)| place);
    let mut places = vec![0, points.len() - 1];
    places.extend(least.into_iter().chain(most));
    places.sort_unstable();
    places.dedup();
    places
        .iter()
        .filter_map(|place| points.get(*place).copied())
        .collect()
}

/// Without the points on the way from one to the next at the same height.
fn without_straight(line: Vec<Xy>) -> Vec<Xy> {
    let mut kept: Vec<Xy> = Vec::with_capacity(line.len());
    for at in line {
        let mut before = kept.iter().rev();
        let is_level = |one: &Xy| (one.1 - at.1).abs() < LEVEL;
        if before.next().is_some_and(is_level) && before.next().is_some_and(is_level) {
            kept.pop();
        }
        kept.push(at);
    }
    kept
}

/// Heights that nobody can tell apart, pixels.
const LEVEL: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    fn plane() -> Plane {
        let time = Scale {
            from: 0.0,
            to: 1000.0,
            low: 0.0,
            high: 100.0,
        };
        let value = Scale {
            from: 0.0,
            to: 10.0,
            low: 100.0,
            high: 0.0,
        };
        Plane {
            time,
            value,
            column: 1.0,
        }
    }

    fn point(at: i64, value: i64) -> Point {
        Point {
            at,
            value: Some(value),
        }
    }

    #[test]
    fn a_reading_is_where_it_was() {
        let gap = Point {
            at: 601,
            value: None,
        };
        let points = [
            point(0, 0),
            point(500, 5),
            point(550, 5),
            point(600, 5),
            gap,
            point(900, 10),
        ];
        assert_eq!(
            plane().of_points(&points),
            [
                vec![(0.0, 100.0), (50.0, 50.0), (60.0, 50.0)],
                vec![(90.0, 0.0)]
            ]
        );
    }

    #[test]
    fn a_rate_holds_from_reading_to_reading() {
        let step = |from, to, rate| Step { from, to, rate };
        let steps = [
            step(-50, 100, 1.0),
            step(100, 200, 3.0),
            step(300, 400, 3.0),
        ];
        assert_eq!(
            plane().of_steps(&steps),
            [
                vec![(0.0, 90.0), (10.0, 90.0), (10.0, 70.0), (20.0, 70.0)],
                vec![(30.0, 70.0), (40.0, 70.0)]
            ]
        );
        let area = &plane().below_steps(&steps, 100.0)[1];
        assert_eq!(area[2..], [(40.0, 100.0), (30.0, 100.0)]);
    }

    #[test]
    fn of_many_readings_the_extremes_stay() {
        let points: Vec<_> = (0..100_000)
            .map(|n| Point {
                at: n / 100,
                value: Some(match n {
                    50_321 => 10,
                    50_322 => 0,
                    _ => 4 + n % 3,
                }),
            })
            .collect();
        let lines = plane().of_points(&points);
        let line = &lines[0];
        assert!(line.len() <= 100 * 4 + 4, "{}", line.len());
        for height in [0.0, 100.0] {
            let met: Vec<_> = line.iter().filter(|at| at.1 == height).collect();
            assert_eq!(met.len(), 1);
            assert!((met[0].0 - 50.3).abs() < 0.1, "{met:?}");
        }
    }
}
