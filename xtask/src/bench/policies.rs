//! Ways to choose what a task asks for: users, the published ones, ours.

use super::trace::Task;
use advise::{History, Run, Settings};

/// Requests are multiples of this.
pub(super) const GRAIN: u64 = 64_000_000;

/// Chooses requests of one kind of task, one task after the other.
pub(super) trait Policy {
    /// What a task asks for at first; none where only its user can tell.
    fn first(&mut self, task: &Task) -> Option<f64>;

    /// What it asks for after so much was too little.
    fn next(&self, failed: u64, _task: &Task) -> f64 {
        2.0 * failed as f64
    }

    /// A task has ended.
    fn learn(&mut self, task: &Task);
}

/// A policy by its name, and how one is made for a kind of task.
pub(super) struct Row {
    /// As it is printed.
    pub(super) name: &'static str,
    /// Without anything seen.
    pub(super) make: fn() -> Box<dyn Policy>,
}

/// All that are compared.
pub(super) const POLICIES: &[Row] = &[
    Row {
        name: "user",
        make: || Box::new(User),
    },
    Row {
        name: "max-seen",
        make: || Box::new(Seen::default()),
    },
    Row {
        name: "tovar",
        make: || Box::new(Tovar::default()),
    },
    Row {
        name: "witt-p95",
        make: || Box::new(Percentile::default()),
    },
    Row {
        name: "witt-linear",
        make: || Box::new(Linear::default()),
    },
    Row {
        name: "ours-no-input",
        make: || Box::new(Ours::new(false)),
    },
    Row {
        name: "ours",
        make: || Box::new(Ours::new(true)),
    },
];

/// The user's own request.
struct User;

impl Policy for User {
    fn first(&mut self, _task: &Task) -> Option<f64> {
        None
    }

    fn learn(&mut self, _task: &Task) {}
}

/// The largest peak seen.
#[derive(Default)]
struct Seen {
    max: Option<f64>,
}

impl Policy for Seen {
    fn first(&mut self, _task: &Task) -> Option<f64> {
        self.max
    }

    fn learn(&mut self, task: &Task) {
        let peak = task.peak.0 as f64;
        self.max = Some(self.max.map_or(peak, |max| max.max(peak)));
    }
}

/// Tovar et al. 2018, "A job sizing strategy for high-throughput scientific workflows": the request
/// of least waste when a failure is tried again with the largest peak seen.
#[derive(Default)]
struct Tovar {
    /// Peaks and times in order of the peaks.
    seen: Vec<(f64, f64)>,
    time: f64,
    chosen: Option<f64>,
    learned: usize,
}

impl Tovar {
    fn max(&self) -> f64 {
        self.seen.last().map_or(0.0, |seen| seen.0)
    }

    fn choose(&self) -> Option<f64> {
        let (mut best, mut below) = ((f64::INFINITY, None), 0.0);
        for (index, (peak, time)) in self.seen.iter().enumerate() {
            below += time;
            if self.seen.get(index + 1).is_some_and(|next| next.0 == *peak) {
                continue;
            }
            let waste = peak * self.time + self.max() * (self.time - below);
            if waste < best.0 {
                best = (waste, Some(*peak));
            }
        }
        best.1
    }
}

impl Policy for Tovar {
    fn first(&mut self, _task: &Task) -> Option<f64> {
        // Of very long histories not after each task: it would take hours.
        if self.learned > self.seen.len() / 1000 {
            self.chosen = self.choose();
            self.learned = 0;
        }
        self.chosen
    }

    fn next(&self, failed: u64, _task: &Task) -> f64 {
        if (failed as f64) < self.max() {
            self.max()
        } else {
            2.0 * failed as f64
        }
    }

    fn learn(&mut self, task: &Task) {
        let (peak, time) = (task.peak.0 as f64, task.wall.as_secs_f64());
        let at = self.seen.partition_point(|seen| seen.0 < peak);
        self.seen.insert(at, (peak, time));
        self.time += time;
        self.learned += 1;
    }
}

/// Witt et al. 2019, "Predictive performance modeling for distributed batch processing": the 95th
/// percentile, doubled after a failure.
#[derive(Default)]
struct Percentile {
    seen: Vec<f64>,
}

impl Policy for Percentile {
    fn first(&mut self, _task: &Task) -> Option<f64> {
        let place = 0.95 * self.seen.len().checked_sub(1)? as f64;
        let below = self.seen.get(place as usize)?;
        let above = self.seen.get(place.ceil() as usize)?;
        Some(below + (above - below) * place.fract())
    }

    fn learn(&mut self, task: &Task) {
        let peak = task.peak.0 as f64;
        let at = self.seen.partition_point(|seen| *seen < peak);
        self.seen.insert(at, peak);
    }
}

/// The same authors: least squares by the size of the input, two standard deviations of what it
/// leaves above; the mean of all where a task has none.
#[derive(Default)]
struct Linear {
    all: Sums,
    with_input: Sums,
}

/// Fewer runs with an input make no line.
const LINE_MIN: f64 = 5.0;

/// Means and centred sums of input and peak.
#[derive(Default)]
struct Sums {
    count: f64,
    mean: (f64, f64),
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    fn add(&mut self, x: f64, y: f64) {
        self.count += 1.0;
        let (dx, dy) = (x - self.mean.0, y - self.mean.1);
        self.mean.0 += dx / self.count;
        self.mean.1 += dy / self.count;
        self.xx += dx * (x - self.mean.0);
        self.xy += dx * (y - self.mean.1);
        self.yy += dy * (y - self.mean.1);
    }

    fn expected(&self, x: f64) -> f64 {
        let slope = if self.xx > 0.0 {
            self.xy / self.xx
        } else {
            0.0
        };
        let left = (self.yy - slope * self.xy).max(0.0) / self.count;
        self.mean.1 + slope * (x - self.mean.0) + 2.0 * left.sqrt()
    }
}

impl Policy for Linear {
    fn first(&mut self, task: &Task) -> Option<f64> {
        let input = task.input.filter(|_| self.with_input.count >= LINE_MIN);
        match input {
            Some(input) => Some(self.with_input.expected(input.0 as f64)),
            None => (self.all.count > 0.0).then(|| self.all.expected(0.0)),
        }
    }

    fn learn(&mut self, task: &Task) {
        let peak = task.peak.0 as f64;
        self.all.add(0.0, peak);
        if let Some(input) = task.input {
            self.with_input.add(input.0 as f64, peak);
        }
    }
}

/// The rule of the crate `advise`.
struct Ours {
    history: History,
    inputs: bool,
}

impl Ours {
    fn new(inputs: bool) -> Self {
        Self {
            history: History::new(Settings::new(GRAIN)),
            inputs,
        }
    }
}

impl Policy for Ours {
    fn first(&mut self, task: &Task) -> Option<f64> {
        let input = task.input.filter(|_| self.inputs);
        self.history.request(input).map(|request| request as f64)
    }

    fn next(&self, failed: u64, task: &Task) -> f64 {
        let input = task.input.filter(|_| self.inputs);
        let next = self.history.after(failed, input);
        next.map_or(f64::INFINITY, |next| next as f64)
    }

    fn learn(&mut self, task: &Task) {
        self.history.learn(Run {
            value: task.peak.0,
            wall: task.wall,
            input: task.input.filter(|_| self.inputs),
            ..Run::default()
        });
    }
}
