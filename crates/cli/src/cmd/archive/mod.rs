//! `plimsoll archive`: what tasks used, kept for ever in a folder. One file a subcommand.

mod add;
mod check;
mod diff;
mod export;
mod filter;
mod graph;
#[cfg(feature = "serve")]
mod html;
mod import;
pub(super) mod list;
mod pack;
mod query;
mod set;
mod show;
mod stats;

#[cfg(not(feature = "serve"))]
mod html {
    //! `plimsoll archive html` of a build without the page.

    use super::Part;
    use crate::cmd::never;

    pub(super) const PART: Part = Part {
        name: "html",
        command: || {
            never::command(
                "html",
                "Write the archive as one page for a browser (not in this build)",
            )
        },
        call: never::without_server,
    };
}

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::archive::usual::usual;
use crate::archive::work::Work;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, ValueEnum};
use std::path::PathBuf;

/// The verb.
pub const VERB: Verb = Verb {
    name: "archive",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// A subcommand.
struct Part {
    name: &'static str,
    command: fn() -> Command,
    call: fn(&ArgMatches) -> Result<Status>,
}

const PARTS: &[&Part] = &[
    &add::PART,
    &import::PART,
    &list::PART,
    &show::PART,
    &query::PART,
    &stats::PART,
    &diff::PART,
    &check::PART,
    &graph::PART,
    &export::PART,
    &html::PART,
    &set::PART,
    &pack::PART,
];

/// Which archive.
#[derive(Debug, Args)]
pub(super) struct PlaceArgs {
    /// The folder of the archive [default: $XDG_DATA_HOME/plimsoll/archive, else
    /// ~/.local/share/plimsoll/archive]
    #[arg(long, value_name = "DIR")]
    pub(super) archive: Option<PathBuf>,
}

impl PlaceArgs {
    pub(super) fn path(&self) -> Result<PathBuf> {
        match &self.archive {
            Some(path) => Ok(path.clone()),
            None => usual(),
        }
    }
}

/// For people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// For people
    Text,
    /// For programs
    Json,
}

fn command() -> Command {
    let parts = PARTS.iter().map(|part| (part.command)());
    Command::new(VERB.name)
        .about("Keep what tasks used, and ask what they used before")
        .after_help(
            "An archive is a folder: no server, no account, no root. Many may add to it at once, \
             also on a network file system; it is merged with another by copying that into \
             it.\n\n\
             Examples:\n  \
             plimsoll archive list --set 'run 3'\n  \
             plimsoll archive query --category align --where 'memory>4GiB'",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(parts)
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(STATUS_USAGE);
    };
    match PARTS.iter().find(|part| part.name == name) {
        Some(part) => (part.call)(matches),
        None => Ok(STATUS_USAGE),
    }
}

/// Does something that may take long.
fn work(is_quiet: bool, done: impl FnOnce(&mut Work) -> Result<Status>) -> Result<Status> {
    let mut work = Work::begin(is_quiet)?;
    let status = done(&mut work);
    work.end(status)
}

/// Letters of a line, if stdout is a terminal.
fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(terminal_size::Width(width), _)| width.into())
}
