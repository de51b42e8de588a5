//! The values of the machine as the last readings told them, and their rates.

use record::codec::key::{Part, parts};
use record::table::node;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A part that was not told of for so long is not there any more, nanoseconds.
const FORGOTTEN_AFTER_NS: u64 = 180_000_000_000;

/// Values by metric and by part of the machine; the machine itself is the part without a name.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    known: FxHashMap<String, BTreeMap<String, Value>>,
    at_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Value {
    now: i64,
    at_ns: u64,
    /// And of the time before, with that time.
    before: Option<(i64, u64)>,
}

impl Machine {
    /// Takes a row of `node`.
    pub(super) fn row(&mut self, key: &[u8], now: i64, at_ns: u64) {
        let Ok(parts) = parts(node::TABLE.key, key) else {
            return;
        };
        let [Part::Text(metric), Part::Text(instance)] = parts.as_slice() else {
            return;
        };
        let metric = String::from_utf8_lossy(metric);
        if !self.known.contains_key(metric.as_ref()) {
            self.known
                .insert(metric.clone().into_owned(), BTreeMap::new());
        }
        let Some(of) = self.known.get_mut(metric.as_ref()) else {
            return;
        };
        let instance = String::from_utf8_lossy(instance);
        match of.get_mut(instance.as_ref()) {
            Some(value) if value.at_ns == at_ns => value.now = now,
            Some(value) => {
                let before = Some((value.now, value.at_ns));
                *value = Value { now, at_ns, before };
            }
            None => {
                let first = Value {
                    now,
                    at_ns,
                    before: None,
                };
                of.insert(instance.into_owned(), first);
            }
        }
    }

    /// A reading is whole.
    pub(super) fn end(&mut self, at_ns: u64) {
        self.at_ns = at_ns;
        for of in self.known.values_mut() {
            of.retain(|_, value| value.at_ns + FORGOTTEN_AFTER_NS > at_ns);
        }
    }

    fn get(&self, metric: &str, instance: &str) -> Option<&Value> {
        self.known.get(metric)?.get(instance)
    }

    /// A value as it was told last.
    pub(crate) fn value(&self, metric: &str, instance: &str) -> Option<i64> {
        self.get(metric, instance).map(|value| value.now)
    }

    /// How much more of a counter there is in a nanosecond, between the last two times that it was
    /// told: of a time, a share.
    pub(crate) fn share(&self, metric: &str, instance: &str) -> Option<f64> {
        let value = self.get(metric, instance)?;
        let (before, at_ns) = value.before?;
        let passed = value
            .at_ns
            .checked_sub(at_ns)
            .filter(|passed| *passed > 0)?;
        let more = value.now.checked_sub(before).filter(|more| *more >= 0)?;
        Some(more as f64 / passed as f64)
    }

    /// The parts of the machine of which a metric is told.
    pub(crate) fn parts(&self, metric: &str) -> impl Iterator<Item = &str> {
        let of = self.known.get(metric).into_iter().flatten();
        of.map(|(instance, _)| instance.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(machine: &mut Machine, instance: &[u8], value: i64, at_s: u64) {
        let mut key = Vec::new();
        node::key("disk_read", instance, &mut key);
        machine.row(&key, value, at_s * 1_000_000_000);
    }

    #[test]
    fn rates_are_of_the_last_two_times_and_what_is_gone_is_forgotten() {
        let mut machine = Machine::default();
        tell(&mut machine, b"sda", 100, 10);
        assert_eq!(machine.value("disk_read", "sda"), Some(100));
        assert_eq!(machine.share("disk_read", "sda"), None);
        tell(&mut machine, b"sda", 4_000_000_100, 12);
        tell(&mut machine, b"sdb", 7, 12);
        assert_eq!(machine.share("disk_read", "sda"), Some(2.0));
        tell(&mut machine, b"sda", 5, 13);
        assert_eq!(machine.share("disk_read", "sda"), None, "it began anew");
        let parts: Vec<_> = machine.parts("disk_read").collect();
        assert_eq!(parts, ["sda", "sdb"]);
        tell(&mut machine, b"sda", 5, 500);
        machine.end(500 * 1_000_000_000);
        let parts: Vec<_> = machine.parts("disk_read").collect();
        assert_eq!(parts, ["sda"]);
        assert_eq!(machine.value("disk_written", ""), None);
    }
}
