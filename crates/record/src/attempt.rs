//! One attempt of a task as an archive keeps it, from a report of ours or from what another tool
//! told: who, what, where, when, what was asked for, what was used, how it ended.

use crate::unit::Unit;
use crate::value::Number;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The name and version of this schema.
pub const SCHEMA: &str = "plimsoll.attempt/1";

/// A resource whose history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// Its name in files and on command lines.
    pub name: &'static str,
    /// The unit of its amounts.
    pub unit: Unit,
    /// The metrics of a report that tell it, the best first.
    pub metrics: &'static [&'static str],
    /// What it is.
    pub description: &'static str,
}

/// Every resource; [`Amounts`] are in this order.
pub const RESOURCES: [Resource; 15] = [
    bytes(
        "memory",
        &["memory_peak", "rss_peak"],
        "peak of memory without reclaimable page cache; where that is not known the resident set",
    ),
    time("wall", &["wall_time"], "from start to end"),
    time("cpu", &["cpu_time"], "CPU time of all processes"),
    Resource {
        name: "cores",
        unit: Unit::Cores,
        metrics: &["cores_peak", "cores_mean"],
        description: "CPUs kept busy, in the busiest second where that is known",
    },
    bytes(
        "disk",
        &["footprint_peak"],
        "peak of disk space in the measured folders",
    ),
    bytes("rss", &["rss_peak"], "peak of the sum of resident sets"),
    bytes(
        "cgroup",
        &["cgroup_peak"],
        "peak of the control group, page cache included",
    ),
    bytes("virtual", &["virtual_peak"], "peak of address space"),
    bytes("swap", &["swap_peak"], "peak of swapped memory"),
    bytes("read", &["bytes_read"], "bytes that reading calls returned"),
    bytes(
        "written",
        &["bytes_written"],
        "bytes that writing calls took",
    ),
    bytes("disk_read", &["disk_read"], "bytes read from disks"),
    bytes("disk_written", &["disk_written"], "bytes written to disks"),
    Resource {
        name: "processes",
        unit: Unit::Count,
        metrics: &["processes_peak"],
        description: "most processes at once",
    },
    bytes("gpu_memory", &["gpu_memory_peak"], "peak of memory of GPUs"),
];

const fn bytes(
    name: &'static str,
    metrics: &'static [&'static str],
    description: &'static str,
) -> Resource {
    Resource {
        name,
        unit: Unit::Bytes,
        metrics,
        description,
    }
}

const fn time(
    name: &'static str,
    metrics: &'static [&'static str],
    description: &'static str,
) -> Resource {
    Resource {
        name,
        unit: Unit::Nanoseconds,
        metrics,
        description,
    }
}

/// The place of a resource in [`RESOURCES`].
pub fn resource(name: &str) -> Option<usize> {
    RESOURCES.iter().position(|resource| resource.name == name)
}

/// How an amount was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// A kernel counter or event; nothing was missed.
    Exact,
    /// Read now and then: a peak may be higher.
    Sampled,
    /// The truth is this or more.
    LowerBound,
    /// The truth is this or less.
    UpperBound,
    /// Counted part of the time and scaled up.
    Scaled,
    /// Told by another tool or by somebody.
    Claimed,
}

/// An amount of a resource, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// How much.
    pub value: Number,
    /// How that is known.
    pub known: Known,
    /// Of a lower bound: what it cannot exceed, where that is known too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<u64>,
}

impl Amount {
    /// A number, and how it is known.
    pub const fn new(value: Number, known: Known) -> Self {
        Self {
            value,
            known,
            upper: None,
        }
    }

    /// A whole number that another tool told.
    pub const fn claimed(value: u64) -> Self {
        Self {
            value: Number::Whole(value),
            known: Known::Claimed,
            upper: None,
        }
    }
}

/// Amounts by resource; what is not known is not there. Few are known of most attempts, of which
/// there may be millions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Amounts(Vec<Placed>);

/// An amount, and the place of its resource in [`RESOURCES`], by which they are sorted.
type Placed = (usize, Amount);

impl Amounts {
    /// The amount of a resource, by its name.
    pub fn get(&self, name: &str) -> Option<Amount> {
        resource(name).and_then(|place| self.at(place))
    }

    /// The amount of a resource, by its place in [`RESOURCES`].
    pub fn at(&self, place: usize) -> Option<Amount> {
        let found = self.0.iter().find(|(one, _)| *one == place);
        found.map(|(_, amount)| *amount)
    }

    /// Puts an amount; nothing happens if there is no resource of that name.
    pub fn set(&mut self, name: &str, amount: Amount) {
        if let Some(place) = resource(name) {
            self.set_at(place, Some(amount));
        }
    }

