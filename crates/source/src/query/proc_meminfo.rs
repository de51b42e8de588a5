//! `/proc/meminfo`: the memory of the machine.

use super::field::{kib, pairs};
use super::source::{Source, of_node};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::unit::{Bytes, Unit};
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    gauge(
        "node_memory",
        "/proc/meminfo MemTotal",
        "physical memory that the kernel manages",
    ),
    gauge(
        "node_memory_available",
        "/proc/meminfo MemAvailable",
        "memory that programs could have without swapping",
    ),
    gauge(
        "node_swap_free",
        "/proc/meminfo SwapFree",
        "swap space unused",
    ),
];

const fn gauge(name: &'static str, origin: &'static str, doc: &'static str) -> Metric {
    of_node(name, Kind::Gauge, Unit::Bytes, origin, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_meminfo",
    file: "/proc/meminfo",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The memory of the machine; `None` for each line that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meminfo {
    /// All that the kernel manages.
    pub total: Option<Bytes>,
    /// Unused.
    pub free: Option<Bytes>,
    /// To be had without swapping.
    pub available: Option<Bytes>,
    /// Page cache, shared memory included.
    pub cached: Option<Bytes>,
    /// Shared memory and tmpfs.
    pub shmem: Option<Bytes>,
    /// Swap space.
    pub swap_total: Option<Bytes>,
    /// Swap space unused.
    pub swap_free: Option<Bytes>,
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Meminfo {
    let mut meminfo = Meminfo::default();
    for (key, value) in pairs(text) {
        let field = match key {
            b"MemTotal" => &mut meminfo.total,
            b"MemFree" => &mut meminfo.free,
            b"MemAvailable" => &mut meminfo.available,
            b"Cached" => &mut meminfo.cached,
            b"Shmem" => &mut meminfo.shmem,
            b"SwapTotal" => &mut meminfo.swap_total,
            b"SwapFree" => &mut meminfo.swap_free,
            _ => continue,
        };
        *field = kib(value);
    }
    meminfo
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<Meminfo, Absent> {
    Ok(parse(&root.read_machine(&root.proc("meminfo"))?))
}
