//! `/proc/loadavg`: how many threads wanted to run lately, and the id given last.

use super::field::{fraction, number, words};
use super::source::Source;
use crate::root::Root;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_loadavg",
    file: "/proc/loadavg",
    metrics: &[],
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
    /// The id that was given last, to a process or a thread, where that is told.
    pub given: Option<u32>,
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
        given: words
            .next()
            .and_then(number)
            .and_then(|given| u32::try_from(given).ok()),
    })
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<Loadavg, Absent> {
    let text = root.read_machine(&root.proc("loadavg"))?;
    parse(&text).ok_or(Absent::NoKernelSupport)
}
