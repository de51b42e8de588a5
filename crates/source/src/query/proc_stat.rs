//! `/proc/stat`: CPU time of the machine by state, processes made, boot time.

use super::field::{first_number, lines, number, ticks, words};
use super::source::{Source, of_node};
use crate::root::Root;
use record::metric::{Kind, Metric};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// What this file yields.
pub const METRICS: &[Metric] = &[
    time(
        "node_cpu_user",
        "/proc/stat cpu user + nice",
        "CPU time in programs",
    ),
    time(
        "node_cpu_system",
        "/proc/stat cpu system + irq + softirq",
        "CPU time in the kernel",
    ),
    time(
        "node_cpu_idle",
        "/proc/stat cpu idle + iowait",
        "CPU time unused",
    ),
    time(
        "node_cpu_stolen",
        "/proc/stat cpu steal",
        "CPU time that the hypervisor gave to others",
    ),
    of_node(
        "node_forks",
        Kind::Counter,
        Unit::Count,
        "/proc/stat processes",
        "processes and threads made since boot",
    ),
];

const fn time(name: &'static str, origin: &'static str, doc: &'static str) -> Metric {
    of_node(name, Kind::Counter, Unit::Nanoseconds, origin, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_stat",
    file: "/proc/stat",
    metrics: METRICS,
    digest: |text| format!("{:#?}", parse(text)),
};

/// The machine since boot; `None` for each line that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeStat {
    /// Time in programs, nice ones included; guests are in it.
    pub user: Option<Nanos>,
    /// Time in the kernel, interrupts included.
    pub system: Option<Nanos>,
    /// Time unused, waiting for I/O included.
    pub idle: Option<Nanos>,
    /// Time taken by the hypervisor.
    pub stolen: Option<Nanos>,
    /// CPUs with a line of their own.
    pub cpus: u64,
    /// Processes and threads made.
    pub forks: Option<u64>,
    /// Threads runnable now.
    pub running: Option<u64>,
    /// Boot, seconds since 1970.
    pub boot_secs: Option<u64>,
}

/// Parses the file.
pub fn parse(text: &[u8]) -> NodeStat {
    let mut stat = NodeStat::default();
    for line in lines(text) {
        let Some(key) = words(line).next() else {
            continue;
        };
        let value = line.get(key.len()..).unwrap_or_default();
        match key {
            b"cpu" => all_cpus(&mut stat, value),
            b"processes" => stat.forks = first_number(value),
            b"procs_running" => stat.running = first_number(value),
            b"btime" => stat.boot_secs = first_number(value),
            _ => stat.cpus += u64::from(key.strip_prefix(b"cpu").and_then(number).is_some()),
        }
    }
    stat
}

/// `user nice system idle iowait irq softirq steal ...`, in ticks.
fn all_cpus(stat: &mut NodeStat, value: &[u8]) {
    let mut columns = words(value).map_while(number).map(ticks);
    let sum_of = |columns: [Option<Nanos>; 2]| match columns {
        [Some(a), Some(b)] => Some(a.plus(b)),
        _ => None,
    };
    let mut next = || columns.next();
    let user = [next(), next()];
    let system = next();
    let idle = [next(), next()];
    let interrupts = [next(), next()];
    stat.user = sum_of(user);
    stat.idle = sum_of(idle);
    stat.system = sum_of([system, sum_of(interrupts)]);
    stat.stolen = next();
}

/// Reads and parses the file.
pub fn read(root: &Root) -> Result<NodeStat, Absent> {
    Ok(parse(&root.read_machine(&root.proc("stat"))?))
}
