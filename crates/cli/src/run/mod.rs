//! `plimsoll run`: the front, the monitor, and how they are started.

mod assemble;
mod command;
mod containers;
mod cost;
mod ending;
mod eyes;
mod facts;
mod footprint;
mod front;
mod gpu;
mod hold;
mod monitor;
mod notifier;
mod pace;
mod paper;
mod person;
mod reader;
mod rhythm;
mod start;
mod stray;
mod surroundings;
mod task;
mod words;

pub(crate) use person::{lingers, name};
pub(crate) use start::run;

/// Tells a person, on stderr, what the report cannot.
#[allow(clippy::print_stderr, reason = "for failures that no report can carry")]
pub(crate) fn warn(text: &str) {
    eprintln!("plimsoll: warning: {text}");
}
