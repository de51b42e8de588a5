//! What the machine as a whole did: rows of `node`, of the kernel files that `source` reads.

use record::codec::series::Row;
use record::table::node;
use record::unit::{Bytes, Nanos};
use source::query::{proc_loadavg, proc_meminfo, proc_stat};
use source::root::Root;
use store::disk::RealDisk;
use store::segment::{Sheet, Writer};

/// A metric by its name in METRICS.md, as it was read.
type Reading = (&'static str, Option<u64>);

/// All of them, now; what this kernel does not tell is absent.
pub(super) fn read(root: &Root) -> Vec<Reading> {
    let stat = proc_stat::read(root).unwrap_or_default();
    let memory = proc_meminfo::read(root).unwrap_or_default();
    let threads = proc_loadavg::read(root).map(|load| load.threads);
    let time = |time: Option<Nanos>| time.map(|time| time.0);
    let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    vec![
        ("node_cpu_user", time(stat.user)),
        ("node_cpu_system", time(stat.system)),
        ("node_cpu_idle", time(stat.idle)),
        ("node_cpu_stolen", time(stat.stolen)),
        ("node_forks", stat.forks),
        ("node_memory", bytes(memory.total)),
        ("node_memory_available", bytes(memory.available)),
        ("node_swap_free", bytes(memory.swap_free)),
        ("node_threads", threads.ok()),
    ]
}

/// Writes a row for each that is there.
pub(super) fn write(readings: &[Reading], sheet: &mut Sheet, writer: &mut Writer<RealDisk>) {
    let mut key = Vec::new();
    for (metric, value) in readings {
        let Some(value) = value.and_then(|value| i64::try_from(value).ok()) else {
            continue;
        };
        node::key(metric, b"", &mut key);
        let row = Row {
            key: &key,
            present: 1,
            values: &[value],
        };
        sheet.row(writer, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_metric_is_there_and_declared() {
        let declared: HashSet<_> = crate::cmd::metrics::tables()
            .iter()
            .flat_map(|(_, metrics)| metrics.iter().map(|metric| metric.name))
            .collect();
        for (name, value) in read(&Root::default()) {
            assert!(declared.contains(name), "{name}");
            assert!(value.is_some(), "{name}");
        }
    }
}
