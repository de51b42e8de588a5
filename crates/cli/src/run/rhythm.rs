//! When to look at the task's processes: densely while it is young and while its memory changes,
//! soon after an event where that shows something new, and never for more than its share of the
//! time. Pure.

use crate::cmd::run::RunOptions;
use record::unit::Nanos;
use reduce::settings::Mechanism;

/// The shortest time between two passes: the first ones of a task.
const PASS_MIN: Nanos = Nanos::from_millis(5);
/// The very first passes come this long after the start and at twice its age each, whatever they
/// cost: a task of a few milliseconds is seen at least once.
const PASS_FIRST: Nanos = Nanos::from_millis(1);
/// A pass comes after this fraction of the task's age: short tasks are seen densely, long ones at
/// the interval.
const AGE_FRACTION: u64 = 8;
/// The same while memory grows or shrinks.
const AGE_FRACTION_CHANGING: u64 = 4 * AGE_FRACTION;
/// It is half of that while nothing happens and so many passes in a row found the very same memory.
/// It is half of that, too, where ends are told; there it is enough that no more comes and goes
/// than a small program or two.
const STILL: u32 = 8;
/// Passes take at most one part in this of the time.
const COST_SHARE: u64 = 100;
/// The same where a shorter interval than the usual one was asked for: by who pays for it.
const ASKED_SHARE: u64 = 20;
/// The usual interval.
const USUAL: Nanos = Nanos::from_secs(1);
/// The share for passes that an event asked for, while the task is young.
const YOUNG_SHARE: u64 = 20;
/// How long a task is young.
const YOUNG: Nanos = Nanos::from_millis(300);
/// Each pass that an event asked for and that finds no new height halves their share, so many times
/// at most: in a storm of small processes they would only cost.
const DULL_MAX: u32 = 5;
/// Memory that came or went by less is no change, bytes: a small program more or less.
const CHANGE_MIN: u64 = 4 << 20;

/// After events were read, the next are read this much later, and later still in an older task, up
/// to the second: a wake-up costs more than an event.
const BATCH: [Nanos; 2] = [Nanos::from_millis(4), Nanos::from_millis(16)];
/// The pause for events is this fraction of the task's age.
const BATCH_FRACTION: u64 = 32;
/// Where something has a limit, what happens is heard of this soon.
const LIMITED_BATCH: Nanos = Nanos::from_millis(20);

/// What hangs on the passes.
#[derive(Debug, Clone, Copy, Default)]
struct Stakes {
    /// Something has a limit: how far a task gets beyond one that is polled is what it takes
    /// between two passes.
    limited: bool,
    /// The last word of each process tells what it had: the passes tell only what many had at once,
    /// and in a storm of small ones that is little.
    told: bool,
}

/// The times of the passes over the task's processes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rhythm {
    start: Nanos,
    interval: Nanos,
    stakes: Stakes,
    last: Nanos,
    /// What the last pass took of a CPU.
    cost: u64,
    /// The same of the last or the one before, whichever took less. A single dear one is no reason
    /// to look away for long: the first runs through code that nobody has touched yet.
    usual_cost: u64,
    next: Nanos,
    /// Whether an event asked for the next pass, and how many such passes in a row were dull.
    hurried: bool,
    dull: u32,
    /// The sum of resident sets in the last pass and the highest of all, bytes.
    rss: u64,
    highest: u64,
    /// Passes in a row that found the same sum, with no event in between unless ends are told; and
    /// that sum.
    still: u32,
    still_rss: u64,
}

impl Rhythm {
    /// Of a run with these options whose events come from `mechanism`.
    pub(crate) fn of(options: &RunOptions, mechanism: Mechanism, start: Nanos) -> Self {
        let stakes = Stakes {
            limited: !options.limits.is_empty(),
            told: mechanism.tells_finals(),
        };
        Self::new(start, options.interval, stakes)
    }

    /// Of a task that starts at `start`, to be looked at every `interval` when it is old.
    fn new(start: Nanos, interval: Nanos, stakes: Stakes) -> Self {
        Self {
            start,
            interval,
            stakes,
            last: Nanos(0),
            cost: 0,
            usual_cost: 0,
            next: start.plus(PASS_FIRST),
            hurried: false,
            dull: 0,
            rss: 0,
            highest: 0,
            still: 0,
            still_rss: 0,
        }
    }

    /// The same of a task that starts at `start` instead.
    pub(crate) fn restart(&mut self, start: Nanos) {
        *self = Self::new(start, self.interval, self.stakes);
    }

    /// Whether a process began, ended or executed another program before the pass that is to come:
    /// then the task does not hold still.
    pub(crate) fn stirred(&mut self, stirred: bool) {
        if stirred && !self.stakes.told {
            self.still = 0;
        }
    }

