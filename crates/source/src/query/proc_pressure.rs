//! `/proc/pressure/{cpu,memory,io}` and a control group's `*.pressure` (Linux 4.20): time lost to a
//! lack of a resource.

use super::field::{fraction, lines, number, words};
use super::source::Source;
use crate::root::Root;
use record::unit::Nanos;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pressure",
    file: "/proc/pressure/RESOURCE",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// One line: the share of recent time and the total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Share of the last 10 s, 60 s and 300 s, 1.0 = all of it.
    pub shares: [f64; 3],
    /// Time since boot.
    pub total: Nanos,
}

/// The two lines.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pressure {
    /// At least one thread waited.
    pub some: Option<Stall>,
    /// All threads that were not idle waited.
    pub full: Option<Stall>,
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(text) {
        if let Some(rest) = line.strip_prefix(b"some ") {
            pressure.some = stall_line(rest);
        } else if let Some(rest) = line.strip_prefix(b"full ") {
            pressure.full = stall_line(rest);
        }
    }
    pressure
}

/// `avg10=0.00 avg60=0.08 avg300=0.50 total=11273494`: percent and microseconds.
fn stall_line(text: &[u8]) -> Option<Stall> {
    let mut words = words(text);
    let mut share = |name: &[u8]| Some(fraction(words.next()?.strip_prefix(name)?)? / 100.0);
    let shares = [share(b"avg10=")?, share(b"avg60=")?, share(b"avg300=")?];
    let total = number(words.next()?.strip_prefix(b"total=")?)?;
    Some(Stall {
        shares,
        total: Nanos::from_micros(total),
    })
}

/// Reads and parses the file of `resource`: `cpu`, `memory` or `io`.
pub fn read(root: &Root, resource: &str) -> Result<Pressure, Absent> {
    let path = root.proc("pressure").join(resource);
    Ok(parse(&root.read_machine(&path)?))
}
