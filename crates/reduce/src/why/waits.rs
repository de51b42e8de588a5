//! Time that its threads waited: for a CPU, for storage.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::unit::Unit;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "waits",
    description: "it waited long for a CPU or for storage",
    end: None,
    beside: Some(beside),
};

/// Shorter waits are of no account.
const LEAST_NS: f64 = 1e9;

/// From which share of the CPU time on waiting for a CPU is told, and from which share of the wall
/// time on waiting for storage.
const SHARE: f64 = 0.25;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let wait = |metric: &str, of: &str| {
        let (waited, whole) = (case.amount(metric)?.value, case.amount(of)?.value);
        (waited >= LEAST_NS && waited >= whole * SHARE).then_some(waited)
    };
    let time = |ns| quantity::show(ns, Unit::Nanoseconds);
    let cpu = wait("cpu_wait", "cpu_time");
    let io = wait("io_wait", "wall_time");
    let sentence = match (cpu, io) {
        (None, None) => return None,
        (Some(cpu), None) => format!("Its threads waited {} for a CPU", time(cpu)),
        (None, Some(io)) => format!("Its threads waited {} for storage", time(io)),
        (Some(cpu), Some(io)) => format!(
            "Its threads waited {} for a CPU and {} for storage",
            time(cpu),
            time(io)
        ),
    };
    let used = case.amount("cpu_time").map_or_else(String::new, |used| {
        format!(", beside {} of CPU time", time(used.value))
    });
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, format!("{sentence}{used}."));
    let verdict = match cpu {
        Some(_) => verdict
            .told_all(case.told_metric("cpu_wait"))
            .told_all(case.told_metric("cpu_time")),
        None => verdict,
    };
    // A quota has advice of its own.
    let verdict = match cpu.is_some() && case.evidence("throttled").next().is_none() {
        true => verdict.advise(
            "Ask for as many CPUs as it has busy threads, or start fewer threads; where it has as \
             many, others used them.",
        ),
        false => verdict,
    };
    Some(match io {
        Some(_) => verdict.told_all(case.told_metric("io_wait")),
        None => verdict,
    })
}
