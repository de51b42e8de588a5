//! The verbs of the binary `plimsoll`, what people see of them, and the wiring of the stages.

pub mod cmd;
mod run;
pub mod view;

use std::ffi::OsString;

/// Does what the command line says, the program's name first; the exit status.
#[allow(
    clippy::print_stderr,
    reason = "the one place that tells a failure to the user"
)]
pub fn status(words: Vec<OsString>) -> cmd::Status {
    let invocation = match cmd::parse(words) {
        Ok(invocation) => invocation,
        // A message that cannot be printed has nobody left to be told.
        Err(refusal) => {
            return refusal
                .print()
                .map_or(refusal.status(), |()| refusal.status());
        }
    };
    match invocation.call() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("plimsoll: {}", run::chain(&error));
            invocation.failure()
        }
    }
}
