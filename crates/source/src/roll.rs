//! Those who live, in the order in which readings tell them.

use record::room;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// One reading after the other tells them in the same order, so the next one is most likely who
/// came next the last time: thousands of them are met without a search.
#[derive(Debug)]
pub struct Roll<K, V> {
    all: Vec<(K, V)>,
    places: FxHashMap<K, usize>,
    next: usize,
}

impl<K, V> Default for Roll<K, V> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            places: FxHashMap::default(),
            next: 0,
        }
    }
}

impl<K: Copy + Eq + Hash, V> Roll<K, V> {
    /// This one, made if nobody knows it, and whether it was.
    #[expect(
        clippy::indexing_slicing,
        reason = "the place is in range, or was made"
    )]
    pub fn meet(&mut self, key: K, make: impl FnOnce() -> V) -> (&mut V, bool) {
        let is_next = self.all.get(self.next).is_some_and(|next| next.0 == key);
        let place = match is_next {
            true => self.next,
            false => *self.places.entry(key).or_insert(self.all.len()),
        };
        self.next = place + 1;
        let is_new = place == self.all.len();
        if is_new {
            room::make(&mut self.all, 1);
            self.all.push((key, make()));
        }
        (&mut self.all[place].1, is_new)
    }

    /// This one, if it is known: where readings tell them in their order, without a search.
    pub fn find(&mut self, key: K) -> Option<&mut V> {
        let is_next = self.all.get(self.next).is_some_and(|next| next.0 == key);
        let place = match is_next {
            true => self.next,
            false => *self.places.get(&key)?,
        };
        self.next = place + 1;
        Some(&mut self.all.get_mut(place)?.1)
    }

    /// Forgets this one; the last of all takes its place.
    pub fn remove(&mut self, key: K) -> Option<V> {
        let place = self.places.remove(&key)?;
        let last = self.all.last()?.0;
        if last != key {
            self.places.insert(last, place);
        }
        Some(self.all.swap_remove(place).1)
    }

    /// This one, wherever it is.
    pub fn get(&self, key: K) -> Option<&V> {
        Some(&self.all.get(*self.places.get(&key)?)?.1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        Some(&mut self.all.get_mut(*self.places.get(&key)?)?.1)
    }

    /// How many are known.
    pub const fn len(&self) -> usize {
        self.all.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.all.iter().map(|(key, value)| (*key, value))
    }

    /// All of them, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.all.iter_mut().map(|(_, value)| value)
    }

    /// The next one is the first again.
    pub const fn begin(&mut self) {
        self.next = 0;
    }

    /// Whether nobody is known.
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets the others.
    pub fn keep(&mut self, mut is_kept: impl FnMut(K, &mut V) -> bool) {
        let before = self.len();
        self.all.retain_mut(|(key, value)| is_kept(*key, value));
        if self.len() < before {
            self.places.clear();
            let places = self.all.iter().enumerate();
            self.places
                .extend(places.map(|(place, (key, _))| (*key, place)));
        }
    }
}

impl<K: Copy + Eq + Hash, V> FromIterator<(K, V)> for Roll<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(all: I) -> Self {
        let mut roll = Self::default();
        for (key, value) in all {
            roll.meet(key, || value);
        }
        roll
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_in_any_order() {
        let mut roll = Roll::default();
        for round in 0..3 {
            roll.begin();
            for key in [3, 1, 2, 1] {
                let (count, is_new) = roll.meet(key, || 0);
                assert_eq!(is_new, *count == 0);
                *count += 1;
            }
            roll.keep(|_, count| *count > 0);
            let expected = [(3, round + 1), (1, 2 * round + 2), (2, round + 1)];
            assert!(
                roll.iter()
                    .eq(expected.iter().map(|(key, count)| (*key, count)))
            );
        }
        roll.keep(|key, _| key != 1);
        assert_eq!((roll.len(), roll.get(1), roll.get(2)), (2, None, Some(&3)));
        assert_eq!(roll.meet(2, || 9), (&mut 3, false));
        assert_eq!(roll.meet(1, || 9), (&mut 9, true));
        *roll.get_mut(3).unwrap() = 7;
        assert_eq!(roll.get(3), Some(&7));
        assert_eq!((roll.remove(3), roll.remove(3)), (Some(7), None));
        assert_eq!([3, 1].map(|key| roll.find(key).copied()), [None, Some(9)]);
        assert_eq!(roll.meet(2, || 0), (&mut 3, false));
        assert_eq!(
            (roll.remove(1), roll.remove(2), roll.len()),
            (Some(9), Some(3), 0)
        );
    }
}
