//! Memory that came near to what was allowed.

use super::case::told_claim;
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::report::Claim;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "memory_near",
    description: "its memory came near to what was allowed",
    end: None,
    beside: Some(beside),
};

/// From which share on.
const NEAR: f64 = 0.95;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let mut exceeded = case.report.exceeded.iter();
    if exceeded.any(|one| one.resource == "memory") || case.evidence("oom_kill").next().is_some() {
        return None;
    }
    let claim = nearest(case)?;
    let (metric, used) = case.memory()?;
    let share = used.value / claim.value.as_f64();
    if share < NEAR {
        return None;
    }
    let doubt = match case.ended_well() {
        true => "",
        false => "; whether it ended for that is not known, and the report has no kill for it",
    };
    let sentence = format!(
        "Its memory came to {:.0} % of the {} that were allowed{doubt}.",
        share * 100.0,
        quantity::show(claim.value.as_f64(), claim.unit)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told_metric(metric))
        .told_all([told_claim("memory allowed", claim)]);
    Some(verdict.advise("Ask for more memory: the next one may not make it."))
}

/// The smallest of what was asked for and what a group allows.
fn nearest<'a>(case: &Case<'a>) -> Option<&'a Claim> {
    let asked = case.report.request.get("memory");
    let claims = asked.into_iter().chain(case.memory_of_group());
    let positive = claims.filter(|claim| claim.value.as_f64() > 0.0);
    positive.min_by(|a, b| a.value.as_f64().total_cmp(&b.value.as_f64()))
}
