//! It ended well: what it left unused of what was asked for.

use super::amounts::with_headroom;
use super::case::{show, told_claim};
use super::cores;
use super::elsewhere;
use super::verdict::{Certainty, Change, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::report::Claim;
use record::unit::Unit;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "success",
    description: "it ended well",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    if !case.ended_well() {
        return None;
    }
    let parts: Vec<_> = [memory(case), cores_used(case), wall(case)]
        .into_iter()
        .flatten()
        .collect();
    let used = match parts.is_empty() {
        true => String::new(),
        false => format!(": it used {}", parts.join(", ")),
    };
    let sentence = format!("The task ended well{}{used}.", case.after());
    let memory = case
        .memory()
        .and_then(|(metric, _)| case.told_metric(metric));
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all([case.told_exit()])
        .told_all(memory)
        .told_all(
            ["cores_mean", "wall_time"]
                .iter()
                .filter_map(|metric| case.told_metric(metric)),
        )
        .told_all(
            claims(case).map(|(name, claim)| told_claim(&format!("{name} asked for"), claim)),
        );
    let changes = changes(case);
    let verdict = advice(case, &changes)
        .into_iter()
        .fold(verdict, Verdict::advise);
    Some(verdict.ask(changes))
}

fn advice(case: &Case<'_>, changes: &[Change]) -> Vec<&'static str> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut advice = vec![match changes.iter().any(|change| change.from.is_some()) {
        true => {
            "Ask for less next time, if its input is like this one: what nobody uses, others wait \
             for."
        }
        false => "Ask for as much next time, if its input is like this one.",
    }];
    let is_of_job = |change: &Change| change.from.is_some() && !change.own_limit;
    if case.report.task.job.scheduler.is_some() && changes.iter().any(is_of_job) {
        advice.push("The request is that of the whole job: what else runs in it needs its part.");
    }
    advice
}

/// What was asked for of that which is told.
fn claims<'a>(case: &Case<'a>) -> impl Iterator<Item = (&'static str, &'a Claim)> {
    let request = &case.report.request;
    ["memory", "cores", "wall"]
        .into_iter()
        .filter_map(|name| Some((name, request.get(name)?)))
}

/// `1 GiB of the 4 GiB of memory asked for (25 %)`; the first number alone where nothing was.
fn of_asked(case: &Case<'_>, resource: &str, used: &str, value: f64, what: &str) -> String {
    let Some(claim) = case.report.request.get(resource) else {
        return format!("{used} {what}");
    };
    let asked = claim.value.as_f64();
    let whole = show(asked, claim.unit);
    let share = value / asked.max(1e-9) * 100.0;
    let share = match share {
        share if share < 1.0 => "less than 1 %".to_owned(),
        share => format!("{share:.0} %"),
    };
    format!("{used} of the {whole} {what} asked for ({share})")
}

fn memory(case: &Case<'_>) -> Option<String> {
    let (_, used) = case.memory()?;
    let words = used.words();
    Some(of_asked(case, "memory", &words, used.value, "of memory"))
}

fn cores_used(case: &Case<'_>) -> Option<String> {
    let mean = case.amount("cores_mean")?.value;
    let words = quantity::show(mean, Unit::Cores);
    let asked = of_asked(case, "cores", &words, mean, "CPUs");
    Some(format!("{asked} on average"))
}

fn wall(case: &Case<'_>) -> Option<String> {
    case.report.request.get("wall")?;
    let wall = case.wall()?;
    let words = quantity::show(wall, Unit::Nanoseconds);
    Some(of_asked(case, "wall", &words, wall, "of time"))
}

/// What would have been enough, where it was asked for more; memory in any case.
fn changes(case: &Case<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let killed = case.evidence("oom_kill").next().is_some();
    let is_partial = elsewhere::note(case).is_some();
    if let Some((metric, used)) = case.memory()
        && !killed
        && !is_partial
    {
        changes.extend(with_headroom(case, "memory", used, metric));
    }
    changes.extend(cores::unused(case).map(|(change, _)| change));
    if let Some(wall) = case.amount("wall_time")
        && case.report.request.contains_key("wall")
    {
        changes.extend(with_headroom(case, "wall", wall, "wall_time"));
    }
    changes
}
