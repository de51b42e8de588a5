//! `/proc/vmstat`: what the machine's memory management did.

use super::fields::{Field, Fields, KIB, Scale, count, counter};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_vmstat::values;
use record::unit::{Nanos, Unit};
use record::value::Absent;

const FIELDS: &[Field] = &[
    counter(
        "pgpgin",
        KIB,
        "vm_pgpgin",
        Unit::Bytes,
        "read from block devices",
    ),
    counter(
        "pgpgout",
        KIB,
        "vm_pgpgout",
        Unit::Bytes,
        "written to block devices",
    ),
    counter(
        "pswpin",
        Scale::Pages,
        "vm_pswpin",
        Unit::Bytes,
        "brought back from swap",
    ),
    counter(
        "pswpout",
        Scale::Pages,
        "vm_pswpout",
        Unit::Bytes,
        "put into swap",
    ),
    count("pgfault", "vm_pgfault", "page faults"),
    count(
        "pgmajfault",
        "vm_pgmajfault",
        "page faults that waited for I/O",
    ),
    count("pgfree", "vm_pgfree", "pages given back"),
    count("pgactivate", "vm_pgactivate", "pages that became active"),
    count(
        "pgdeactivate",
        "vm_pgdeactivate",
        "pages that became inactive",
    ),
    count("pgrefill", "vm_pgrefill", "active pages looked at"),
    count(
        "pgscan_kswapd",
        "vm_pgscan_kswapd",
        "pages looked at to be given up, by the kernel's own thread",
    ),
    count(
        "pgscan_direct",
        "vm_pgscan_direct",
        "pages looked at to be given up, by who needed memory",
    ),
    count(
        "pgscan_khugepaged",
        "vm_pgscan_khugepaged",
        "pages looked at to be given up, to make huge pages",
    )
    .since("6.2"),
    count(
        "pgscan_proactive",
        "vm_pgscan_proactive",
        "pages looked at to be given up, because it was asked for",
    )
    .since("6.15"),
    count(
        "pgsteal_kswapd",
        "vm_pgsteal_kswapd",
        "pages given up, by the kernel's own thread",
    ),
    count(
        "pgsteal_direct",
        "vm_pgsteal_direct",
        "pages given up, by who needed memory",
    ),
    count(
        "pgsteal_khugepaged",
        "vm_pgsteal_khugepaged",
        "pages given up, to make huge pages",
    )
    .since("6.2"),
    count(
        "pgsteal_proactive",
        "vm_pgsteal_proactive",
        "pages given up, because it was asked for",
    )
    .since("6.15"),
    count(
        "pgscan_direct_throttle",
        "vm_pgscan_direct_throttle",
        "waits of who needed memory, for the kernel's own thread",
    ),
    count(
        "slabs_scanned",
        "vm_slabs_scanned",
        "objects of the kernel looked at to be given up",
    ),
    count(
        "pageoutrun",
        "vm_pageoutrun",
        "runs of the kernel's own thread",
    ),
    count(
        "pgrotated",
        "vm_pgrotated",
        "pages written back that were given up next",
    ),
    count(
        "drop_pagecache",
        "vm_drop_pagecache",
        "times that the page cache was dropped by hand",
    ),
    count(
        "drop_slab",
        "vm_drop_slab",
        "times that objects were dropped by hand",
    ),
    count(
        "oom_kill",
        "vm_oom_kill",
        "processes ended for want of memory, in control groups too",
    )
    .since("4.13"),
    counter(
        "nr_dirtied",
        Scale::Pages,
        "vm_nr_dirtied",
        Unit::Bytes,
        "page cache changed",
    ),
    counter(
        "nr_written",
        Scale::Pages,
        "vm_nr_written",
        Unit::Bytes,
        "page cache written",
    ),
    count(
        "nr_vmscan_write",
        "vm_nr_vmscan_write",
        "pages written to be given up",
    ),
    count(
        "workingset_refault_anon",
        "vm_workingset_refault_anon",
        "pages that came back soon after they were given up, anonymous",
    )
    .since("5.9"),
    count(
        "workingset_refault_file",
        "vm_workingset_refault_file",
        "pages that came back soon after they were given up, of files",
    )
    .since("5.9"),
    count(
        "workingset_activate_anon",
        "vm_workingset_activate_anon",
        "of these, pages that became active at once, anonymous",
    )
    .since("5.9"),
    count(
        "workingset_activate_file",
        "vm_workingset_activate_file",
        "of these, pages that became active at once, of files",
    )
    .since("5.9"),
    count(
        "numa_hit",
        "vm_numa_hit",
        "pages had where they were wanted",
    ),
    count(
        "numa_miss",
        "vm_numa_miss",
        "pages had here that were wanted on another node",
    ),
    count(
        "numa_foreign",
        "vm_numa_foreign",
        "pages wanted here and had elsewhere",
    ),
    count(
        "numa_interleave",
        "vm_numa_interleave",
        "pages had where the policy to interleave wanted them",
    ),
    count(
        "numa_local",
        "vm_numa_local",
        "pages had on the node of the CPU",
    ),
    count(
        "numa_other",
        "vm_numa_other",
        "pages had here for CPUs of another node",
    ),
    count(
        "numa_pte_updates",
        "vm_numa_pte_updates",
        "pages marked to see who uses them",
    ),
    count(
        "numa_hint_faults",
        "vm_numa_hint_faults",
        "faults of such pages",
    ),
    count(
        "numa_hint_faults_local",
        "vm_numa_hint_faults_local",
        "of these, on the node of the CPU",
    ),
    count(
        "numa_pages_migrated",
        "vm_numa_pages_migrated",
        "pages moved to the node that uses them",
    ),
    count("pgmigrate_success", "vm_pgmigrate_success", "pages moved"),
    count(
        "pgmigrate_fail",
        "vm_pgmigrate_fail",
        "pages that could not be moved",
    ),
    count(
        "pgpromote_success",
        "vm_pgpromote_success",
        "pages moved to faster memory",
    )
    .since("5.19"),
    count(
        "pgdemote_kswapd",
        "vm_pgdemote_kswapd",
        "pages moved to slower memory, by the kernel's own thread",
    )
    .since("5.15"),
    count(
        "pgdemote_direct",
        "vm_pgdemote_direct",
        "pages moved to slower memory, by who needed memory",
    )
    .since("5.15"),
    count(
        "compact_stall",
        "vm_compact_stall",
        "waits until memory was compacted",
    ),
    count("compact_fail", "vm_compact_fail", "of these, in vain"),
    count(
        "compact_success",
        "vm_compact_success",
        "of these, not in vain",
    ),
    count(
        "thp_fault_alloc",
        "vm_thp_fault_alloc",
        "huge pages made at faults",
    ),
    count(
        "thp_fault_fallback",
        "vm_thp_fault_fallback",
        "huge pages that could not be had at faults",
    ),
    count(
        "thp_collapse_alloc",
        "vm_thp_collapse_alloc",
        "huge pages made of small ones",
    ),
    count(
        "thp_collapse_alloc_failed",
        "vm_thp_collapse_alloc_failed",
        "huge pages that could not be made of small ones",
    ),
    count(
        "thp_file_alloc",
        "vm_thp_file_alloc",
        "huge pages of shared memory and files",
    ),
    count(
        "thp_split_page",
        "vm_thp_split_page",
        "huge pages taken apart",
    ),
    count(
        "thp_zero_page_alloc",
        "vm_thp_zero_page_alloc",
        "huge pages of zeros",
    ),
    count(
        "thp_swpout",
        "vm_thp_swpout",
        "huge pages put into swap whole",
    ),
    count(
        "thp_swpout_fallback",
        "vm_thp_swpout_fallback",
        "huge pages taken apart for it",
    ),
    count("swap_ra", "vm_swap_ra", "pages read ahead from swap"),
    count("swap_ra_hit", "vm_swap_ra_hit", "of these, that were used"),
    counter(
        "zswpin",
        Scale::Pages,
        "vm_zswpin",
        Unit::Bytes,
        "brought back from compressed swap",
    ),
    counter(
        "zswpout",
        Scale::Pages,
        "vm_zswpout",
        Unit::Bytes,
        "put into compressed swap",
    ),
    counter(
        "zswpwb",
        Scale::Pages,
        "vm_zswpwb",
        Unit::Bytes,
        "moved on from compressed swap to the disk",
    )
    .since("6.8"),
    count(
        "balloon_inflate",
        "vm_balloon_inflate",
        "pages given to the hypervisor",
    ),
    count(
        "balloon_deflate",
        "vm_balloon_deflate",
        "pages had back from it",
    ),
    count(
        "unevictable_pgs_culled",
        "vm_unevictable_pgs_culled",
        "pages found that cannot be given up",
    ),
];

const STALL: &str = "allocstall";

/// One for each zone of memory, or before Linux 4.8 for all.
const STALLS: Field = count("allocstall_*", "vm_allocstall", "waits for memory, by zone");

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_vmstat",
    file: "/proc/vmstat",
    fields: &[FIELDS, &[STALLS]],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Vmstat {
    file: KeptFile,
    fields: Fields,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Vmstat {
        file: opener.open(opener.root().proc("vmstat"))?,
        fields: Fields::new(FIELDS, opener.page_bytes()),
        buffer: Vec::new(),
    }))
}

impl Reading for Vmstat {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        self.fields.begin();
        for (key, value) in values(self.file.read(&mut self.buffer)?) {
            match key.strip_prefix(STALL.as_bytes()) {
                Some(zone) => STALLS.put(rows, zone.strip_prefix(b"_").unwrap_or(zone), value),
                None => self.fields.put(rows, b"", key, value),
            }
        }
        Ok(())
    }
}
