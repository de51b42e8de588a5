//! A command, file or library that was not there or could not be executed, as the status of a shell
//! or of the dynamic linker tells.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "missing",
    description: "a command or a library was not found or not executable",
    end: Some(end),
    beside: None,
};

const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

fn end(case: &Case<'_>) -> Option<Verdict> {
    let code = case.exit().code?;
    let (what, advice) = match (code, case.is_shell()) {
        (NOT_FOUND, true) => (
            "which a shell returns where it does not find the command that it is to run last",
            "Check the name of each command of the script, and PATH on the machine where it ran; \
             a shell writes which it was to standard error, which is not in the report.",
        ),
        (NOT_FOUND, false) => (
            "which the dynamic linker returns where it does not find a shared library, and a shell \
             or env(1) where it does not find a command",
            "Run `ldd` on the program where it failed, and load its modules or set \
             LD_LIBRARY_PATH; what is missing is mostly written to standard error, which is not in \
             the report.",
        ),
        (NOT_EXECUTABLE, true) => (
            "which a shell returns where the command that it is to run last is there and cannot be \
             executed",
            "Make the file executable (`chmod +x`), or check that it is a program for this kind of \
             processor; a shell writes which it was to standard error, which is not in the report.",
        ),
        (NOT_EXECUTABLE, false) => (
            "which env(1), timeout(1) and the like return where a command is there and cannot be \
             executed",
            "Check the command that it was to execute; which it was may stand on standard error, \
             which is not in the report.",
        ),
        _ => return None,
    };
    let thing = match code {
        NOT_FOUND => "was not found",
        _ => "could not be executed",
    };
    let sentence = format!(
        "Something that the task needs likely {thing}: {} exited with {code}{}, {what}; a program \
         may return it for reasons of its own.",
        case.program(),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all([case.told_exit()])
        .told("program", case.program(), "task.command");
    Some(verdict.advise(advice))
}
