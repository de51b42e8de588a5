//! `/proc/fs/lustre/{mdt,obdfilter}/TARGET/job_stats`: on servers of Lustre, what each job asked of
//! them.

use super::fields::{Field, MICROS, Scale, count, counter};
use super::kept::{KeptFile, Opener, list};
use super::lustre_llite::{Sample, put};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{lines, number, words};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// Instances are target, blank, job as the client calls it, blank, operation.
const CALLS: Field = count(
    "samples",
    "lustre_job_calls",
    "calls of an operation by a job; what it does not use has no row",
);
const BYTES: Field = counter(
    "sum, unit: bytes",
    Scale::One,
    "lustre_job_bytes",
    Unit::Bytes,
    "bytes of all calls of read_bytes, write_bytes",
);
const TIME: Field = counter(
    "sum, unit: usecs",
    MICROS,
    "lustre_job_time",
    Unit::Nanoseconds,
    "time of all calls of an operation",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "lustre_job_stats",
    file: "/proc/fs/lustre/{mdt,obdfilter}/TARGET/job_stats",
    fields: &[&[CALLS, BYTES, TIME]],
    tried: Tried::FixtureOnly,
    period: Nanos::from_secs(10),
    listed: true,
    open,
};

struct Targets {
    targets: Vec<(String, KeptFile)>,
    left_out: u64,
    buffer: Vec<u8>,
    instance: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let (mut targets, mut left_out) = (Vec::new(), 0);
    for kind in ["mdt", "obdfilter"] {
        let folder = opener.root().proc("fs/lustre").join(kind);
        let (names, more) = list(&folder);
        left_out += more;
        for name in names {
            if let Some(file) = opener.open_any(folder.join(&name).join("job_stats")) {
                targets.push((name, file));
            }
        }
    }
    if targets.is_empty() {
        return Err(Absent::NoDevice);
    }
    Ok(Box::new(Targets {
        targets,
        left_out,
        buffer: Vec::new(),
        instance: Vec::new(),
    }))
}

impl Reading for Targets {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        rows.leave_out(self.left_out);
        for (target, file) in &self.targets {
            // Unmounted: the others stay.
            let Ok(text) = file.read(&mut self.buffer) else {
                continue;
            };
            let mut job = None;
            for line in lines(text) {
                let line = line.trim_ascii();
                if let Some(name) = line.strip_prefix(b"- job_id:") {
                    job = Some(name.trim_ascii());
                } else if let (Some(job), Some(sample)) = (job, sample(line)) {
                    self.instance.clear();
                    for part in [target.as_bytes(), b" ", job, b" ", sample.operation] {
                        self.instance.extend_from_slice(part);
                    }
                    put(rows, &self.instance, &sample, [CALLS, BYTES, TIME]);
                }
            }
        }
        Ok(())
    }
}

/// `read_bytes: { samples: 3, unit: bytes, min: 4096, max: 8192, sum: 16384 }`; `None` for what was
/// never asked for.
fn sample(line: &[u8]) -> Option<Sample<'_>> {
    let colon = memchr::memchr(b':', line)?;
    let (operation, rest) = line.split_at(colon);
    let mut sample = Sample {
        operation: operation.trim_ascii(),
        samples: 0,
        unit: b"",
        sum: None,
    };
    let rest = rest
        .get(1..)?
        .trim_ascii()
        .strip_prefix(b"{")?
        .strip_suffix(b"}")?;
    for pair in rest.split(|byte| *byte == b',') {
        let mut words = words(pair);
        match (words.next(), words.next()) {
            (Some(b"samples:"), Some(word)) => sample.samples = number(word)?,
            (Some(b"unit:"), Some(word)) => sample.unit = word,
            (Some(b"sum:"), Some(word)) => sample.sum = number(word),
            _ => {}
        }
    }
    (sample.samples > 0).then_some(sample)
}
