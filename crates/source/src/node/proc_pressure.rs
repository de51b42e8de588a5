//! `/proc/pressure/{cpu,memory,io,irq}` (Linux 4.20): time lost to a lack of a resource.

use super::fields::{Field, Scale, counter, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_pressure::{Stall, parse};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// Millionths of 1.
const MILLION: f64 = 1e6;

const RESOURCES: [&str; 4] = ["cpu", "memory", "io", "irq"];

const SOME: &[Field] = &[
    total(
        "some total",
        "pressure_some",
        "time in which at least one thread waited for it",
    ),
    share(
        "some avg10",
        "pressure_some_10s",
        "the part of the last 10 s",
    ),
    share(
        "some avg60",
        "pressure_some_60s",
        "the part of the last minute",
    ),
    share(
        "some avg300",
        "pressure_some_300s",
        "the part of the last 5 minutes",
    ),
];

const FULL: &[Field] = &[
    total(
        "full total",
        "pressure_full",
        "time in which all threads that were not idle waited for it",
    ),
    share(
        "full avg10",
        "pressure_full_10s",
        "the part of the last 10 s",
    ),
    share(
        "full avg60",
        "pressure_full_60s",
        "the part of the last minute",
    ),
    share(
        "full avg300",
        "pressure_full_300s",
        "the part of the last 5 minutes",
    ),
];

const fn total(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    counter(key, Scale::One, name, Unit::Nanoseconds, doc).since("4.20")
}

const fn share(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    gauge(key, Scale::One, name, Unit::Millionths, doc).since("4.20")
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pressure",
    file: "/proc/pressure/RESOURCE",
    fields: &[SOME, FULL],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Pressure {
    files: Vec<(&'static str, KeptFile)>,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let folder = opener.root().proc("pressure");
    let mut why = Absent::NoKernelSupport;
    let mut files = Vec::new();
    for resource in RESOURCES {
        // One resource alone may be lacking: interrupts are counted since Linux 6.1.
        match opener.open(folder.join(resource)) {
            Ok(file) => files.push((resource, file)),
            Err(absent) => why = absent,
        }
    }
    let buffer = Vec::new();
    match files.is_empty() {
        true => Err(why),
        false => Ok(Box::new(Pressure { files, buffer })),
    }
}

impl Reading for Pressure {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        for (resource, file) in &self.files {
            // Booted with `psi=0` the files are there and cannot be read.
            let now = parse(file.read(&mut self.buffer)?);
            put(rows, resource, SOME, now.some);
            put(rows, resource, FULL, now.full);
        }
        Ok(())
    }
}

fn put(rows: &mut Rows, resource: &str, fields: &[Field], stall: Option<Stall>) {
    let Some(stall) = stall else {
        return;
    };
    let shares = stall.shares.map(|share| (share * MILLION).round() as u64);
    for (field, value) in fields
        .iter()
        .zip(std::iter::once(stall.total.0).chain(shares))
    {
        field.put(rows, resource.as_bytes(), value);
    }
}
