//! The highest that a sum over living processes can have been, from what each one's own peak was.
//!
//! Between two instants a process held at most its high-water mark read at the later one. Adding
//! those up over the processes alive at each instant bounds the sum from above. The sweep keeps
//! one segment of time for each process that is alive and not yet accounted for: whatever lies
//! between two such starts can only be raised as a whole later, so its maximum is all that has to
//! be kept. Memory is bounded by the processes alive, not by those that ever were.

use record::unit::Nanos;

/// Pairs kept for one segment; beyond, two become one that is at least both.
const FRONT_MAX: usize = 8;

/// Bytes known, and processes unknown, that were alive together.
type Load = (u64, u64);

/// Loads of which none is above another in both parts. Nearly always it is a single one, which
/// takes no memory of its own.
#[derive(Debug, Clone, Default)]
struct Front {
    first: Load,
    rest: Vec<Load>,
}

#[derive(Debug, Clone)]
struct Segment {
    start: Nanos,
    front: Front,
    /// Living processes accounted for up to `start` only.
    open: u32,
    /// Beside each load, processes of which all is known but what they keep of unknown ones.
    keepers: u64,
}

/// A sweep over time, fed in the order of events.
#[derive(Debug, Clone)]
pub(crate) struct Ceiling {
    segments: Vec<Segment>,
}

impl Ceiling {
    /// An empty sweep that begins at `start`.
    pub(crate) fn new(start: Nanos) -> Self {
        let first = Segment {
            start,
            front: Front::default(),
            open: 0,
            keepers: 0,
        };
        Self {
            segments: vec![first],
        }
    }

    /// A process lives from `at` on; what it held becomes known by [`Ceiling::settle`].
    pub(crate) fn open(&mut self, at: Nanos) {
        let after = self.segments.partition_point(|s| s.start <= at);
        match after
            .checked_sub(1)
            .and_then(|i| self.segments.get_mut(i))
            .filter(|s| s.start == at)
        {
            Some(segment) => segment.open += 1,
            None => self.insert(after, at),
        }
    }

    fn insert(&mut self, index: usize, at: Nanos) {
        // What was alive over a segment that is cut may have been alive over both parts.
        let cut = index < self.segments.len();
        let (front, keepers) = match index.checked_sub(1).and_then(|i| self.segments.get(i)) {
            Some(before) if cut => (before.front.clone(), before.keepers),
            _ => (Front::default(), 0),
        };
        self.segments.insert(
            index,
            Segment {
                start: at,
                front,
                open: 1,
                keepers,
            },
        );
    }

    /// The process ended: since `from` it held at most `peak`; `None` if nobody knows.
    pub(crate) fn settle(&mut self, from: Nanos, peak: Option<u64>) {
        self.add(from, Nanos(u64::MAX), peak);
        self.forget(from);
    }

    /// The process lives on: from `from` until `at` it held at most `peak`.
    pub(crate) fn settle_until(&mut self, from: Nanos, at: Nanos, peak: u64) {
        self.open(at);
        self.add(from, at, Some(peak));
        self.forget(from);
    }

    /// The process ended: since `from` it held at most `base` and something unknown more.
    pub(crate) fn settle_above(&mut self, from: Nanos, base: u64) {
        self.add(from, Nanos(u64::MAX), Some(base));
        self.add(from, Nanos(u64::MAX), None);
        self.forget(from);
    }

    /// What was opened at `from` held at most `base` until `until`, and something unknown more
    /// unless it is `known` to be all.
    pub(crate) fn settle_between(&mut self, from: Nanos, until: Nanos, base: u64, known: bool) {
        self.add(from, until, Some(base));
        if !known {
            self.add(from, until, None);
        }
        self.forget(from);
    }

    /// What was opened at `from` may have had until `until`, beside what it is settled with, what
    /// an unknown one had and has no longer: that is among what came there, but not of its size.
    pub(crate) fn keep(&mut self, from: Nanos, until: Nanos) {
        for segment in self.within(from, until) {
            segment.keepers += 1;
        }
    }

    fn within(&mut self, from: Nanos, until: Nanos) -> impl Iterator<Item = &mut Segment> {
        let segments = self.segments.iter_mut().rev();
        let since = segments.take_while(move |segment| segment.start >= from);
        since.filter(move |segment| segment.start < until)
    }

    fn add(&mut self, from: Nanos, until: Nanos, peak: Option<u64>) {
        for segment in self.within(from, until) {
            for load in segment.front.loads_mut() {
                match peak {
                    Some(bytes) => load.0 = load.0.saturating_add(bytes),
                    None => load.1 += 1,
                }
            }
        }
    }

    /// The process that was opened at `from` is not counted after all.
    pub(crate) fn forget(&mut self, from: Nanos) {
        let after = self.segments.partition_point(|s| s.start <= from);
        let Some(index) = after.checked_sub(1) else {
            return;
        };
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        segment.open = segment.open.saturating_sub(1);
        if segment.open == 0 && index > 0 {
            let gone = self.segments.remove(index);
            if let Some(before) = self.segments.get_mut(index - 1) {
                before.front.merge(gone.front);
                before.keepers = before.keepers.max(gone.keepers);
            }
        }
    }

