//! `/proc/meminfo`: the memory of the machine.

use super::fields::{Field, Fields, Scale, gauge};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::proc_meminfo::values;
use record::unit::{Nanos, Unit};
use record::value::Absent;

const FIELDS: &[Field] = &[
    gauge(
        "MemTotal",
        Scale::One,
        "node_memory",
        Unit::Bytes,
        "physical memory that the kernel manages",
    ),
    gauge(
        "MemFree",
        Scale::One,
        "node_memory_free",
        Unit::Bytes,
        "unused",
    ),
    gauge(
        "MemAvailable",
        Scale::One,
        "node_memory_available",
        Unit::Bytes,
        "to be had by programs without swapping",
    ),
    gauge(
        "Buffers",
        Scale::One,
        "node_memory_buffers",
        Unit::Bytes,
        "page cache of block devices",
    ),
    gauge(
        "Cached",
        Scale::One,
        "node_memory_cached",
        Unit::Bytes,
        "page cache of files, shared memory included",
    ),
    gauge(
        "SwapCached",
        Scale::One,
        "node_swap_cached",
        Unit::Bytes,
        "in memory and in swap too",
    ),
    gauge(
        "Active",
        Scale::One,
        "node_memory_active",
        Unit::Bytes,
        "used lately",
    ),
    gauge(
        "Inactive",
        Scale::One,
        "node_memory_inactive",
        Unit::Bytes,
        "not used lately",
    ),
    gauge(
        "Active(anon)",
        Scale::One,
        "node_memory_active_anon",
        Unit::Bytes,
        "anonymous memory used lately",
    ),
    gauge(
        "Inactive(anon)",
        Scale::One,
        "node_memory_inactive_anon",
        Unit::Bytes,
        "anonymous memory not used lately",
    ),
    gauge(
        "Active(file)",
        Scale::One,
        "node_memory_active_file",
        Unit::Bytes,
        "page cache used lately",
    ),
    gauge(
        "Inactive(file)",
        Scale::One,
        "node_memory_inactive_file",
        Unit::Bytes,
        "page cache not used lately",
    ),
    gauge(
        "Unevictable",
        Scale::One,
        "node_memory_unevictable",
        Unit::Bytes,
        "that cannot be given up",
    ),
    gauge(
        "Mlocked",
        Scale::One,
        "node_memory_mlocked",
        Unit::Bytes,
        "locked by programs",
    ),
    gauge(
        "SwapTotal",
        Scale::One,
        "node_swap",
        Unit::Bytes,
        "swap space",
    ),
    gauge(
        "SwapFree",
        Scale::One,
        "node_swap_free",
        Unit::Bytes,
        "swap space unused",
    ),
    gauge(
        "Zswap",
        Scale::One,
        "node_zswap",
        Unit::Bytes,
        "memory that compressed swap takes",
    ),
    gauge(
        "Zswapped",
        Scale::One,
        "node_zswapped",
        Unit::Bytes,
        "memory of programs that is in compressed swap",
    ),
    gauge(
        "Dirty",
        Scale::One,
        "node_memory_dirty",
        Unit::Bytes,
        "to be written to files",
    ),
    gauge(
        "Writeback",
        Scale::One,
        "node_memory_writeback",
        Unit::Bytes,
        "being written to files",
    ),
    gauge(
        "AnonPages",
        Scale::One,
        "node_memory_anon",
        Unit::Bytes,
        "anonymous memory of programs",
    ),
    gauge(
        "Mapped",
        Scale::One,
        "node_memory_mapped",
        Unit::Bytes,
        "page cache mapped by programs",
    ),
    gauge(
        "Shmem",
        Scale::One,
        "node_memory_shmem",
        Unit::Bytes,
        "shared memory and tmpfs",
    ),
    gauge(
        "KReclaimable",
        Scale::One,
        "node_memory_kernel_reclaimable",
        Unit::Bytes,
        "of the kernel, that it can give up",
    ),
    gauge(
        "Slab",
        Scale::One,
        "node_memory_slab",
        Unit::Bytes,
        "small objects of the kernel",
    ),
    gauge(
        "SReclaimable",
        Scale::One,
        "node_memory_slab_reclaimable",
        Unit::Bytes,
        "the part that it can give up",
    ),
    gauge(
        "SUnreclaim",
        Scale::One,
        "node_memory_slab_unreclaimable",
        Unit::Bytes,
        "the part that it cannot",
    ),
    gauge(
        "KernelStack",
        Scale::One,
        "node_memory_kernel_stack",
        Unit::Bytes,
        "stacks of threads in the kernel",
    ),
    gauge(
        "PageTables",
        Scale::One,
        "node_memory_page_tables",
        Unit::Bytes,
        "page tables",
    ),
    gauge(
        "SecPageTables",
        Scale::One,
        "node_memory_secondary_page_tables",
        Unit::Bytes,
        "page tables of virtual machines and devices",
    ),
    gauge(
        "NFS_Unstable",
        Scale::One,
        "node_memory_nfs_unstable",
        Unit::Bytes,
        "sent to an NFS server and not yet on its disk",
    ),
    gauge(
        "Bounce",
        Scale::One,
        "node_memory_bounce",
        Unit::Bytes,
        "buffers of devices that cannot reach all memory",
    ),
    gauge(
        "WritebackTmp",
        Scale::One,
        "node_memory_writeback_fuse",
        Unit::Bytes,
        "being written through FUSE",
    ),
    gauge(
        "CommitLimit",
        Scale::One,
        "node_commit_limit",
        Unit::Bytes,
        "that may be promised to programs (overcommit_memory=2)",
    ),
    gauge(
        "Committed_AS",
        Scale::One,
        "node_committed",
        Unit::Bytes,
        "promised to programs",
    ),
    gauge(
        "VmallocUsed",
        Scale::One,
        "node_memory_vmalloc",
        Unit::Bytes,
        "of the kernel, pages that do not lie together",
    ),
    gauge(
        "Percpu",
        Scale::One,
        "node_memory_percpu",
        Unit::Bytes,
        "of the kernel, for each CPU",
    ),
    gauge(
        "HardwareCorrupted",
        Scale::One,
        "node_memory_corrupted",
        Unit::Bytes,
        "taken out of use after errors of the hardware",
    ),
    gauge(
        "AnonHugePages",
        Scale::One,
        "node_memory_anon_huge",
        Unit::Bytes,
        "anonymous memory in huge pages",
    ),
    gauge(
        "ShmemHugePages",
        Scale::One,
        "node_memory_shmem_huge",
        Unit::Bytes,
        "shared memory in huge pages",
    ),
    gauge(
        "FileHugePages",
        Scale::One,
        "node_memory_file_huge",
        Unit::Bytes,
        "page cache in huge pages",
    ),
    gauge(
        "CmaTotal",
        Scale::One,
        "node_memory_cma",
        Unit::Bytes,
        "set aside for devices",
    ),
    gauge(
        "CmaFree",
        Scale::One,
        "node_memory_cma_free",
        Unit::Bytes,
        "the part of it that is unused",
    ),
    gauge(
        "Hugetlb",
        Scale::One,
        "node_hugetlb",
        Unit::Bytes,
        "pool of huge pages, of all sizes",
    ),
    gauge(
        "HugePages_Total",
        Scale::One,
        "node_hugetlb_pages",
        Unit::Count,
        "pages in the pool of the default size",
    ),
    gauge(
        "HugePages_Free",
        Scale::One,
        "node_hugetlb_pages_free",
        Unit::Count,
        "the unused ones",
    ),
    gauge(
        "HugePages_Rsvd",
        Scale::One,
        "node_hugetlb_pages_reserved",
        Unit::Count,
        "promised and not yet used",
    ),
    gauge(
        "HugePages_Surp",
        Scale::One,
        "node_hugetlb_pages_surplus",
        Unit::Count,
        "above the size of the pool",
    ),
    gauge(
        "Hugepagesize",
        Scale::One,
        "node_hugetlb_page",
        Unit::Bytes,
        "size of a page of the default size",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_meminfo",
    file: "/proc/meminfo",
    fields: &[FIELDS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Meminfo {
    file: KeptFile,
    fields: Fields,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    Ok(Box::new(Meminfo {
        file: opener.open(opener.root().proc("meminfo"))?,
        fields: Fields::new(FIELDS, None),
        buffer: Vec::new(),
    }))
}

impl Reading for Meminfo {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        self.fields.begin();
        for (key, value) in values(self.file.read(&mut self.buffer)?) {
            self.fields.put(rows, b"", key, value);
        }
        Ok(())
    }
}
