//! A status above 128, as shells return it of a command that a signal killed.

use super::signals::{self, SIGKILL};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "shell_signal",
    description: "a signal killed what a shell ran, by its status",
    end: Some(end),
    beside: None,
};

fn end(case: &Case<'_>) -> Option<Verdict> {
    let code = case.exit().code?;
    let signal = signals::of_status(code)?;
    // Other programs than shells number their errors as they like.
    if !case.is_shell() {
        return None;
    }
    let name = signals::name(signal);
    let usual = signals::crash(signal).map_or_else(String::new, |crash| {
        format!(", of which the usual reason is {}", crash.usual)
    });
    let no_proof = match signal {
        SIGKILL => ", which is no proof of a kill for want of memory: the report has none",
        _ => "",
    };
    let sentence = format!(
        "{} exited with {code} = 128 + {signal}{}: a command that it ran was likely killed by \
         {name}{usual}{no_proof}.",
        case.program(),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all([case.told_exit()])
        .told("program", case.program(), "task.command");
    let verdict = match signal {
        SIGKILL => verdict.told("oom kill", "none", "exit.evidence"),
        _ => verdict,
    };
    let advice = signals::crash(signal).map_or(
        "Run it with `--with processes`: PREFIX.processes.jsonl then tells which process a signal \
         killed.",
        |crash| crash.advice,
    );
    Some(verdict.advise(advice))
}
