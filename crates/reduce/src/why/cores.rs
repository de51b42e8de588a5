//! CPUs that were asked for and stood idle.

use super::case::{show, told_claim};
use super::elsewhere;
use super::verdict::{Certainty, Change, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::report::Claim;
use record::unit::Unit;
use record::value::Number;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "idle_cores",
    description: "more CPUs were asked for than it kept busy",
    end: None,
    beside: Some(beside),
};

/// Of a shorter task the busiest second tells little.
const WALL_LEAST_NS: f64 = 1e9;

/// A part of a core this large needs no further one.
const SPARE: f64 = 0.15;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let claim = claimed(case)?;
    let (change, peak) = unused(case)?;
    let sentence = format!(
        "{} CPUs were {}, and no more than {} of them were seen busy over a second.",
        show(claim.value.as_f64(), claim.unit),
        said(case),
        quantity::show(peak, Unit::Cores)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all([told_claim("cores", claim)])
        .told_all(case.told_metric("cores_peak"))
        .told_all(case.told_metric("cores_mean"));
    let verdict = verdict.advise(
        "Ask for fewer CPUs, or tell the program how many threads to start (OMP_NUM_THREADS, \
         `-j`, `--threads`).",
    );
    Some(verdict.ask([change]))
}

/// What was asked for; else what was provided, if that is not just the whole machine.
fn claimed<'a>(case: &Case<'a>) -> Option<&'a Claim> {
    let asked = case.asked("cores");
    let provided = case.report.allocation.get("cores");
    let part = provided.filter(|claim| claim.value.as_f64() < case.report.host.cpus as f64);
    asked.or(part)
}

fn said(case: &Case<'_>) -> &'static str {
    match case.asked("cores") {
        Some(_) => "asked for",
        None => "provided",
    }
}

/// Fewer CPUs that would have been enough, and how many were kept busy. Threads that waited for a
/// CPU would have kept more of them busy.
pub(super) fn unused(case: &Case<'_>) -> Option<(Change, f64)> {
    let claim = claimed(case)?;
    let metric = ["cores_peak", "cores_mean"]
        .into_iter()
        .find(|metric| case.amount(metric).is_some())?;
    let peak = case.amount(metric)?.value;
    let wall = case.wall().filter(|wall| *wall >= WALL_LEAST_NS)?;
    let time = |metric| case.amount(metric).map_or(0.0, |time| time.value);
    let wanted = (time("cpu_time") + time("cpu_wait")) / wall;
    let enough = (peak.max(wanted) - SPARE).ceil().max(1.0);
    if enough >= claim.value.as_f64() || elsewhere::note(case).is_some() {
        return None;
    }
    let waited = match wanted > peak {
        true => format!(
            ", {} with the waits for a CPU",
            quantity::show(wanted, Unit::Cores)
        ),
        false => String::new(),
    };
    let change = Change {
        resource: "cores".to_owned(),
        from: Some(claim.value),
        from_source: Some(claim.source.clone()),
        to: Number::Whole(enough as u64),
        unit: Unit::Cores,
        reason: format!("{metric} {}{waited}", quantity::show(peak, Unit::Cores)),
        own_limit: false,
    };
    Some((change, peak))
}
