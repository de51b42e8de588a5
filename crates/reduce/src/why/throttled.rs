//! A CPU quota held the task back.

use super::case::{told_claim, words};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "throttled",
    description: "a quota on CPU time held it back",
    end: None,
    beside: Some(beside),
};

const KIND: &str = "throttled";

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let first = case.evidence(KIND).next()?;
    // What is counted in a group above is of all who are in it.
    let whose = match first.source.starts_with('/') {
        true => "what runs in its control group",
        false => "it",
    };
    let sentence = format!(
        "A quota on CPU time held {whose} back: {} in all.",
        words(first)
    );
    let quota = case.report.allocation.get("cores");
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told(KIND))
        .told_all(quota.map(|claim| told_claim("cores allowed", claim)))
        .told_all(case.told_metric("cores_mean"));
    Some(verdict.advise(
        "Ask for more CPUs (on Kubernetes: a higher limit on cpu, or none), or start fewer \
         threads.",
    ))
}
