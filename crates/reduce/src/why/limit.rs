//! A limit of `plimsoll run` itself.

use super::amounts::{peak_and_more, rung};
use super::case::short;
use super::verdict::{Certainty, Change, Told, Verdict};
use super::{Case, Cause};
use crate::limit::metric_of;
use record::limit::LIMITS;
use record::quantity;
use record::report::{Exceeded, ExitType};
use record::unit::Unit;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "limit",
    description: "a limit of plimsoll run was exceeded",
    end: Some(end),
    beside: Some(beside),
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.exit().kind != ExitType::Limit {
        return None;
    }
    let Some(broken) = case.enforced() else {
        let sentence = "Plimsoll ended the task for a limit, and the report does not say which.";
        return Some(Verdict::new(CAUSE.name, Certainty::Known, sentence));
    };
    // The kernel ends one process at the limit of its control group, Plimsoll then the others.
    let by_kernel = broken.resource == "memory" && case.evidence("oom_kill").next().is_some();
    let who = match by_kernel {
        true => "The kernel and Plimsoll",
        false => "Plimsoll",
    };
    let when = broken.at_ns.map_or_else(
        || case.after(),
        |at| format!(" after {}", quantity::show_time(at.0)),
    );
    let sentence = format!(
        "{who} ended the task: its limit on {} was {}{when}{}.",
        named(broken),
        how_far(broken),
        largest(broken)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all([told_limit(case, broken), told_value(broken)])
        .told_all(case.told("oom_kill"));
    let verdict = advice(broken)
        .iter()
        .fold(verdict, |verdict, text| verdict.advise(*text));
    Some(verdict.ask([change(case, broken)]))
}

/// Limits that were exceeded and ended nothing.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    let passed = case.report.exceeded.iter().filter(|one| !one.enforced);
    let passed: Vec<_> = passed.collect();
    let first = passed.first()?;
    let names: Vec<_> = passed.iter().map(|one| named(one)).collect();
    let more = match names.len() {
        1 => format!("The limit on {} was {}", names.join(", "), how_far(first)),
        _ => format!("The limits on {} were exceeded", names.join(", ")),
    };
    let sentence = format!("{more}, for which nothing was ended.");
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence);
    let told = passed
        .iter()
        .flat_map(|one| [told_limit(case, one), told_value(one)]);
    let changes = passed.iter().map(|one| change(case, one));
    Some(verdict.told_all(told).ask(changes))
}

/// `memory of 40 MiB`.
pub(super) fn named(broken: &Exceeded) -> String {
    let limit = quantity::show(broken.limit.as_f64(), broken.unit);
    format!("{} of {limit}", broken.resource)
}

/// How far beyond it the task went.
pub(super) fn how_far(broken: &Exceeded) -> String {
    let over = broken.value.as_f64() - broken.limit.as_f64();
    // Time is always a little over.
    let share = over / broken.limit.as_f64().max(1.0);
    if over <= 0.0 || broken.unit == Unit::Nanoseconds && share < 0.05 {
        "reached".to_owned()
    } else {
        format!("exceeded by {}", quantity::show(over, broken.unit))
    }
}

/// The process with the largest part, where one is named.
fn largest(broken: &Exceeded) -> String {
    match (&broken.process, broken.pid) {
        (Some(name), Some(pid)) => format!(", most of it by {} (pid {pid})", short(name)),
        (Some(name), None) => format!(", most of it by {}", short(name)),
        _ => String::new(),
    }
}

fn told_limit(case: &Case<'_>, broken: &Exceeded) -> Told {
    let claim = case.report.request.get(&broken.resource);
    let source = claim.map_or("limits", |claim| claim.source.as_str());
    Told {
        what: format!("limit on {}", broken.resource),
        value: quantity::show(broken.limit.as_f64(), broken.unit),
        source: source.to_owned(),
    }
}

fn told_value(broken: &Exceeded) -> Told {
    Told {
        what: format!("{} found", broken.resource),
        value: quantity::show(broken.value.as_f64(), broken.unit),
        source: format!("exceeded: {}", broken.source),
    }
}

/// The next rung of the ladder; where the task went on beyond the limit and ended well, what it
/// used.
fn change(case: &Case<'_>, broken: &Exceeded) -> Change {
    let claim = case.report.request.get(&broken.resource);
    let source = claim.map_or("limits", |claim| claim.source.as_str());
    let kind = LIMITS.iter().find(|kind| kind.name == broken.resource);
    let metric = kind.map_or("", |kind| metric_of(kind.resource));
    let mut change = match case.amount(metric) {
        Some(used) if !broken.enforced && case.ended_well() => {
            peak_and_more(case, &broken.resource, used, metric)
        }
        used => {
            let most = used.map_or(0.0, |used| used.value);
            let found = broken.value.as_f64().max(most);
            rung(&broken.resource, broken.limit, found, broken.unit, source)
        }
    };
    change.own_limit = true;
    change
}

fn advice(broken: &Exceeded) -> &'static [&'static str] {
    match broken.resource.as_str() {
        "memory" | "rss" | "virtual" | "swap" => &[
            "Allow more, or have the program hold less at once: how much it would have needed is \
             not known, for it was ended on the way.",
        ],
        "wall" | "cpu" => &[
            "Allow more time, or give it less to do at once: how long it would have taken is not \
             known.",
        ],
        "footprint" | "files" | "written" => &[
            "Allow more, or have the task remove what it does not need any more: how much it would \
             have written is not known.",
        ],
        _ => &["Allow more, or have the program use less at once."],
    }
}
