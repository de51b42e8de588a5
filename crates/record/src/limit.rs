//! Limits a task can be held to: their names, units and exit statuses.

use crate::unit::Unit;
use serde::{Deserialize, Serialize};

/// What can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Elapsed time.
    Wall,
    /// CPU time of the whole tree.
    Cpu,
    /// Cores kept busy, mean over a second.
    Cores,
    /// Memory that must be provided: each page once, reclaimable cache left out.
    Memory,
    /// Sum of resident sets.
    Rss,
    /// Sum of address spaces.
    Virtual,
    /// Swap in use.
    Swap,
    /// Processes alive at one instant.
    Processes,
    /// Threads alive at one instant, main threads counted.
    Threads,
    /// Disk space under the measured directories.
    Footprint,
    /// Files under the measured directories.
    Files,
    /// Bytes through read-like calls.
    Read,
    /// Bytes through write-like calls.
    Written,
}

/// One row of the table of limits.
#[derive(Debug, Clone, Copy)]
pub struct LimitKind {
    /// Which resource.
    pub resource: Resource,
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: Unit,
    /// Exit status of `plimsoll run` after it was enforced.
    pub exit_status: u8,
    /// One sentence for people.
    pub doc: &'static str,
}

/// Every limit there is.
pub const LIMITS: &[LimitKind] = &[
    kind(
        Resource::Wall,
        "wall",
        Unit::Nanoseconds,
        124,
        "elapsed time",
    ),
    kind(
        Resource::Cpu,
        "cpu",
        Unit::Nanoseconds,
        152,
        "CPU time of all processes together",
    ),
    kind(
        Resource::Cores,
        "cores",
        Unit::Cores,
        143,
        "cores kept busy, mean of a second",
    ),
    kind(
        Resource::Memory,
        "memory",
        Unit::Bytes,
        137,
        "memory each page once, cache left out",
    ),
    kind(
        Resource::Rss,
        "rss",
        Unit::Bytes,
        137,
        "sum of the resident sets",
    ),
    kind(
        Resource::Virtual,
        "virtual",
        Unit::Bytes,
        137,
        "sum of the address spaces",
    ),
    kind(Resource::Swap, "swap", Unit::Bytes, 137, "swap in use"),
    kind(
        Resource::Processes,
        "processes",
        Unit::Count,
        143,
        "processes alive at one instant",
    ),
    kind(
        Resource::Threads,
        "threads",
        Unit::Count,
        143,
        "threads alive at one instant",
    ),
    kind(
        Resource::Footprint,
        "footprint",
        Unit::Bytes,
        153,
        "disk space of the measured folders",
    ),
    kind(
        Resource::Files,
        "files",
        Unit::Count,
        153,
        "files in the measured folders",
    ),
    kind(Resource::Read, "read", Unit::Bytes, 143, "bytes read"),
    kind(
        Resource::Written,
        "written",
        Unit::Bytes,
        153,
        "bytes written",
    ),
];

const fn kind(
    resource: Resource,
    name: &'static str,
    unit: Unit,
    exit_status: u8,
    doc: &'static str,
) -> LimitKind {
    LimitKind {
        resource,
        name,
        unit,
        exit_status,
        doc,
    }
}

impl Resource {
    /// The row of the table of limits for this resource.
    pub fn kind(self) -> Option<&'static LimitKind> {
        LIMITS.iter().find(|kind| kind.resource == self)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.kind().map_or("", |kind| kind.name)
    }
}

/// A limit as it was asked for: `limit` is in the base unit of its resource; cores are thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What is limited.
    pub resource: Resource,
    /// The highest value allowed, in base units (cores: in thousandths of a core).
    pub value: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_one_row_and_its_own_name() {
        let mut names: Vec<_> = LIMITS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 13);
        assert_eq!(Resource::Cpu.kind().unwrap().exit_status, 152);
    }
}
