//! `/proc/vmstat`: what the machine's memory management has and did.

use super::field::{lines, number, words};
use super::source::Source;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_vmstat",
    file: "/proc/vmstat",
    metrics: &[],
    digest: |text| format!("{:#?}", parse(text)),
};

/// `None` for each line that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Vmstat {
    /// Transparent huge pages made since the machine started: at page faults.
    pub huge_by_faults: Option<u64>,
    /// Of small ones, by the kernel's own thread or when asked.
    pub huge_by_collapse: Option<u64>,
    /// Of shared memory.
    pub huge_shared: Option<u64>,
    /// Shared memory and files in tmpfs, in pages.
    pub shared_pages: Option<u64>,
    /// Processes that were ended for want of memory, in control groups too (since Linux 4.13).
    pub oom_kills: Option<u64>,
}

impl Vmstat {
    /// All huge pages made; `None` where the kernel does not count them.
    pub fn huge(&self) -> Option<u64> {
        let shared = self.huge_shared.unwrap_or(0);
        let own = self.huge_by_faults?.saturating_add(self.huge_by_collapse?);
        Some(own.saturating_add(shared))
    }
}

/// The lines of the file: name and number.
pub(crate) fn values(text: &[u8]) -> impl Iterator<Item = (&[u8], u64)> {
    lines(text).filter_map(|line| {
        let mut words = words(line);
        Some((words.next()?, number(words.next()?)?))
    })
}

/// Parses the file.
pub fn parse(text: &[u8]) -> Vmstat {
    let mut vmstat = Vmstat::default();
    for (key, value) in values(text) {
        let field = match key {
            b"thp_fault_alloc" => &mut vmstat.huge_by_faults,
            b"thp_collapse_alloc" => &mut vmstat.huge_by_collapse,
            b"thp_file_alloc" => &mut vmstat.huge_shared,
            b"nr_shmem" => &mut vmstat.shared_pages,
            b"oom_kill" => &mut vmstat.oom_kills,
            _ => continue,
        };
        *field = Some(value);
    }
    vmstat
}
