//! `/proc/stat`: times of the CPUs, interrupts, switches.

use super::fields::{Field, Fields, Scale, count, counter, gauge, put_columns};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{number, words};
use crate::query::proc_stat::{Line, parts};
use record::unit::{Nanos, Unit};
use record::value::Absent;

/// The columns of a line of times, in their order. The first two hold the times of guests too.
const TIMES: &[Field] = &[
    time("user", "node_cpu_user", "in programs; guests are in it"),
    time(
        "nice",
        "node_cpu_nice",
        "in programs of lower priority; guests are in it",
    ),
    time(
        "system",
        "node_cpu_system",
        "in the kernel, interrupts left out",
    ),
    time("idle", "node_cpu_idle", "unused"),
    time(
        "iowait",
        "node_cpu_iowait",
        "unused while threads waited for I/O; goes back now and then",
    ),
    time(
        "irq",
        "node_cpu_irq",
        "in interrupts; 0 where the kernel does not tell them apart",
    ),
    time("softirq", "node_cpu_softirq", "in softirqs"),
    time(
        "steal",
        "node_cpu_steal",
        "that the hypervisor gave to others",
    ),
    time("guest", "node_cpu_guest", "in virtual machines"),
    time(
        "guest_nice",
        "node_cpu_guest_nice",
        "in virtual machines of lower priority",
    ),
];

const COUNTS: &[Field] = &[
    count("intr", "node_interrupts", "interrupts handled"),
    count("ctxt", "node_switches", "context switches"),
    count("processes", "node_forks", "processes and threads made"),
    gauge(
        "procs_running",
        Scale::One,
        "node_running",
        Unit::Count,
        "threads runnable now",
    ),
    gauge(
        "procs_blocked",
        Scale::One,
        "node_blocked",
        Unit::Count,
        "threads waiting for I/O now",
    ),
    SOFTIRQS,
];

const SOFTIRQS: Field = count(
    "softirq *",
    "node_softirqs",
    "softirqs handled: all, and by kind",
);

/// The kinds of softirqs in the order of the file.
const KINDS: [&[u8]; 10] = [
    b"HI",
    b"TIMER",
    b"NET_TX",
    b"NET_RX",
    b"BLOCK",
    b"IRQ_POLL",
    b"TASKLET",
    b"SCHED",
    b"HRTIMER",
    b"RCU",
];

const fn time(key: &'static str, name: &'static str, doc: &'static str) -> Field {
    counter(key, Scale::Ticks, name, Unit::Nanoseconds, doc)
}

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_stat",
    file: "/proc/stat",
    fields: &[TIMES, COUNTS],
    tried: Tried::Live,
    period: Nanos(0),
    listed: false,
    open,
};

struct Stat {
    file: KeptFile,
    counts: Fields,
    buffer: Vec<u8>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let path = opener.root().proc("stat");
    Ok(Box::new(Stat {
        file: opener.open(path)?,
        counts: Fields::new(COUNTS, None),
        buffer: Vec::new(),
    }))
}

impl Reading for Stat {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        self.counts.begin();
        for line in parts(self.file.read(&mut self.buffer)?) {
            match line {
                Line::Times(cpu, times) => put_columns(rows, cpu.unwrap_or_default(), times, TIMES),
                Line::Number(key, Some(number)) => self.counts.put(rows, b"", key, number),
                Line::Number(_, None) => {}
                Line::Softirqs(counts) => softirqs(counts, rows),
            }
        }
        Ok(())
    }
}

fn softirqs(counts: &[u8], rows: &mut Rows) {
    let names = std::iter::once(&b""[..]).chain(KINDS);
    for (name, count) in names.zip(words(counts).map(number)) {
        if let Some(count) = count {
            SOFTIRQS.put(rows, name, count);
        }
    }
}
