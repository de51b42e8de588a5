//! `/proc/meminfo`: the memory of the machine.

use super::field::{first_number, kib, pairs};
use super::source::Source;
use crate::root::Root;
use record::unit::Bytes;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_meminfo",
    file: "/proc/meminfo",
    metrics: &[],
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

/// The lines of the file: name, and bytes; of the pool of huge pages, pages.
pub(crate) fn values(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    pairs(text).filter_map(|(key, value)| {
        let bytes = || kib(value).map(|bytes| bytes.0);
        let number = || first_number(value).filter(|_| key.starts_with(b"HugePages_"));
        Some((key, bytes().or_else(number)?))
    })
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
