//! Slurm: lines of a batch script. Sizes are of 1024 there.

use super::words::{of, seconds, size};
use super::{Ask, Target};

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "slurm",
    place: "into the batch script",
    write,
};

fn write(asks: &[Ask]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(memory) = of(asks, "memory") {
        lines.push(match memory.by_cpu {
            Some(cpus) => {
                // Of as many as there will be.
                let cpus = of(asks, "cores").map_or(cpus, |cores| cores.amount.max(1));
                let each = memory.amount.div_ceil(cpus);
                format!("#SBATCH --mem-per-cpu={}", size(each, "G", "M"))
            }
            None => format!("#SBATCH --mem={}", size(memory.amount, "G", "M")),
        });
    }
    if let Some(cores) = of(asks, "cores") {
        lines.push(format!("#SBATCH --cpus-per-task={}", cores.amount));
    }
    if let Some(wall) = of(asks, "wall") {
        lines.push(format!("#SBATCH --time={}", time(seconds(wall.amount))));
    }
    if let Some(disk) = of(asks, "footprint") {
        lines.push(format!("#SBATCH --tmp={}", size(disk.amount, "G", "M")));
    }
    lines
}

/// `HH:MM:SS`, with days in front of a longer time.
fn time(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let rest = format!("{hours:02}:{:02}:{:02}", seconds / 60 % 60, seconds % 60);
    match days {
        0 => rest,
        days => format!("{days}-{rest}"),
    }
}
