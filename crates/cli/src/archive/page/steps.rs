//! How many attempts ran at once, and how many CPUs they kept busy, over time.

/// From one instant to a later one, milliseconds since 1970.
pub(super) type Span = (i64, i64);

/// A step function: from each instant to the next.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Counts {
    pub(super) at: Vec<i64>,
    pub(super) running: Vec<i64>,
    pub(super) queued: Vec<i64>,
}

/// What a change of a count is, by instant: at one instant what ends goes before what begins.
struct Changes(Vec<(i64, i64)>);

impl Changes {
    fn of(spans: &[Span]) -> Self {
        let both = spans.iter().filter(|(from, to)| to > from);
        let mut all: Vec<_> = both
            .flat_map(|(from, to)| [(*from, 1), (*to, -1)])
            .collect();
        all.sort_unstable();
        Self(all)
    }

    /// The highest count from each instant to the next.
    fn highest(&self, at: &[i64]) -> Vec<i64> {
        let (mut count, mut next) = (0, 0);
        let mut highest = Vec::with_capacity(at.len());
        for (place, _) in at.iter().enumerate() {
            let end = at.get(place + 1).copied().unwrap_or(i64::MAX);
            let begin = at.get(place).copied().unwrap_or(i64::MIN);
            let mut most = None;
            while let Some((when, change)) = self.0.get(next).filter(|(when, _)| *when < end) {
                // What was before the first instant of the step is over.
                if *when > begin {
                    most = Some(most.unwrap_or(count).max(count));
                }
                count += change;
                next += 1;
            }
            highest.push(most.unwrap_or(count).max(count));
        }
        highest
    }
}

/// At most so many steps: each change where these are few, else steps of one length.
pub(super) fn counts(running: &[Span], queued: &[Span], steps: usize) -> Counts {
    let (running, queued) = (Changes::of(running), Changes::of(queued));
    let mut at: Vec<i64> = running
        .0
        .iter()
        .chain(&queued.0)
        .map(|(when, _)| *when)
        .collect();
    at.sort_unstable();
    at.dedup();
    if at.len() > steps {
        let range = at.first().copied().zip(at.last().copied());
        at = range
            .map(|(from, to)| grid(from, to, steps))
            .unwrap_or_default();
    }
    Counts {
        running: running.highest(&at),
        queued: queued.highest(&at),
        at,
    }
}

/// Instants as far apart, the first at the front; fewer where they would be the same.
fn grid(from: i64, to: i64, steps: usize) -> Vec<i64> {
    let length = (to - from) as f64 / steps.max(1) as f64;
    let place = |step: usize| from + (length * step as f64) as i64;
    let mut at: Vec<i64> = (0..steps).map(place).collect();
    at.dedup();
    at
}

/// The CPUs that attempts kept busy, on the mean of each step; with the instants.
pub(super) fn busy(attempts: &[(Span, f64)], steps: usize) -> (Vec<i64>, Vec<f64>) {
    let spans = || {
        attempts
            .iter()
            .map(|(span, _)| span)
            .filter(|(from, to)| to > from)
    };
    let range = spans()
        .map(|(from, _)| *from)
        .min()
        .zip(spans().map(|(_, to)| *to).max());
    let Some((first, last)) = range else {
        return (Vec::new(), Vec::new());
    };
    let at = grid(
        first,
        last,
        steps.min(usize::try_from(last - first).unwrap_or(steps)),
    );
    let length = (last - first) as f64 / at.len() as f64;
    let mut part = vec![0.0; at.len()];
    // What is busy for whole steps, as changes: a long attempt costs no more than a short one.
    let mut change = vec![0.0; at.len() + 1];
    let add = |all: &mut [f64], place: usize, amount: f64| {
        if let Some(slot) = all.get_mut(place) {
            *slot += amount;
        }
    };
    for ((from, to), cores) in attempts.iter().filter(|((from, to), _)| to > from) {
        let (from, to) = ((from - first) as f64 / length, (to - first) as f64 / length);
        let (begin, end) = (
            from.floor() as usize,
            (to.floor() as usize).min(at.len() - 1),
        );
        if begin == end {
            add(&mut part, begin, (to - from) * cores);
            continue;
        }
        add(&mut part, begin, (begin as f64 + 1.0 - from) * cores);
        add(&mut part, end, (to - end as f64) * cores);
        add(&mut change, begin + 1, *cores);
        add(&mut change, end, -cores);
    }
    let mut whole = 0.0;
    let busy = part.iter().zip(&change).map(|(part, change)| {
        whole += change;
        // What is left of added and taken numbers is no use.
        let sum: f64 = whole + part;
        if sum.abs() < 1e-9 {
            0.0
        } else {
            (sum * 1000.0).round() / 1000.0
        }
    });
    (at, busy.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_told_where_they_are_few() {
        let found = counts(&[(0, 10), (5, 20), (10, 30)], &[(0, 5)], 600);
        assert_eq!(found.at, [0, 5, 10, 20, 30]);
        assert_eq!(found.running, [1, 2, 2, 1, 0]);
        assert_eq!(found.queued, [1, 0, 0, 0, 0]);
        assert_eq!(counts(&[], &[], 600), Counts::default());
    }

    #[test]
    fn the_highest_within_a_step_is_told_where_they_are_many() {
        let spans: Vec<Span> = (0..1000).map(|n| (n * 10, n * 10 + 5)).collect();
        let found = counts(&spans, &[(2001, 2002)], 10);
        assert_eq!((found.at.len(), found.at.first()), (10, Some(&0)));
        assert_eq!(found.running, [1; 10]);
        assert_eq!(found.queued.iter().sum::<i64>(), 1);
        // One that goes on through many steps, and a crowd for a moment.
        let mut spans = vec![(0, 10_000)];
        spans.extend((0..50).map(|n| (3000 + n, 3100 + n)));
        let found = counts(&spans, &[], 10);
        assert_eq!(found.running.iter().max(), Some(&51));
        assert_eq!(
            found.running.iter().filter(|n| **n == 1).count(),
            9,
            "{found:?}"
        );
    }

    #[test]
    fn cpu_time_is_spread_and_none_is_lost() {
        let attempts = [
            ((0, 1000), 2.0),
            ((250, 300), 4.0),
            ((999, 5000), 0.5),
            ((7, 7), 9.0),
        ];
        let (at, busy) = busy(&attempts, 10);
        assert_eq!((at.len(), at.first()), (10, Some(&0)));
        let sum: f64 = busy.iter().sum::<f64>() * 500.0;
        assert!(
            (sum - (2000.0 + 200.0 + 2000.5)).abs() < 5.0,
            "{sum} {busy:?}"
        );
        assert_eq!(busy.last(), Some(&0.5));
        assert_eq!(super::busy(&[], 10), (Vec::new(), Vec::new()));
    }
}