    /// When the next pass is due.
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// When the events after those read at `listened` are to be read.
    pub(crate) fn next_batch(&self, listened: Nanos) -> Nanos {
        let pause = Nanos(listened.since(self.start).0 / BATCH_FRACTION);
        listened.plus(pause.clamp(BATCH[0], BATCH[1]))
    }

    /// Whether something has a limit, and nothing must escape.
    pub(crate) fn is_limited(&self) -> bool {
        self.stakes.limited
    }

    /// How long events may wait that are to be read once each `period`.
    pub(crate) fn patience(&self, period: Nanos) -> Nanos {
        match self.stakes.limited {
            true => period.min(LIMITED_BATCH),
            false => period,
        }
    }

    /// A process began or ended: what lives on now, its peak included, is known best right now, so
    /// look as soon as that costs no more than its share of the time.
    pub(crate) fn hurry(&mut self) {
        let share = if self.last.since(self.start) < YOUNG {
            YOUNG_SHARE
        } else {
            COST_SHARE
        };
        let pause = self.cost.saturating_mul(share << self.dull);
        let soon = self.last.plus(Nanos(pause));
        if soon < self.next {
            (self.next, self.hurried) = (soon, true);
        }
    }

    /// A pass began at `now`, took `cost` nanoseconds of a CPU, and found resident sets of `rss`
    /// bytes in sum.
    pub(crate) fn passed(&mut self, now: Nanos, cost: u64, rss: u64) {
        let before = std::mem::replace(&mut self.cost, cost);
        (self.last, self.usual_cost) = (now, cost.min(before));
        let before = std::mem::replace(&mut self.rss, rss);
        let changed = rss.abs_diff(before) > step(rss.max(before));
        let much = if self.stakes.told { CHANGE_MIN } else { 0 };
        if rss.abs_diff(self.still_rss) <= much {
            self.still = self.still.saturating_add(1);
        } else {
            (self.still, self.still_rss) = (0, rss);
        }
        let rose = rss > self.highest.saturating_add(step(rss));
        let hurried = std::mem::take(&mut self.hurried);
        if rose {
            (self.highest, self.dull) = (rss, 0);
        } else if hurried {
            self.dull = (self.dull + 1).min(DULL_MAX);
        }
        let age = now.since(self.start);
        let infant = age.max(PASS_FIRST);
        self.next = if infant < PASS_MIN {
            now.plus(infant)
        } else {
            now.plus(self.pause(age, changed))
        };
    }

    /// What the last pass found was found to hold still at `now`.
    pub(crate) fn repeated(&mut self, now: Nanos) {
        self.passed(now, self.cost, self.rss);
    }

    fn pause(&self, age: Nanos, changed: bool) -> Nanos {
        let Stakes { limited, told } = self.stakes;
        let halvings = u32::from(self.still >= STILL) + u32::from(told);
        let fraction = match changed {
            true => AGE_FRACTION_CHANGING,
            false if limited => AGE_FRACTION,
            false => AGE_FRACTION >> halvings,
        };
        let longest = self.interval.max(PASS_MIN);
        let pause = Nanos(age.0 / fraction).clamp(PASS_MIN, longest);
        let share = if self.interval < USUAL {
            ASKED_SHARE
        } else {
            COST_SHARE
        };
        pause.max(Nanos(self.usual_cost.saturating_mul(share)))
    }
}

