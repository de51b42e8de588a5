//! Snakemake: `threads` and `resources` of a rule. Time is in minutes there. Its megabytes are
//! handed on to schedulers that take them for MiB, so that is what is counted.

use super::words::{mebibytes, minutes, of};
use super::{Ask, Target};

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "snakemake",
    place: "into the rule",
    write,
};

fn write(asks: &[Ask]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(cores) = of(asks, "cores") {
        lines.push(format!("threads: {}", cores.amount));
    }
    let memory = of(asks, "memory").map(|it| format!("mem_mb={}", mebibytes(it.amount)));
    let wall = of(asks, "wall").map(|it| format!("runtime={}", minutes(it.amount)));
    let disk = of(asks, "footprint").map(|it| format!("disk_mb={}", mebibytes(it.amount)));
    let resources: Vec<_> = [memory, wall, disk].into_iter().flatten().collect();
    if !resources.is_empty() {
        lines.push(format!("resources: {}", resources.join(", ")));
    }
    lines
}
