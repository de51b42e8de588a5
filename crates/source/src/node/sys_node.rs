//! `/sys/devices/system/node/nodeN/{meminfo,numastat}`: the memory of each NUMA node.

use super::fields::{Field, Fields, Scale, count, gauge};
use super::kept::{KeptFile, Opener, list, numbered};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::{proc_meminfo, proc_vmstat};
use record::unit::{Nanos, Unit};
use record::value::Absent;

const MEMORY: &[Field] = &[
    gauge(
        "MemTotal",
        Scale::One,
        "numa_memory",
        Unit::Bytes,
        "memory of the node",
    ),
    gauge(
        "MemFree",
        Scale::One,
        "numa_memory_free",
        Unit::Bytes,
        "unused",
    ),
    gauge(
        "MemUsed",
        Scale::One,
        "numa_memory_used",
        Unit::Bytes,
        "used",
    ),
    gauge(
        "SwapCached",
        Scale::One,
        "numa_memory_swap_cached",
        Unit::Bytes,
        "in memory and in swap too",
    ),
    gauge(
        "Active(anon)",
        Scale::One,
        "numa_memory_active_anon",
        Unit::Bytes,
        "anonymous memory used lately",
    ),
    gauge(
        "Inactive(anon)",
        Scale::One,
        "numa_memory_inactive_anon",
        Unit::Bytes,
        "anonymous memory not used lately",
    ),
    gauge(
        "Active(file)",
        Scale::One,
        "numa_memory_active_file",
        Unit::Bytes,
        "page cache used lately",
    ),
    gauge(
        "Inactive(file)",
        Scale::One,
        "numa_memory_inactive_file",
        Unit::Bytes,
        "page cache not used lately",
    ),
    gauge(
        "Unevictable",
        Scale::One,
        "numa_memory_unevictable",
        Unit::Bytes,
        "that cannot be given up",
    ),
    gauge(
        "Dirty",
        Scale::One,
        "numa_memory_dirty",
        Unit::Bytes,
        "to be written to files",
    ),
    gauge(
        "Writeback",
        Scale::One,
        "numa_memory_writeback",
        Unit::Bytes,
        "being written to files",
    ),
    gauge(
        "FilePages",
        Scale::One,
        "numa_memory_file",
        Unit::Bytes,
        "page cache",
    ),
    gauge(
        "Mapped",
        Scale::One,
        "numa_memory_mapped",
        Unit::Bytes,
        "page cache mapped by programs",
    ),
    gauge(
        "AnonPages",
        Scale::One,
        "numa_memory_anon",
        Unit::Bytes,
        "anonymous memory of programs",
    ),
    gauge(
        "Shmem",
        Scale::One,
        "numa_memory_shmem",
        Unit::Bytes,
        "shared memory and tmpfs",
    ),
    gauge(
        "KernelStack",
        Scale::One,
        "numa_memory_kernel_stack",
        Unit::Bytes,
        "stacks of threads in the kernel",
    ),
    gauge(
        "PageTables",
        Scale::One,
        "numa_memory_page_tables",
        Unit::Bytes,
        "page tables",
    ),
    gauge(
        "SReclaimable",
        Scale::One,
        "numa_memory_slab_reclaimable",
        Unit::Bytes,
        "small objects of the kernel that it can give up",
    ),
    gauge(
        "SUnreclaim",
        Scale::One,
        "numa_memory_slab_unreclaimable",
        Unit::Bytes,
        "those that it cannot",
    ),
    gauge(
        "AnonHugePages",
        Scale::One,
        "numa_memory_anon_huge",
        Unit::Bytes,
        "anonymous memory in huge pages",
    ),
    gauge(
        "HugePages_Total",
        Scale::One,
        "numa_hugetlb_pages",
        Unit::Count,
        "pages in the pool of the default size",
    ),
    gauge(
        "HugePages_Free",
        Scale::One,
        "numa_hugetlb_pages_free",
        Unit::Count,
        "the unused ones",
    ),
    gauge(
        "HugePages_Surp",
        Scale::One,
        "numa_hugetlb_pages_surplus",
        Unit::Count,
        "above the size of the pool",
    ),
];

const EVENTS: &[Field] = &[
    count("numa_hit", "numa_hit", "pages had where they were wanted"),
    count(
        "numa_miss",
        "numa_miss",
        "pages had here that were wanted on another node",
    ),
    count(
        "numa_foreign",
        "numa_foreign",
        "pages wanted here and had elsewhere",
    ),
    count(
        "interleave_hit",
        "numa_interleave",
        "pages had where the policy to interleave wanted them",
    ),
    count(
        "local_node",
        "numa_local",
        "pages had here by CPUs of the node",
    ),
    count(
        "other_node",
        "numa_other",
        "pages had here by CPUs of others",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_node",
    file: "/sys/devices/system/node/nodeN/{meminfo,numastat}",
    fields: &[MEMORY, EVENTS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: true,
    open,
};

struct Nodes {
    nodes: Vec<Node>,
    left_out: u64,
    memory: Fields,
    events: Fields,
    buffer: Vec<u8>,
}

struct Node {
    name: String,
    meminfo: Option<KeptFile>,
    numastat: Option<KeptFile>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let folder = opener.root().sys("devices/system/node");
    let (names, left_out) = list(&folder);
    let nodes = names
        .into_iter()
        .filter(|name| numbered(name, "node").is_some());
    let nodes: Vec<Node> = nodes
        .map(|name| Node {
            meminfo: opener.open_any(folder.join(&name).join("meminfo")),
            numastat: opener.open_any(folder.join(&name).join("numastat")),
            name,
        })
        .collect();
    // A kernel without NUMA.
    if nodes.is_empty() {
        return Err(Absent::NoKernelSupport);
    }
    Ok(Box::new(Nodes {
        nodes,
        left_out,
        memory: Fields::new(MEMORY, None),
        events: Fields::new(EVENTS, None),
        buffer: Vec::new(),
    }))
}

impl Reading for Nodes {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        rows.leave_out(self.left_out);
        for node in &self.nodes {
            let instance = node.name.as_bytes();
            self.memory.begin();
            self.events.begin();
            // A node may go while its files are open; the others stay.
            if let Some(Ok(text)) = node
                .meminfo
                .as_ref()
                .map(|file| file.read(&mut self.buffer))
            {
                for (key, value) in proc_meminfo::values(text) {
                    self.memory.put(rows, instance, without_node(key), value);
                }
            }
            if let Some(Ok(text)) = node
                .numastat
                .as_ref()
                .map(|file| file.read(&mut self.buffer))
            {
                for (key, value) in proc_vmstat::values(text) {
                    self.events.put(rows, instance, key, value);
                }
            }
        }
        Ok(())
    }
}

/// `Node 0 MemFree`: the name alone.
fn without_node(key: &[u8]) -> &[u8] {
    key.rsplit(|byte| *byte == b' ').next().unwrap_or_default()
}