/// The least change that counts: a twentieth.
fn step(bytes: u64) -> u64 {
    (bytes / 20).max(CHANGE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos::from_secs(100);
    const COST: u64 = 100_000;

    fn at(ms: u64) -> Nanos {
        START.plus(Nanos::from_millis(ms))
    }

    fn rhythm() -> Rhythm {
        Rhythm::new(START, Nanos::from_secs(1), Stakes::default())
    }

    /// The pause after a pass at this age.
    fn pause(rhythm: &mut Rhythm, ms: u64, cost: u64, rss: u64) -> Nanos {
        rhythm.passed(at(ms), cost, rss);
        rhythm.next().since(at(ms))
    }

    #[test]
    fn a_young_task_is_seen_densely_and_an_old_one_at_the_interval() {
        let mut rhythm = rhythm();
        assert_eq!(rhythm.next(), at(1));
        let ages = [1, 2, 4, 8, 80, 4_000, 80_000];
        let pauses = ages.map(|age| pause(&mut rhythm, age, COST, 0).0 / 1_000_000);
        assert_eq!(pauses, [1, 2, 4, 10, 10, 500, 1000]);
    }

    #[test]
    fn a_pass_is_paid_for_before_the_next_but_for_the_very_first() {
        let mut rhythm = rhythm();
        assert_eq!(pause(&mut rhythm, 2, 50 * COST, 0), Nanos::from_millis(2));
        assert_eq!(
            pause(&mut rhythm, 400, 10 * COST, 0),
            Nanos::from_millis(100)
        );
        let dear = [1000 * COST, 1000 * COST].map(|cost| pause(&mut rhythm, 400, cost, 0));
        assert_eq!(dear, [Nanos::from_millis(100), Nanos::from_secs(10)]);
    }

    #[test]
    fn who_asks_for_a_short_interval_pays_for_it() {
        let mut rhythm = Rhythm::new(START, Nanos::from_millis(100), Stakes::default());
        let dear = 10_000_000;
        pause(&mut rhythm, 8_000, dear, 0);
        assert_eq!(pause(&mut rhythm, 9_000, dear, 0), Nanos::from_millis(200));
        assert_eq!(pause(&mut rhythm, 9_000, COST, 0), Nanos::from_millis(100));
    }

    #[test]
    fn memory_that_comes_or_goes_is_watched_closely() {
        let mut rhythm = rhythm();
        let age = 3_200;
        assert_eq!(
            pause(&mut rhythm, age, COST, 1 << 30),
            Nanos::from_millis(100)
        );
        assert_eq!(
            pause(&mut rhythm, age, COST, 1 << 30),
            Nanos::from_millis(400)
        );
        assert_eq!(pause(&mut rhythm, age, COST, 0), Nanos::from_millis(100));
        assert_eq!(
            pause(&mut rhythm, age, COST, CHANGE_MIN),
            Nanos::from_millis(400)
        );
    }

    #[test]
    fn a_task_that_holds_still_is_looked_at_half_as_often_unless_it_is_limited() {
        let pauses = |limited, told, stirred| {
            let stakes = Stakes { limited, told };
            let mut rhythm = Rhythm::new(START, Nanos::from_secs(1), stakes);
            let seen = (0..=STILL).map(|_| {
                rhythm.stirred(stirred);
                pause(&mut rhythm, 1_600, COST, 1 << 30).0 / 1_000_000
            });
            let seen: Vec<_> = seen.collect();
            let mut then = |rss| pause(&mut rhythm, 1_600, COST, rss).0 / 1_000_000;
            let moved = [4096, CHANGE_MIN + 4096].map(|more| then((1 << 30) + more));
            (seen[1], seen[seen.len() - 1], moved)
        };
        assert_eq!(pauses(false, false, false), (200, 400, [200, 200]));
        assert_eq!(pauses(true, false, false), (200, 200, [200, 200]));
        assert_eq!(pauses(false, false, true), (200, 200, [200, 200]));
        assert_eq!(pauses(false, true, true), (400, 800, [800, 400]));
        assert_eq!(pauses(true, true, true), (200, 200, [200, 200]));
    }

    #[test]
    fn an_event_brings_the_next_pass_nearer_until_that_shows_nothing_new() {
        let mut rhythm = rhythm();
        let hurried = |rhythm: &mut Rhythm, ms, rss| {
            rhythm.passed(at(ms), COST, rss);
            rhythm.hurry();
            rhythm.next().since(at(ms)).0 / 1_000_000
        };
        assert_eq!(hurried(&mut rhythm, 200, 8 << 20), 2);
        // A higher sum of resident sets each time.
        assert_eq!(hurried(&mut rhythm, 1_000, 16 << 20), 10);
        assert_eq!(hurried(&mut rhythm, 1_100, 32 << 20), 10);
        // The same again and again.
        let dull = [1_200, 1_300, 1_400].map(|ms| hurried(&mut rhythm, ms, 32 << 20));
        assert_eq!(dull, [20, 40, 80]);
        assert_eq!(hurried(&mut rhythm, 1_500, 64 << 20), 10);
        // Never later than without the event.
        for ms in 0..20 {
            assert!(hurried(&mut rhythm, 10_000 + ms, 64 << 20) <= 1000);
        }
    }

    #[test]
    fn events_are_taken_in_larger_batches_as_the_task_grows_older() {
        let rhythm = rhythm();
        let batch = |ms| rhythm.next_batch(at(ms)).since(at(ms)).0 / 1_000_000;
        assert_eq!([0, 100, 320, 10_000].map(batch), [4, 4, 10, 16]);
        let patience = |limited| {
            let stakes = Stakes {
                limited,
                ..Stakes::default()
            };
            let rhythm = Rhythm::new(START, Nanos::from_secs(1), stakes);
            [10, 50].map(|ms| rhythm.patience(Nanos::from_millis(ms)).0 / 1_000_000)
        };
        assert_eq!((patience(false), patience(true)), ([10, 50], [10, 20]));
    }
}
