//! Another user's processes, which Plimsoll may not end.

use super::case::words;
use super::limit::{how_far, named};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "not_ended",
    description: "it should have been ended, and the kernel did not permit that",
    end: Some(end),
    beside: Some(beside),
};

const KIND: &str = "not_ended";

const ADVICE: &str = "Have it run as one user, or as root: the kernel lets nobody else end a \
                      process of another user, such as one that a setuid program became.";

/// The command itself could not be ended, and ended when it liked.
fn end(case: &Case<'_>) -> Option<Verdict> {
    let broken = case.report.exceeded.first()?;
    if case.enforced().is_some() {
        return None;
    }
    let first = case.evidence(KIND).next()?;
    let sentence = format!(
        "The limit on {} was {}, but {} is another user's and could not be ended: the command \
         {}{}.",
        named(broken),
        how_far(broken),
        words(first),
        case.ending(),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told(KIND))
        .told_all([case.told_exit()]);
    Some(verdict.advise(ADVICE))
}

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let first = case.evidence(KIND).next()?;
    let sentence = format!(
        "{} is another user's process and could not be ended.",
        words(first)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence).told_all(case.told(KIND));
    Some(verdict.advise(ADVICE))
}
