//! `plimsoll run`: the front, the monitor, and how they are started.

pub(crate) mod archived;
mod assemble;
#[cfg(feature = "archive")]
mod attempts;
#[cfg(feature = "archive")]
mod auto;
mod calls;
mod cause;
mod command;
mod containers;
mod cost;
mod ending;
mod executable;
mod eyes;
mod facts;
mod farewell;
mod files;
mod footprint;
mod front;
mod glance;
mod gpu;
mod hold;
mod interpreter;
mod introductions;
mod judged;
mod left;
mod live;
mod monitor;
mod named;
mod notifier;
mod outlived;
mod pace;
mod pages;
mod paper;
pub(crate) mod person;
mod printed;
mod reader;
mod ready;
mod real_paths;
mod reaped;
mod retry;
mod rhythm;
mod start;
mod starved;
mod stopped;
mod stray;
pub(crate) mod surroundings;
mod task;
mod unended;
mod untraced;
mod words;

use crate::view::stderr;
pub(crate) use person::{lingers, name};
pub(crate) use retry::run;

/// Tells a person, on stderr, what the report cannot.
pub(crate) fn warn(text: &str) {
    stderr::line(&format!("plimsoll: warning: {text}"));
}

/// Tells the user why what was asked for is not done.
pub(crate) fn refuse(error: &anyhow::Error) {
    stderr::line(&format!("plimsoll: {}", chain(error)));
}

/// An error and its causes as one line. Some errors of ours have their cause in their own words
/// already: it is not said twice.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !words.ends_with(&cause) {
            let colon = if words.is_empty() { "" } else { ": " };
            words = format!("{words}{colon}{cause}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::chain;
    use anyhow::Context;

    #[test]
    fn a_cause_is_said_once() {
        let error = std::fs::read("/nonexistent").unwrap_err();
        let again = error.to_string();
        let error = anyhow::Error::from(error).context(format!("open: {again}"));
        let error = Err::<(), _>(error).context("no report").unwrap_err();
        assert_eq!(chain(&error), format!("no report: open: {again}"));
    }
}
