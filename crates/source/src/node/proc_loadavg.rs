//! `/proc/loadavg`: how many threads wanted to run lately.

use super::fields::{Field, Scale, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_loadavg::parse;
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// Millionths of 1.
const MILLION: f64 = 1e6;

const FIELDS: &[Field] = &[
    load(
        "field 1",
        "node_load_1m",
        "threads running, runnable or in uninterruptible sleep, mean of a minute",
    ),
    load("field 2", "node_load_5m", "the same, mean of 5 minutes"),
    load("field 3", "node_load_15m", "the same, mean of 15 minutes"),
];

const THREADS: Field = gauge(
    "field 4",
    Scale::One,
    "node_threads",
    Unit::Count,
    "threads that exist",
);

const fn load(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    gauge(key, Scale::One, name, Unit::Millionths, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_loadavg",
    file: "/proc/loadavg",
    fields: &[FIELDS, &[THREADS]],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Loadavg {
    file: KeptFile,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let file = opener.open(opener.root().proc("loadavg"))?;
    let buffer = Vec::new();
    Ok(Box::new(Loadavg { file, buffer }))
}

impl Reading for Loadavg {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        let text = self.file.read(&mut self.buffer)?;
        // A line that is none has no rows.
        let Some(now) = parse(text) else {
            return Ok(());
        };
        for (field, load) in FIELDS.iter().zip(now.load) {
            field.put(rows, b"", (load * MILLION).round() as u64);
        }
        THREADS.put(rows, b"", now.threads);
        Ok(())
    }
}
