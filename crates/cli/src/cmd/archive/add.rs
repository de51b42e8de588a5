//! `plimsoll archive add`: reports of `plimsoll run`.

use super::import::{Request, take_in};
use super::{Part, PlaceArgs, Status};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;
use store::attempt::FORMAT_NAME;
use store::import::{Options, format};

pub(super) const PART: Part = Part {
    name: "add",
    command,
    call,
};

#[derive(Debug, Args)]
struct AddArgs {
    /// Reports: PREFIX.json, or files of `--append` with one a line; `-` is stdin
    #[arg(value_name = "REPORT", required = true)]
    reports: Vec<PathBuf>,
    /// The set that they belong to
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn command() -> Command {
    AddArgs::augment_args(Command::new(PART.name))
        .about("Add reports of plimsoll run")
        .after_help(
            "Adding a report again changes nothing. `plimsoll run --archive` adds its own. What a \
             task used over time comes with PREFIX.json from the PREFIX.series.csv beside it (run \
             --with series).\n\n\
             Exit status: 0 all are in it, 1 some are no reports or cannot be read, 2 usage, 130 \
             interrupted.\n\nExamples:\n  \
             plimsoll archive add job.json\n  \
             plimsoll archive add all.jsonl --set 'run 3'\n  \
             ssh host plimsoll archive add - < job.json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = AddArgs::from_arg_matches(matches)?;
    take_in(&Request {
        from: format(FORMAT_NAME),
        files: &args.reports,
        place: &args.place,
        options: Options {
            set: args.set,
            ..Options::default()
        },
        rejects: None,
        quiet: args.quiet,
        beside: true,
    })
}
