//! `/proc/interrupts`: how many interrupts each CPU handled.
//!
//! The file has a line for each interrupt and in it a number for each CPU, which takes the kernel
//! milliseconds on a large machine, so it is read once a minute.

use super::fields::{Field, count};
use super::kept::{KeptFile, Opener};
use super::rows::Rows;
use super::source::{Reading, Source, Tried};
use crate::query::field::{number, words};
use record::unit::Nanos;
use record::value::Absent;

const INTERRUPTS: Field = count(
    "each line",
    "node_cpu_interrupts",
    "interrupts that this CPU handled, of all kinds, its timer's and those of other CPUs included",
);

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "proc_interrupts",
    file: "/proc/interrupts",
    fields: &[&[INTERRUPTS]],
    tried: Tried::Live,
    period: Nanos::from_secs(60),
    listed: false,
    open,
};

struct Interrupts {
    file: KeptFile,
    buffer: Vec<u8>,
    /// What each CPU of the file's first line handled.
    sums: Vec<u64>,
}

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let file = opener.open(opener.root().proc("interrupts"))?;
    Ok(Box::new(Interrupts {
        file,
        buffer: Vec::new(),
        sums: Vec::new(),
    }))
}

impl Reading for Interrupts {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        let mut lines = self
            .file
            .read(&mut self.buffer)?
            .split(|byte| *byte == b'\n');
        let cpus: Vec<_> = words(lines.next().unwrap_or_default())
            .map_while(|word| word.strip_prefix(b"CPU"))
            .collect();
        self.sums.clear();
        self.sums.resize(cpus.len(), 0);
        for line in lines {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                continue;
            };
            let counts = words(line.get(colon + 1..).unwrap_or_default()).map_while(number);
            let counts: Vec<_> = counts.take(cpus.len()).collect();
            // Some lines have one number that is of no CPU.
            if counts.len() == cpus.len() && (cpus.len() > 1 || !is_of_nobody(line)) {
                for (sum, count) in self.sums.iter_mut().zip(counts) {
                    *sum = sum.saturating_add(count);
                }
            }
        }
        for (cpu, sum) in cpus.iter().zip(&self.sums) {
            // As in /proc/stat.
            INTERRUPTS.put(rows, &[b"cpu", *cpu].concat(), *sum);
        }
        Ok(())
    }
}

/// Errors are counted for the machine (Linux, arch/x86/kernel/irq.c).
fn is_of_nobody(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"ERR:") || line.starts_with(b"MIS:")
}
