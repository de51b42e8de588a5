//! What the machine tells: the last value of each metric and part, and when it was read.

use super::sight;
use record::table::node;
use rustc_hash::FxHashMap;

/// Values that are kept, at most.
const VALUES_MAX: usize = 1 << 16;
/// What is not told any more stays so long, nanoseconds: some sources are due every 30 s.
pub(super) const STAYS_NS: u64 = 90_000_000_000;

/// One value.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) key: Box<[u8]>,
    pub(super) value: i64,
    /// When it was read, since boot.
    pub(super) at_ns: u64,
    /// It is root's.
    pub(super) is_private: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Machine {
    values: Vec<Value>,
    places: FxHashMap<Box<[u8]>, usize>,
    /// Where the value behind the last one is likely to be.
    next: usize,
    private: Vec<Vec<u8>>,
}

impl Default for Machine {
    fn default() -> Self {
        let private = sight::private_metrics().into_iter().map(|name| {
            let mut key = Vec::new();
            node::key(name, b"", &mut key);
            // Of any instance: an empty one is two bytes.
            key.truncate(key.len() - 2);
            key
        });
        Self {
            values: Vec::new(),
            places: FxHashMap::default(),
            next: 0,
            private: private.collect(),
        }
    }
}

impl Machine {
    /// This was read then.
    pub(super) fn row(&mut self, key: &[u8], value: i64, at_ns: u64) {
        let is_next = self
            .values
            .get(self.next)
            .is_some_and(|one| *one.key == *key);
        let place = match is_next {
            true => Some(self.next),
            false => self.places.get(key).copied(),
        };
        if let Some(known) = place.and_then(|place| self.values.get_mut(place)) {
            (known.value, known.at_ns) = (value, at_ns);
            self.next = place.map_or(0, |place| place + 1);
        } else if self.values.len() < VALUES_MAX {
            let is_private = self.private.iter().any(|front| key.starts_with(front));
            self.places.insert(key.into(), self.values.len());
            self.values.push(Value {
                key: key.into(),
                value,
                at_ns,
                is_private,
            });
            self.next = self.values.len();
        }
    }

    /// A reading is over: what has not been told for long is not there any more.
    pub(super) fn settle(&mut self, at_ns: u64) {
        self.next = 0;
        let stays = |one: &Value| one.at_ns + STAYS_NS >= at_ns;
        if self.values.iter().all(stays) {
            return;
        }
        self.values.retain(stays);
        let places = self.values.iter().enumerate();
        self.places = places
            .map(|(place, one)| (one.key.clone(), place))
            .collect();
    }

    /// What was read behind `at_ns`.
    pub(super) fn since(&self, at_ns: u64) -> impl Iterator<Item = &Value> {
        self.values.iter().filter(move |one| one.at_ns > at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_stays_until_it_is_old() {
        let mut machine = Machine::default();
        let key = |name: &str| {
            let mut key = Vec::new();
            node::key(name, b"x", &mut key);
            key
        };
        machine.row(&key("memory_free"), 1, 10);
        machine.row(&key("kernel_log_position"), 2, 10);
        machine.settle(10);
        machine.row(&key("memory_free"), 3, 20);
        machine.settle(20);
        let told = |machine: &Machine, since| -> Vec<(i64, bool)> {
            let all = machine.since(since);
            all.map(|one| (one.value, one.is_private)).collect()
        };
        assert_eq!(told(&machine, 0), [(3, false), (2, true)]);
        assert_eq!(told(&machine, 10), [(3, false)]);
        machine.settle(11 + STAYS_NS);
        assert_eq!(told(&machine, 0), [(3, false)]);
        machine.row(&key("memory_free"), 4, 12 + STAYS_NS);
        assert_eq!(told(&machine, 0), [(4, false)]);
    }
}
