//! Nextflow: settings of a process in `nextflow.config`. Its `GB` and `MB` are of 1024.

use super::words::{RETRIES, of, size, time};
use super::{Ask, Target};

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "nextflow",
    place: "into nextflow.config, in `process { withName: 'NAME' { ... } }`",
    write,
};

fn write(asks: &[Ask]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(memory) = of(asks, "memory") {
        lines.push(format!(
            "memory = {}",
            climbing(memory, size(memory.amount, ".GB", ".MB"))
        ));
    }
    if let Some(cores) = of(asks, "cores") {
        lines.push(format!("cpus = {}", cores.amount));
    }
    if let Some(wall) = of(asks, "wall") {
        let amount = time(wall.amount, [".h", ".m", ".s"]);
        lines.push(format!("time = {}", climbing(wall, amount)));
    }
    if let Some(disk) = of(asks, "footprint") {
        lines.push(format!(
            "disk = {}",
            climbing(disk, size(disk.amount, ".GB", ".MB"))
        ));
    }
    if !lines.is_empty() && asks.iter().any(|ask| ask.is_retry) {
        lines.push("errorStrategy = 'retry'".to_owned());
        lines.push(format!("maxRetries = {RETRIES}"));
    }
    lines
}

/// Twice as much at each attempt, where more may be needed again.
fn climbing(ask: &Ask, amount: String) -> String {
    match ask.is_retry {
        true => format!("{{ {amount} * 2 ** (task.attempt - 1) }}"),
        false => amount,
    }
}
