//! The verbs of the binary `plimsoll`, what people see of them, and the wiring of the stages.
//!
//! `print!` and `eprint!` panic where nothing can be written, and a panic of the monitor ends the
//! task: `clippy.toml` forbids them here. `view::stdout` and `view::stderr` write.

mod agent;
mod archive;
pub mod cmd;
#[cfg(any(feature = "archive", feature = "query"))]
mod interrupt;
mod live;
#[cfg(feature = "query")]
mod query;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod top;
pub mod view;

use std::ffi::OsString;

/// Does what the command line says, the program's name first; the exit status.
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
            run::refuse(&error);
            invocation.failure()
        }
    }
}
