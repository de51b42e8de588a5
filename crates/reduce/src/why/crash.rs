//! A signal that a program brings upon itself.

use super::fault;
use super::signal::{KILLER, killer};
use super::signals::{self, Crash, SIGABRT};
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
    let sent = killer(case);
    let fault = sent.as_ref().and_then(|sent| sent.fault.as_deref());
    if let Some(fault) = fault.and_then(|name| fault::named(signal, name)) {
        let sentence = format!(
            "The command was killed by {}{}: the kernel sent it, for it {}.",
            signals::name(signal),
            case.after(),
            fault.what
        );
        let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
            .told_all(case.told(KILLER))
            .told_all([case.told_exit()]);
        return Some(verdict.advise(*advice));
    }
    let is_kernel = fault.is_some();
    let is_itself = sent.is_some_and(|sent| sent.is_itself);
    let sender = match (is_itself, signal) {
        (true, SIGABRT) => "it sent it to itself, as abort(3) does",
        (true, _) => "it sent it to itself, as a handler of crashes does in the end",
        _ if is_kernel => "the kernel sent it",
        (false, _) => "the report does not say who sent it",
    };
    let sentence = format!(
        "The command was killed by {}{}, likely for the usual reason, {usual}; {sender}.",
        signals::name(signal),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all(case.told(KILLER))
        .told_all([case.told_exit()]);
    Some(verdict.advise(*advice))
}
