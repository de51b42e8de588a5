//! Snakemake: `threads` and `resources` of a rule. Time is in minutes there, and its megabytes are
//! of 10^6 bytes; where they are handed on to a scheduler that takes them for MiB that is more.

use super::words::{RETRIES, megabytes, minutes, of};
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
    let resource = |name: &str, word: &str, unit: fn(u64) -> u64| {
        let ask = of(asks, name)?;
        Some(match ask.is_retry {
            true => {
                // More at each attempt.
                let rungs = ask.rungs(RETRIES + 1).into_iter();
                let rungs: Vec<_> = rungs.map(|amount| unit(amount).to_string()).collect();
                let (last, rungs) = (rungs.len(), rungs.join(", "));
                format!("{word}=lambda wildcards, attempt: [{rungs}][min(attempt, {last}) - 1]")
            }
            false => format!("{word}={}", unit(ask.amount)),
        })
    };
    let resources = [
        resource("memory", "mem_mb", megabytes),
        resource("wall", "runtime", minutes),
        resource("footprint", "disk_mb", megabytes),
    ];
    let resources: Vec<_> = resources.into_iter().flatten().collect();
    if !resources.is_empty() {
        lines.push(format!("resources: {}", resources.join(", ")));
    }
    if !resources.is_empty() && asks.iter().any(|ask| ask.is_retry) {
        lines.push(format!("retries: {RETRIES}"));
    }
    lines
}
