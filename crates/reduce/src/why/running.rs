//! A report that was written while the task ran.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::report::ExitType;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "running",
    description: "it had not ended when its report was written",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.exit().kind != ExitType::Running {
        return None;
    }
    let sentence = format!(
        "The task had not ended{} when this was written; whether it still runs is not known.",
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Unknown, sentence)
        .told("exit type", "running", "exit.type")
        .told("written at", &case.report.end, "end")
        .advise("Ask again with the report that is written at the end of the task.");
    Some(verdict)
}
