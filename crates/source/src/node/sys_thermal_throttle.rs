//! `/sys/devices/system/cpu/cpuN/thermal_throttle`: how often a core or a package was too hot
//! (x86).
//!
//! A core's numbers are those of its first CPU, a package's those of its first.

use super::fields::{Field, MILLIS, count, counter};
use super::kept::Opener;
use super::kept::numbered;
use super::numbers::Numbers;
use super::source::{Reading, Source, Tried};
use crate::query::field::number;
use crate::root::Root;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use std::path::Path;

const CORE: &[Field] = &[
    count(
        "core_throttle_count",
        "core_throttles",
        "times that a core was too hot",
    ),
    counter(
        "core_throttle_total_time_ms",
        MILLIS,
        "core_throttled",
        Unit::Nanoseconds,
        "time in which it was too hot",
    )
    .since("5.6"),
];

const PACKAGE: &[Field] = &[
    count(
        "package_throttle_count",
        "package_throttles",
        "times that a package was too hot",
    ),
    counter(
        "package_throttle_total_time_ms",
        MILLIS,
        "package_throttled",
        Unit::Nanoseconds,
        "time in which it was too hot",
    )
    .since("5.6"),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_thermal_throttle",
    file: "/sys/devices/system/cpu/cpuN/thermal_throttle",
    fields: &[CORE, PACKAGE],
    tried: Tried::FixtureOnly,
    period: Nanos::from_secs(10),
    listed: true,
    open,
};

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let mut numbers = Numbers::default();
    let cpus = opener.root().sys("devices/system/cpu");
    for cpu in numbers.names(&cpus) {
        let Some(number) = numbered(&cpu, "cpu") else {
            continue;
        };
        let folder = cpus.join(&cpu);
        let counts = folder.join("thermal_throttle");
        for (siblings, fields) in [
            ("thread_siblings_list", CORE),
            ("core_siblings_list", PACKAGE),
        ] {
            let siblings = folder.join("topology").join(siblings);
            // Where the topology is not told, each CPU stands for itself.
            if first(opener.root(), &siblings).is_none_or(|first| first == number) {
                numbers.add(opener, &counts, &cpu, fields);
            }
        }
    }
    numbers.into_reading()
}

/// The first CPU of a list such as `0,32` or `0-3`.
fn first(root: &Root, list: &Path) -> Option<u64> {
    let text = root.read_machine(list).ok()?;
    number(
        text.trim_ascii()
            .split(|byte| *byte == b',' || *byte == b'-')
            .next()?,
    )
}