    /// Puts an amount, or that it is not known, by the place in [`RESOURCES`].
    pub fn set_at(&mut self, place: usize, amount: Option<Amount>) {
        if place >= RESOURCES.len() {
            return;
        }
        let at = self.0.partition_point(|(one, _)| *one < place);
        let there = self.0.get_mut(at).filter(|(one, _)| *one == place);
        match (there, amount) {
            (Some((_, slot)), Some(amount)) => *slot = amount,
            (Some(_), None) => drop(self.0.remove(at)),
            (None, Some(amount)) => self.0.insert(at, (place, amount)),
            (None, None) => {}
        }
    }

    /// What is known, in the order of [`RESOURCES`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Resource, Amount)> {
        let known = self.0.iter();
        known.filter_map(|(place, amount)| Some((RESOURCES.get(*place)?, *amount)))
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (resource, amount) in self.iter() {
            map.serialize_entry(resource.name, &amount)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = Amounts;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("amounts by resource")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Amounts, A::Error> {
                let mut amounts = Amounts::default();
                // A resource of a later version is passed over.
                while let Some((name, amount)) = map.next_entry::<String, Amount>()? {
                    amounts.set(&name, amount);
                }
                Ok(amounts)
            }
        }
        deserializer.deserialize_map(ByName)
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It did what it was to do.
    Done,
    /// It failed by itself.
    Failed,
    /// It was ended for a limit, its own or the scheduler's: `exceeded` says which, if that is
    /// known.
    Limit,
    /// It was cancelled from outside.
    Cancelled,
    /// Nobody told.
    #[default]
    Unknown,
}

/// One attempt of one task.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// The same for the same attempt, however often it is told; no two have the same.
    pub id: String,
    /// What told it: `plimsoll`, `nextflow`, `sacct`, ...
    pub format: String,
    /// The file in which it was told.
    pub source: Option<String>,
    /// The set that it belongs to: one run of a workflow, one campaign.
    pub set: Option<String>,
    /// Tasks of one category are alike: the name given by the user, or made of the command.
    pub category: String,
    /// The program.
    pub tool: Option<String>,
    /// What it is, in words: the name or tag that a workflow gave it.
    pub description: Option<String>,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The container image.
    pub image: Option<String>,
    /// The name of the task within its set: the same for each of its attempts.
    pub task: Option<String>,
    /// Which attempt of the task it is, from 1.
    pub attempt: Option<u32>,
    /// The tasks of the set that had to be done before.
    pub parents: Vec<String>,
    /// The job as the scheduler calls it.
    pub job: Option<String>,
    /// Who ran it.
    pub user: Option<String>,
    /// Where it ran.
    pub host: Option<String>,
    /// What machines of its kind have in common: processor model and CPUs. Wall time is compared
    /// within one class alone.
    pub host_class: Option<String>,
    /// When it was queued, nanoseconds since 1970.
    pub submitted: Option<i64>,
    /// When it began, nanoseconds since 1970.
    pub began: Option<i64>,
    /// When it ended, nanoseconds since 1970.
    pub ended: Option<i64>,
    /// How it ended.
    pub end: End,
    /// Exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// The resource whose limit ended it.
    pub exceeded: Option<String>,
    /// What is known of the cause, in a sentence.
    pub cause: Option<String>,
    /// The size of its input in bytes, known before it ran.
    pub input_size: Option<u64>,
    /// What was asked for: a request, or the limit.
    pub requested: Amounts,
    /// What it used.
    pub used: Amounts,
    /// Labels given by the user.
    pub labels: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_metrics_are_known() {
        for (place, one) in RESOURCES.iter().enumerate() {
            assert_eq!(resource(one.name), Some(place));
            assert!(!one.metrics.is_empty());
        }
    }

    #[test]
    fn amounts_come_back_from_text() {
        let mut one = Attempt {
            id: "a".to_owned(),
            category: "sort".to_owned(),
            ..Attempt::default()
        };
        one.used.set("memory", Amount::claimed(1 << 60));
        // Read with a rounding too many it would be 1.658.
        let cores = Amount::new(Number::Real(1.658_000_000_000_000_1), Known::Sampled);
        one.used.set("cores", cores);
        one.used.set("nothing", cores);
        let text = serde_json::to_string(&one).unwrap();
        assert!(
            text.contains(r#""memory":{"value":1152921504606846976,"known":"claimed"}"#),
            "{text}"
        );
        let back: Attempt = serde_json::from_str(&text).unwrap();
        assert_eq!(back, one);
        let later = r#"{"id":"a","colour":1,"used":{"warmth":{"value":1,"known":"exact"}}}"#;
        let back: Attempt = serde_json::from_str(later).unwrap();
        assert_eq!(back.used, Amounts::default());
    }
}