    /// The bound, if every unknown process held at most `unknown`; none if that is unknown too.
    pub(crate) fn bound(&self, unknown: Option<u64>) -> Option<u64> {
        let mut highest = 0u64;
        for &(bytes, many) in self.segments.iter().flat_map(|s| s.front.loads()) {
            let more = if many == 0 {
                0
            } else {
                many.saturating_mul(unknown?)
            };
            highest = highest.max(bytes.saturating_add(more));
        }
        Some(highest)
    }

    /// The bound, if all that is unknown is at most `pool` together and `apiece` for each process
    /// more, and at most `each` of one process or keeper.
    pub(crate) fn bound_within(&self, pool: u64, apiece: u64, each: Option<u64>) -> Option<u64> {
        let bound = |(bytes, many): Load, keepers: u64| {
            if many == 0 {
                return bytes;
            }
            let more = pool.saturating_add(many.saturating_mul(apiece));
            let all = many.saturating_add(keepers);
            let most = each.map_or(more, |each| more.min(all.saturating_mul(each)));
            bytes.saturating_add(most)
        };
        let bound = |s: &Segment| s.front.loads().map(|load| bound(*load, s.keepers)).max();
        self.segments.iter().filter_map(bound).max()
    }

    /// All that is unknown of those who ended before `until` is at most `pool` together and
    /// `apiece` for each process more: from now on it counts as known.
    pub(crate) fn end_era(&mut self, until: Nanos, pool: u64, apiece: u64) {
        for segment in &mut self.segments {
            if segment.start >= until {
                break;
            }
            for load in segment.front.loads_mut().filter(|load| load.1 > 0) {
                let more = pool.saturating_add(load.1.saturating_mul(apiece));
                *load = (load.0.saturating_add(more), 0);
            }
            segment.front.settle();
        }
    }

    /// How many segments are kept.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.segments.len()
    }
}

impl Front {
    fn loads(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    fn loads_mut(&mut self) -> impl Iterator<Item = &mut Load> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }

    /// Takes in what was alive at another time.
    fn merge(&mut self, more: Self) {
        if self.rest.is_empty() && more.rest.is_empty() {
            let ((bytes, many), other) = (self.first, more.first);
            if other.0 <= bytes && other.1 <= many {
                return;
            }
            if bytes <= other.0 && many <= other.1 {
                self.first = other;
                return;
            }
        }
        self.rest.push(more.first);
        self.rest.extend(more.rest);
        self.settle();
    }

    /// Leaves out the loads that are not above others any more.
    fn settle(&mut self) {
        if self.rest.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.rest);
        all.push(self.first);
        all.sort_unstable_by(|a, b| b.cmp(a));
        let mut unknown_most = None;
        all.retain(|load| {
            let keep = unknown_most.is_none_or(|most| load.1 > most);
            if keep {
                unknown_most = Some(load.1);
            }
            keep
        });
        while all.len() > FRONT_MAX {
            // Sorted by bytes falling and unknown rising: the two last become one above both.
            let (last, before) = (all.pop(), all.pop());
            if let (Some(last), Some(before)) = (last, before) {
                all.push((before.0, last.1));
            }
        }
        // The last has the fewest bytes: which is the first does not matter.
        self.first = all.pop().unwrap_or_default();
        self.rest = all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn processes_one_after_another_do_not_add_up() {
        let mut ceiling = Ceiling::new(Nanos(0));
        ceiling.open(Nanos(0));
        for i in 0..1_000_000u64 {
            let start = Nanos(1 + i * 2);
            ceiling.open(start);
            ceiling.settle(start, Some(100));
        }
        assert!(ceiling.len() <= 2);
        ceiling.settle(Nanos(0), Some(7));
        assert_eq!(ceiling.bound(None), Some(107));
    }

    #[test]
    fn an_unknown_process_needs_the_largest_of_the_chain() {
        let mut ceiling = Ceiling::new(Nanos(0));
        ceiling.open(Nanos(1));
        ceiling.open(Nanos(2));
        ceiling.settle(Nanos(1), None);
        ceiling.settle(Nanos(2), Some(10));
        assert_eq!(ceiling.bound(None), None);
        assert_eq!(ceiling.bound(Some(50)), Some(60));
    }

    proptest! {
        /// Against the plain way: store every interval and look at every instant.
        #[test]
        fn it_agrees_with_stored_intervals(
            lives in proptest::collection::vec((0u64..40, 1u64..40, 1u64..100), 1..30)
        ) {
            let mut points = Vec::new();
            for (index, &(start, length, _)) in lives.iter().enumerate() {
                points.push((start, 0, index));
                points.push((start + length, 1, index));
            }
            points.sort_unstable();
            let mut ceiling = Ceiling::new(Nanos(0));
            for &(at, kind, index) in &points {
                let (start, _, peak) = lives[index];
                if kind == 0 {
                    ceiling.open(Nanos(at));
                } else {
                    ceiling.settle(Nanos(start), Some(peak));
                }
            }
            // Ends at an instant come after starts at it: both alive then, as the sweep assumes.
            let plain = (0..=80u64)
                .map(|at| {
                    lives
                        .iter()
                        .filter(|(s, l, _)| *s <= at && at <= s + l)
                        .map(|(_, _, p)| p)
                        .sum::<u64>()
                })
                .max();
            prop_assert_eq!(ceiling.bound(None), plain);
        }
    }
}
