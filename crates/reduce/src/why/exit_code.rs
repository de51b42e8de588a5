//! The program ended by itself and returned a code, whose meaning is its own.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "exit_code",
    description: "the program itself returned a code that is not 0",
    end: Some(end),
    beside: None,
};

/// What codes mean by convention; those from 64 on are of `sysexits.h`.
const MEANINGS: &[(i32, &str)] = &[
    (1, "a failure of any kind"),
    (2, "a wrong option or argument, for many programs"),
    (124, "that time was up, for timeout(1)"),
    (
        125,
        "that it could not start what it was to start, for timeout(1), docker and the like",
    ),
    (64, "that it was called wrongly (EX_USAGE)"),
    (65, "that its input is wrong (EX_DATAERR)"),
    (66, "that an input cannot be opened (EX_NOINPUT)"),
    (67, "an unknown user (EX_NOUSER)"),
    (68, "an unknown host (EX_NOHOST)"),
    (69, "a service that is not there (EX_UNAVAILABLE)"),
    (70, "a fault of the program itself (EX_SOFTWARE)"),
    (71, "an error of the operating system (EX_OSERR)"),
    (72, "a system file that is missing (EX_OSFILE)"),
    (73, "that an output cannot be made (EX_CANTCREAT)"),
    (
        74,
        "an error of input or output, a full disk among them (EX_IOERR)",
    ),
    (75, "a failure that may pass: try again (EX_TEMPFAIL)"),
    (76, "an answer that a protocol does not allow (EX_PROTOCOL)"),
    (77, "a missing permission (EX_NOPERM)"),
    (78, "a setting that is wrong (EX_CONFIG)"),
    (255, "an error of ssh(1) itself, or exit(-1)"),
];

fn end(case: &Case<'_>) -> Option<Verdict> {
    let code = case.exit().code.filter(|code| *code != 0)?;
    let by_convention = MEANINGS.iter().find(|(number, _)| *number == code);
    let meaning = match by_convention {
        Some((_, meaning)) => format!("by convention {meaning}"),
        None => "what that means, the program alone defines".to_owned(),
    };
    let no_proof = match code {
        137 => ", and no proof of a kill for want of memory: the report has none",
        _ => "",
    };
    let sentence = format!(
        "{} exited with code {code}{}: {meaning}{no_proof}.",
        subject(case),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all([case.told_exit()])
        .told("signal, limit, oom kill", "none", "exit");
    Some(verdict.advise(advice(case)))
}

fn subject<'a>(case: &Case<'a>) -> &'a str {
    match case.program() {
        "" => "The command",
        program => program,
    }
}

/// Where the reason stands.
fn advice(case: &Case<'_>) -> &'static str {
    match case.program().starts_with("python") {
        true => {
            "Read what it wrote to standard error, which is not in the report: Python writes the \
             traceback of an exception there and returns 1."
        }
        false => "Read what it wrote to standard error, which is not in the report.",
    }
}
