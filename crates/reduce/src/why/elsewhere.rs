//! Work that left the tree of processes, as to a container's daemon or another machine.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use crate::summary::LEFT_THE_TREE;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "elsewhere",
    description: "some of its work was done elsewhere",
    end: None,
    beside: Some(beside),
};

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let note = note(case)?;
    let through = note
        .strip_prefix(LEFT_THE_TREE)
        .and_then(|rest| rest.split(':').next())
        .unwrap_or_default();
    let sentence = format!(
        "Work was done elsewhere, through{through}: what it used there, and how it ended there, is \
         not in the report."
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence);
    Some(verdict.told("note", note, "monitor.notes"))
}

/// The note that tells it: numbers of the report are without that work then.
pub(super) fn note<'a>(case: &Case<'a>) -> Option<&'a str> {
    let notes = case.report.monitor.notes.iter();
    let mut notes = notes.filter(|note| note.starts_with(LEFT_THE_TREE));
    notes.next().map(String::as_str)
}
