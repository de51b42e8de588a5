//! `plimsoll archive pack`: many small files become a few.

use super::{Part, PlaceArgs, Status, work};
use crate::archive::place;
use crate::view::stderr;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::time::SystemTime;

pub(super) const PART: Part = Part {
    name: "pack",
    command,
    call,
};

#[derive(Debug, Args)]
struct PackArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// Say nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

fn command() -> Command {
    PackArgs::augment_args(Command::new(PART.name))
        .about("Put the files of single attempts together")
        .after_help(
            "Others may add to the archive and ask it meanwhile. It can be ended at any time and \
             run again.\n\nExamples:\n  plimsoll archive pack\n  \
             plimsoll archive pack --archive /project/archive --quiet",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = PackArgs::from_arg_matches(matches)?;
    work(args.quiet, |work| {
        let mut archive = place::open(&args.place.path()?, work)?;
        let heed = |done| work.heed(&|| format!("{done} attempts packed"));
        let packed = archive.pack(SystemTime::now(), &heed)?;
        work.clear();
        super::list::damaged(&archive)?;
        if !args.quiet {
            stderr::line(&match packed.written {
                0 => "nothing to put together".to_owned(),
                1 => format!(
                    "{} attempts are in one file now; {} files removed",
                    packed.attempts, packed.removed
                ),
                files => format!(
                    "{} attempts are in {files} files now; {} files removed",
                    packed.attempts, packed.removed
                ),
            });
        }
        Ok(0)
    })
}
