//! HTCondor: commands of a submit file. Memory is in MiB there, disk in KiB, time in seconds.

use super::words::{mebibytes, of, seconds};
use super::{Ask, Target};

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "htcondor",
    place: "into the submit file",
    write,
};

const KIB: u64 = 1024;

fn write(asks: &[Ask]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(memory) = of(asks, "memory") {
        let amount = mebibytes(memory.amount);
        lines.push(format!("request_memory = {amount}"));
        if memory.is_retry {
            // The next rung, where the schedd knows this command.
            let next = memory.rungs(2).last().copied().unwrap_or_default();
            lines.push(format!("retry_request_memory = {}", mebibytes(next)));
        }
    }
    if let Some(cores) = of(asks, "cores") {
        lines.push(format!("request_cpus = {}", cores.amount));
    }
    if let Some(disk) = of(asks, "footprint") {
        lines.push(format!("request_disk = {}", disk.amount.div_ceil(KIB)));
    }
    if let Some(wall) = of(asks, "wall") {
        lines.push(format!("allowed_job_duration = {}", seconds(wall.amount)));
    }
    lines
}
