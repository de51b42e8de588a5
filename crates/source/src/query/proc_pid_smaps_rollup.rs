//! `/proc/PID/smaps_rollup` (Linux 4.14; its parts by kind 5.4): the proportional set size.
//!
//! Reading it walks the page tables under the mmap lock of the process: 20 us for a small one, 8.8
//! ms for each GiB of 4 KiB pages, in which the process cannot map memory. Read it on a budget: see
//! [`super::pss`].

use super::field::{kib, pairs};
use super::source::Source;
use record::metric::{Kind, Metric, Scope};
use record::unit::{Bytes, Unit};

/// What this file yields.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "pss",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Process,
        origin: "/proc/PID/smaps_rollup Pss",
        since: "4.14",
        method: "exact when read",
        doc: "resident set with each shared page divided by its users",
    },
    Metric {
        name: "pss_unreclaimable",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Process,
        origin: "/proc/PID/smaps_rollup Pss_Anon + Pss_Shmem",
        since: "5.4",
        method: "exact when read",
        doc: "the part of pss that reclaim cannot simply drop",
    },
    Metric {
        name: "swap_pss",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        scope: Scope::Process,
        origin: "/proc/PID/smaps_rollup SwapPss",
        since: "4.14",
        method: "exact when read",
        doc: "swapped-out pages, each shared one divided by its users",
    },
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_pid_smaps_rollup",
    file: "/proc/PID/smaps_rollup",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The proportional set size and its parts; `None` for each that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SmapsRollup {
    /// All of it.
    pub pss: Option<Bytes>,
    /// Anonymous pages.
    pub pss_anon: Option<Bytes>,
    /// File pages.
    pub pss_file: Option<Bytes>,
    /// Shared memory.
    pub pss_shmem: Option<Bytes>,
    /// Swapped out, shared entries divided by their users.
    pub pss_swap: Option<Bytes>,
}

impl SmapsRollup {
    /// Anonymous and shared memory: what reclaim cannot simply drop.
    pub fn unreclaimable(&self) -> Option<Bytes> {
        let (anon, shmem) = (self.pss_anon?, self.pss_shmem?);
        anon.0.checked_add(shmem.0).map(Bytes)
    }
}

/// Parses the file.
pub fn parse(text: &[u8]) -> SmapsRollup {
    let mut rollup = SmapsRollup::default();
    for (key, value) in pairs(text) {
        let field = match key {
            b"Pss" => &mut rollup.pss,
            b"Pss_Anon" => &mut rollup.pss_anon,
            b"Pss_File" => &mut rollup.pss_file,
            b"Pss_Shmem" => &mut rollup.pss_shmem,
            b"SwapPss" => &mut rollup.pss_swap,
            _ => continue,
        };
        *field = kib(value);
    }
    rollup
}
