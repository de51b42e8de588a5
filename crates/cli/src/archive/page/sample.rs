//! Some of many: bounded while they come, evenly taken in the end.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many times as many are kept on the way as are taken in the end.
const KEPT: usize = 16;

/// Of more attempts than can be kept those stay whose ids have the smallest digests: chance, and
/// the same chance each time.
#[derive(Debug)]
pub(super) struct Sample<T> {
    most: usize,
    of: u64,
    /// With the digest of each.
    kept: Vec<(u64, T)>,
    /// Those with a larger digest are let go.
    bound: u64,
    /// The smallest and the largest so far, by each number that is looked at.
    extremes: Vec<Option<(Extreme<T>, Extreme<T>)>>,
}

type Extreme<T> = (f64, u64, T);

impl<T: Clone> Sample<T> {
    /// At most so many, with the extremes of so many numbers among them.
    pub(super) fn new(most: usize, numbers: usize) -> Self {
        Self {
            most: most.max(1),
            of: 0,
            kept: Vec::new(),
            bound: u64::MAX,
            extremes: vec![None; numbers],
        }
    }

    /// How many there were.
    pub(super) fn of(&self) -> u64 {
        self.of
    }

    /// One more, made if it is kept.
    pub(super) fn push(&mut self, id: &str, numbers: &[Option<f64>], make: &dyn Fn() -> T) {
        self.of += 1;
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let digest = hasher.finish();
        for (slot, number) in self.extremes.iter_mut().zip(numbers) {
            let Some(number) = *number else {
                continue;
            };
            match slot {
                None => *slot = Some(((number, digest, make()), (number, digest, make()))),
                Some((least, _)) if number < least.0 => *least = (number, digest, make()),
                Some((_, most)) if number > most.0 => *most = (number, digest, make()),
                Some(_) => {}
            }
        }
        if digest > self.bound {
            return;
        }
        self.kept.push((digest, make()));
        let most = self.most.saturating_mul(KEPT);
        if self.kept.len() > most.saturating_mul(2) {
            self.kept
                .select_nth_unstable_by_key(most, |(digest, _)| *digest);
            self.kept.truncate(most);
            let largest = self.kept.iter().map(|(digest, _)| *digest).max();
            self.bound = largest.unwrap_or(u64::MAX);
        }
    }

    /// Those that are taken, in order: each as far from the next, and all extremes.
    pub(super) fn taken(mut self, order: &dyn Fn(&T, &T) -> Ordering) -> Vec<T> {
        let mut always: Vec<(u64, T)> = Vec::new();
        for (least, most) in self.extremes.into_iter().flatten() {
            always.push((least.1, least.2));
            always.push((most.1, most.2));
        }
        always.sort_by_key(|(digest, _)| *digest);
        always.dedup_by_key(|(digest, _)| *digest);
        always.truncate(self.most);
        let is_extreme = |digest: u64| always.iter().any(|(one, _)| *one == digest);
        self.kept.retain(|(digest, _)| !is_extreme(*digest));
        self.kept.sort_by(|(digest, one), (other_digest, other)| {
            order(one, other).then(digest.cmp(other_digest))
        });
        let room = self.most - always.len();
        let count = self.kept.len();
        let mut number = 0;
        // One for each time that a part of `room / count` more is full.
        self.kept.retain(|_| {
            let is_taken = (number + 1) * room / count > number * room / count;
            number += 1;
            count <= room || is_taken
        });
        self.kept.append(&mut always);
        self.kept.sort_by(|(digest, one), (other_digest, other)| {
            order(one, other).then(digest.cmp(other_digest))
        });
        self.kept.into_iter().map(|(_, one)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::indexing_slicing,
        reason = "a test that meets what it did not expect fails by panicking"
    )]
    use super::*;

    fn of(count: u64, most: usize) -> Vec<u64> {
        let mut sample = Sample::new(most, 1);
        // The largest and the smallest come in the midst.
        for number in 0..count {
            let value = (number + count / 2) % count.max(1);
            sample.push(&format!("{value:x}"), &[Some(value as f64)], &|| value);
        }
        assert_eq!(sample.of(), count);
        sample.taken(&u64::cmp)
    }

    #[test]
    fn few_are_all_taken_and_none_are_none() {
        assert!(of(0, 10).is_empty());
        assert_eq!(of(1, 1), [0]);
        assert_eq!(of(10, 10), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn many_are_taken_evenly_with_their_extremes() {
        let taken = of(1000, 100);
        assert_eq!((taken.len(), taken[0], taken[99]), (100, 0, 999));
        assert!(
            taken
                .windows(2)
                .all(|two| (1..=21).contains(&(two[1] - two[0]))),
            "{taken:?}"
        );
        let taken = of(100_000, 100);
        assert_eq!((taken.len(), taken[0], taken[99]), (100, 0, 99_999));
        assert!(
            taken
                .windows(2)
                .all(|two| two[1] > two[0] && two[1] - two[0] < 4000),
            "{taken:?}"
        );
        assert_eq!(taken, of(100_000, 100), "the same each time");
    }
}
