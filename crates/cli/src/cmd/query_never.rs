//! `plimsoll query`, `job` and `plot` of a build without the engine behind them: they say so.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use anyhow::{Error, Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The verb `query`.
pub const QUERY: Verb = Verb {
    name: "query",
    command: || command("query", "Ask a dataset in SQL (not in this build)"),
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// The verb `job`.
pub const JOB: Verb = Verb {
    name: "job",
    command: || {
        command(
            "job",
            "Show what a job used of what it had (not in this build)",
        )
    },
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// The verb `plot`.
pub const PLOT: Verb = Verb {
    name: "plot",
    command: || {
        command(
            "plot",
            "Draw a job over time, as SVG or PNG (not in this build)",
        )
    },
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

fn command(name: &'static str, about: &'static str) -> Command {
    // Whatever is asked is understood, so that the answer is the same.
    let words = Arg::new("words")
        .action(ArgAction::Append)
        .num_args(0..)
        .allow_hyphen_values(true)
        .trailing_var_arg(true)
        .hide(true);
    Command::new(name).about(about).arg(words)
}

fn call(_: &ArgMatches) -> Result<Status> {
    Err(without())
}

/// Why there is no answer.
pub(super) fn without() -> Error {
    anyhow!(
        "this plimsoll was built for a node, without the engine that answers questions: \
         `make install` or `cargo build --release` makes one with it; DuckDB and others read the \
         compacted dataset as it is (docs/segment.md)"
    )
}
