//! Nothing of the report tells.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "unknown",
    description: "nothing tells how it ended",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    Some(verdict(case))
}

/// That nobody knows.
pub(super) fn verdict(case: &Case<'_>) -> Verdict {
    let sentence = format!("How the task ended{} is not known.", case.after());
    Verdict::new(CAUSE.name, Certainty::Unknown, sentence)
        .told_all([case.told_exit()])
        .told_all(case.told_cause())
}
