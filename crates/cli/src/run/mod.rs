//! `plimsoll run`: the front, the monitor, and how they are started.

mod assemble;
mod command;
mod ending;
mod eyes;
mod facts;
mod front;
mod hold;
mod monitor;
mod person;
mod start;
mod task;
mod words;

pub(crate) use start::run;

/// Tells a person, on stderr, what the report cannot.
#[allow(clippy::print_stderr, reason = "for failures that no report can carry")]
pub(crate) fn warn(text: &str) {
    eprintln!("plimsoll: warning: {text}");
}
