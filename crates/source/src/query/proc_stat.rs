//! `/proc/stat`: CPU time of the machine by state, processes made, boot time.

use super::field::{first_number, lines, number, ticks, words};
use super::source::Source;
use crate::root::Root;
use record::unit::Nanos;
use record::value::Absent;

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_stat",
    file: "/proc/stat",
    metrics: &[],
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

/// A line of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'t> {
    /// Times in ticks: of all CPUs (`None`), or of the CPU that is named (`cpu3`).
    Times(Option<&'t [u8]>, &'t [u8]),
    /// Softirqs: all, then by kind.
    Softirqs(&'t [u8]),
    /// Another one: its name and its first number (of interrupts: all).
    Number(&'t [u8], Option<u64>),
}

/// The lines of the file.
pub(crate) fn parts(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    lines(text).filter_map(|line| {
        let key = words(line).next()?;
        let value = line.get(key.len()..).unwrap_or_default();
        let is_cpu = |key: &[u8]| key.strip_prefix(b"cpu").and_then(number).is_some();
        Some(match key {
            b"cpu" => Line::Times(None, value),
            b"softirq" => Line::Softirqs(value),
            _ if is_cpu(key) => Line::Times(Some(key), value),
            _ => Line::Number(key, first_number(value)),
        })
    })
}

/// Parses the file.
pub fn parse(text: &[u8]) -> NodeStat {
    let mut stat = NodeStat::default();
    for line in parts(text) {
        match line {
            Line::Times(None, value) => all_cpus(&mut stat, value),
            Line::Times(Some(_), _) => stat.cpus += 1,
            Line::Number(b"processes", number) => stat.forks = number,
            Line::Number(b"procs_running", number) => stat.running = number,
            Line::Number(b"btime", number) => stat.boot_secs = number,
            Line::Number(..) | Line::Softirqs(_) => {}
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
