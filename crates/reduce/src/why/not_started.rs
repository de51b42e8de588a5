//! A command that could not be executed at all.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::report::ExitType;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "not_started",
    description: "the command could not be executed",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.exit().kind != ExitType::NotStarted {
        return None;
    }
    let why = case.exit().cause.as_deref();
    let sentence = match why {
        Some(why) => format!("The task was never started: {why}."),
        None => "The task was never started, and the report does not say why.".to_owned(),
    };
    let certainty = match why {
        Some(_) => Certainty::Known,
        None => Certainty::Unknown,
    };
    let verdict = Verdict::new(CAUSE.name, certainty, sentence).told_all(case.told_cause());
    let status = case.exit().status;
    let verdict = match status {
        Some(status) => verdict.told("status of plimsoll run", status.to_string(), "exit.status"),
        None => verdict,
    };
    Some(verdict.advise(match status {
        Some(127) => {
            "Check the name of the command, and on this machine PATH and the folders that it is \
             looked for in; a script that is there names an interpreter in its first line (`#!`) \
             that is not."
        }
        Some(126) => {
            "Make the file executable (`chmod +x`); if it is, check that it is a program for this \
             kind of processor, or a script with an interpreter in its first line (`#!`)."
        }
        _ => "Put right what the sentence names, and start it again.",
    }))
}
