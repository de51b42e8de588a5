//! Verbs that a build leaves out: they say so, and what to do.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
#[cfg(not(feature = "query"))]
use anyhow::Error;
use anyhow::{Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command};

/// The verb `query`.
#[cfg(not(feature = "query"))]
pub const QUERY: Verb = verb(
    "query",
    || command("query", "Ask a dataset in SQL (not in this build)"),
    without_engine,
);

/// The verb `job`.
#[cfg(not(feature = "query"))]
pub const JOB: Verb = verb(
    "job",
    || {
        command(
            "job",
            "Show what a job used of what it had (not in this build)",
        )
    },
    without_engine,
);

/// The verb `plot`.
#[cfg(not(feature = "query"))]
pub const PLOT: Verb = verb(
    "plot",
    || {
        command(
            "plot",
            "Draw a job over time, as SVG or PNG (not in this build)",
        )
    },
    without_engine,
);

/// The verb `archive`.
#[cfg(not(feature = "archive"))]
pub const ARCHIVE: Verb = verb(
    "archive",
    || {
        command(
            "archive",
            "Keep what tasks used, and ask what they used before (not in this build)",
        )
    },
    without_archive,
);

/// The verb `advise`.
#[cfg(not(feature = "archive"))]
pub const ADVISE: Verb = verb(
    "advise",
    || {
        command(
            "advise",
            "Say what the next attempt of a task should ask for (not in this build)",
        )
    },
    without_archive,
);

/// The verb `serve`.
#[cfg(not(feature = "serve"))]
pub const SERVE: Verb = verb(
    "serve",
    || {
        command(
            "serve",
            "Show an archive in a browser, and take attempts from other machines (not in this \
             build)",
        )
    },
    without_server,
);

const fn verb(
    name: &'static str,
    command: fn() -> Command,
    call: fn(&ArgMatches) -> Result<Status>,
) -> Verb {
    Verb {
        name,
        command,
        call,
        usage_error: STATUS_USAGE,
        failure: STATUS_FAILURE,
    }
}

pub(super) fn command(name: &'static str, about: &'static str) -> Command {
    // Whatever is asked is understood, so that the answer is the same.
    let words = Arg::new("words")
        .action(ArgAction::Append)
        .num_args(0..)
        .allow_hyphen_values(true)
        .trailing_var_arg(true)
        .hide(true);
    Command::new(name).about(about).arg(words)
}

#[cfg(not(feature = "query"))]
fn without_engine(_: &ArgMatches) -> Result<Status> {
    Err(without())
}

/// Why there is no answer.
#[cfg(not(feature = "query"))]
pub(super) fn without() -> Error {
    anyhow!(
        "this plimsoll was built for a node, without the engine that answers questions: \
         `make install` or `cargo build --release` makes one with it; DuckDB and others read the \
         compacted dataset as it is (docs/segment.md)"
    )
}

#[cfg(not(feature = "archive"))]
fn without_archive(_: &ArgMatches) -> Result<Status> {
    Err(anyhow!(
        "this plimsoll was built for a node, without what asks an archive: `make install` or \
         `cargo build --release` makes one with it; `plimsoll run --archive` adds to one here too"
    ))
}

/// Says that there is no page and no server.
#[cfg(not(feature = "serve"))]
pub(super) fn without_server(_: &ArgMatches) -> Result<Status> {
    Err(anyhow!(
        "this plimsoll was built without the page and the server of an archive: `make install` or \
         `cargo build --release` makes one with them; `ssh HOST plimsoll archive add -` takes \
         attempts where it has an archive"
    ))
}
