//! Made traces of known distributions, replayed: what the rule wastes and how often it fails,
//! against asking for the largest peak seen.

use advise::{GRAIN_BYTES, History, Run, Settings, Share};
use record::unit::{Bytes, Nanos};

const TASKS: u64 = 1500;

const GB: f64 = 1e9;

/// Numbers that look random, the same each time (Steele et al. 2014, SplitMix64).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Of the standard normal distribution (Box and Muller 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// Waste in bytes times seconds, and how many tasks failed at first.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    waste: f64,
    failed: f64,
}

impl Outcome {
    fn add(&mut self, run: &Run, first: u64, next: impl Fn(u64) -> u64) {
        let seconds = run.wall.as_secs_f64();
        self.failed += f64::from(u8::from(first < run.value)) / TASKS as f64;
        let mut request = first;
        while request < run.value {
            self.waste += request as f64 * seconds;
            request = next(request).max(request + 1);
        }
        self.waste += (request - run.value) as f64 * seconds;
    }
}

/// The rule, and the largest peak seen doubled after a failure.
fn replay(runs: impl Iterator<Item = Run>) -> (Outcome, Outcome) {
    let (mut ours, mut seen) = (Outcome::default(), Outcome::default());
    let mut history = History::new(Settings::new(GRAIN_BYTES));
    let mut max = 64_000_000_000;
    for (index, run) in runs.enumerate() {
        let first = history.request(run.input).unwrap_or(max);
        ours.add(&run, first, |failed| {
            history.after(failed, run.input).unwrap_or(2 * failed)
        });
        let round = |value: u64| value.div_ceil(GRAIN_BYTES) * GRAIN_BYTES;
        seen.add(&run, round(max), |failed| 2 * failed);
        max = if index == 0 {
            run.value
        } else {
            max.max(run.value)
        };
        history.learn(run);
    }
    (ours, seen)
}

fn run(value: f64, seconds: f64, input: Option<f64>) -> Run {
    Run {
        value: value as u64,
        wall: Nanos((seconds * 1e9) as u64),
        input: input.map(|input| Bytes(input as u64)),
        ..Run::default()
    }
}

#[track_caller]
fn check(runs: impl Iterator<Item = Run>, of_seen: f64, failed: f64) {
    let (ours, seen) = replay(runs);
    let part = ours.waste / seen.waste;
    assert!(part <= of_seen, "wasted {part:.3} of max seen");
    assert!(ours.failed <= failed, "{:.4} failed", ours.failed);
}

#[test]
fn lognormal() {
    let mut random = Random(1);
    let runs = (0..TASKS).map(|_| run(4.0 * GB * (0.3 * random.normal()).exp(), 600.0, None));
    check(runs, 0.65, 0.06);
}

#[test]
fn two_peaks() {
    let mut random = Random(2);
    let runs = (0..TASKS).map(|_| {
        let peak = if random.uniform() < 0.3 { 16.0 } else { 2.0 };
        run(peak * GB * (0.05 * random.normal()).exp(), 600.0, None)
    });
    check(runs, 0.95, 0.05);
}

/// One of ten needs thirty times what the others do.
fn rarely_large() -> impl Iterator<Item = Run> {
    let mut random = Random(12);
    (0..TASKS).map(move |_| {
        let peak = if random.uniform() < 0.1 { 15.0 } else { 0.5 };
        run(peak * GB * (0.05 * random.normal()).exp(), 600.0, None)
    })
}

#[test]
fn where_few_need_many_times_as_much_more_may_fail() {
    // The second request is for those, not twice the first.
    check(rarely_large(), 0.08, 0.12);
}

#[test]
fn a_share_that_was_asked_for_is_kept_whatever_that_costs() {
    let settings = |share: f64| Settings {
        retries: Share::new(share).unwrap(),
        retries_at_peaks: None,
        ..Settings::new(GRAIN_BYTES)
    };
    for share in [0.05, 0.01, 0.001] {
        let mut history = History::new(settings(share));
        // The last of them are all small, as it may happen.
        let runs = rarely_large().chain((0..60).map(|_| run(0.5 * GB, 600.0, None)));
        runs.for_each(|run| history.learn(run));
        let first = history.request(None).unwrap() as f64;
        // Of the last 50 alone no share is known that is smaller than one of fifty.
        assert!(first > 14.0 * GB || share >= 0.05, "{share}: {first}");
    }
}

#[test]
fn two_peaks_that_the_input_tells_apart() {
    let mut random = Random(3);
    let runs = (0..TASKS).map(|_| {
        let large = random.uniform() < 0.3;
        // The larger input needs less.
        let (peak, input) = if large { (2.0, 5e9) } else { (16.0, 1e9) };
        run(
            peak * GB * (0.05 * random.normal()).exp(),
            600.0,
            Some(input),
        )
    });
    check(runs, 0.35, 0.05);
}

#[test]
fn growth_by_input() {
    let mut random = Random(4);
    let runs = (0..TASKS).map(|_| {
        let input = GB * random.normal().exp();
        let peak = (0.5 * GB + 3.0 * input) * (0.05 * random.normal()).exp();
        run(peak, input / 1e7, Some(input))
    });
    check(runs, 0.05, 0.05);
}

#[test]
fn drift_down() {
    let mut random = Random(5);
    let runs = (0..TASKS).map(|index| {
        let peak = if index < TASKS / 2 { 16.0 } else { 2.0 };
        run(peak * GB * (0.1 * random.normal()).exp(), 600.0, None)
    });
    check(runs, 0.3, 0.05);
}

#[test]
fn drift_up() {
    let mut random = Random(6);
    let runs = (0..TASKS).map(|index| {
        let peak = 4.0 + 12.0 * index as f64 / TASKS as f64;
        run(peak * GB * (0.05 * random.normal()).exp(), 600.0, None)
    });
    check(runs, 0.9, 0.06);
}

#[test]
fn heavy_tail() {
    let mut random = Random(7);
    // Pareto with exponent 1.5: the mean is finite, the variance is not.
    let runs = (0..TASKS).map(|_| {
        let peak = GB * (1.0 - random.uniform()).powf(-1.0 / 1.5);
        run(peak, 600.0, None)
    });
    check(runs, 0.1, 0.06);
}
