//! `/proc/loadavg`: how many threads wanted to run lately.

use super::field::{fraction, number, words};
use super::source::{Source, of_node};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::unit::Unit;
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    of_node(
        "node_load_1m",
        Kind::Gauge,
        Unit::Ratio,
        "/proc/loadavg, field 1",
        "threads running, runnable or in uninterruptible sleep, mean of a minute",
    ),
    of_node(
        "node_threads",
        Kind::Gauge,
        Unit::Count,
        "/proc/loadavg, field 4",
        "threads that there are",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_loadavg",
    file: "/proc/loadavg",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loadavg {
    /// Threads wanting to run, decaying means over 1, 5 and 15 minutes.
    pub load: [f64; 3],
    /// Threads runnable now.
    pub runnable: u64,
    /// Threads that exist.
    pub threads: u64,
}

/// Parses the line; `None` if it is not one.
pub fn parse(text: &[u8]) -> Option<Loadavg> {
    let mut words = words(text);
    let mut next = || fraction(words.next()?);
    let load = [next()?, next()?, next()?];
    let mut counts = words.next()?.split(|byte| *byte == b'/').map(number);
    Some(Loadavg {
        load,
        runnable: counts.next()??,
        threads: counts.next()??,
    })
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<Loadavg, Absent> {
    let text = root.read_machine(&root.proc("loadavg"))?;
    parse(&text).ok_or(Absent::NoKernelSupport)
}
