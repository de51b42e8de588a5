//! `/proc/fs/lustre/llite/MOUNT/stats`, since Lustre 2.12
//! `/sys/kernel/debug/lustre/llite/MOUNT/stats` (root alone): what the clients of Lustre did, by
//! mount and by operation.

use super::fields::{Field, MICROS, Scale, count, counter};
use super::kept::{KeptFile, Opener, list};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{lines, number, words};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// Instances are mount, blank, operation, as Lustre names them.
const CALLS: Field = count("samples", "lustre_calls", "calls of an operation");
const BYTES: Field = counter(
    "sum [bytes]",
    Scale::One,
    "lustre_bytes",
    Unit::Bytes,
    "bytes of all calls of read_bytes, write_bytes",
);
const TIME: Field = counter(
    "sum [usecs]",
    MICROS,
    "lustre_time",
    Unit::Nanoseconds,
    "time of all calls of an operation",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "lustre_llite",
    file: "/sys/kernel/debug/lustre/llite/MOUNT/stats",
    fields: &[&[CALLS, BYTES, TIME]],
    tried: Tried::FixtureOnly,
    period: Nanos(0),
    listed: true,
    open,
};

struct Llite {
    mounts: Vec<(String, KeptFile)>,
    left_out: u64,
    buffer: Vec<u8>,
    instance: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let folders = [
        opener.root().sys("kernel/debug/lustre/llite"),
        opener.root().proc("fs/lustre/llite"),
    ];
    let (mut mounts, mut left_out) = (Vec::new(), 0);
    for folder in folders {
        let (names, more) = list(&folder);
        left_out += more;
        for name in names {
            let known = mounts.iter().any(|(known, _)| *known == name);
            if let Some(file) = opener
                .open_any(folder.join(&name).join("stats"))
                .filter(|_| !known)
            {
                mounts.push((name, file));
            }
        }
    }
    if mounts.is_empty() {
        return Err(Absent::NoDevice);
    }
    Ok(Box::new(Llite {
        mounts,
        left_out,
        buffer: Vec::new(),
        instance: Vec::new(),
    }))
}

impl Reading for Llite {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        rows.leave_out(self.left_out);
        for (mount, file) in &self.mounts {
            // Unmounted: the others stay.
            let Ok(text) = file.read(&mut self.buffer) else {
                continue;
            };
            for line in lines(text) {
                if let Some(sample) = sample(line) {
                    self.instance.clear();
                    for part in [mount.as_bytes(), b" ", sample.operation] {
                        self.instance.extend_from_slice(part);
                    }
                    put(rows, &self.instance, &sample, [CALLS, BYTES, TIME]);
                }
            }
        }
        Ok(())
    }
}

/// What was counted of one operation.
pub(super) struct Sample<'t> {
    pub(super) operation: &'t [u8],
    pub(super) samples: u64,
    pub(super) unit: &'t [u8],
    pub(super) sum: Option<u64>,
}

/// `read_bytes 27 samples [bytes] 4096 1048576 144217 ...`: minimum, maximum, sum.
fn sample(line: &[u8]) -> Option<Sample<'_>> {
    let mut words = words(line);
    let operation = words.next()?;
    let samples = number(words.next()?)?;
    (words.next()? == b"samples").then_some(())?;
    let unit = words.next()?.strip_prefix(b"[")?.strip_suffix(b"]")?;
    let sum = words.nth(2).and_then(number);
    Some(Sample {
        operation,
        samples,
        unit,
        sum,
    })
}

/// The rows of an operation: calls, and bytes or time.
pub(super) fn put(rows: &mut Rows, instance: &[u8], sample: &Sample<'_>, fields: [Field; 3]) {
    let [calls, bytes, time] = fields;
    calls.put(rows, instance, sample.samples);
    let field = match sample.unit {
        b"bytes" => bytes,
        b"usec" | b"usecs" => time,
        _ => return,
    };
    if let Some(sum) = sample.sum {
        field.put(rows, instance, sum);
    }
}
