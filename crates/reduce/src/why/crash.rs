//! A signal that a program brings upon itself.

use super::signals::{self, Crash};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "crash",
    description: "a signal that programs bring upon themselves ended it",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    let signal = case.exit().signal?;
    let Crash { usual, advice, .. } = signals::crash(signal)?;
    let sentence = format!(
        "The command was killed by {}{}, likely for the usual reason, {usual}; the report does \
         not say who sent it.",
        signals::name(signal),
        case.after()
    );
    let verdict =
        Verdict::new(CAUSE.name, Certainty::Likely, sentence).told_all([case.told_exit()]);
    Some(verdict.advise(*advice))
}
