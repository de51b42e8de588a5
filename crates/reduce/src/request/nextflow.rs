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
    let bytes = |bytes| size(bytes, ".GB", ".MB");
    if let Some(memory) = of(asks, "memory") {
        lines.push(format!("memory = {}", climbing(memory, bytes)));
    }
    if let Some(cores) = of(asks, "cores") {
        lines.push(format!("cpus = {}", cores.amount));
    }
    if let Some(wall) = of(asks, "wall") {
        let said = climbing(wall, |amount| time(amount, [".h", ".m", ".s"]));
        lines.push(format!("time = {said}"));
    }
    if let Some(disk) = of(asks, "footprint") {
        lines.push(format!("disk = {}", climbing(disk, bytes)));
    }
    if !lines.is_empty() && asks.iter().any(|ask| ask.is_retry) {
        lines.push("errorStrategy = 'retry'".to_owned());
        lines.push(format!("maxRetries = {RETRIES}"));
    }
    lines
}

/// More at each attempt, where more may be needed again.
fn climbing(ask: &Ask, say: impl Fn(u64) -> String) -> String {
    match ask.is_retry {
        true => {
            let rungs = ask.rungs(RETRIES + 1).into_iter().map(say);
            let rungs: Vec<_> = rungs.collect();
            let last = rungs.len();
            let rungs = rungs.join(", ");
            format!("{{ [{rungs}][Math.min(task.attempt, {last}) - 1] }}")
        }
        false => say(ask.amount),
    }
}
