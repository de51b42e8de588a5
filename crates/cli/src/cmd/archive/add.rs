//! `plimsoll archive add`: reports of `plimsoll run`.

use super::{Part, PlaceArgs, Status, work};
use crate::archive::place;
use crate::archive::report::{self, Found};
use crate::cmd::STATUS_FAILURE;
use crate::view::stderr;
use crate::view::style::printable;
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use store::Error;

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
            "Adding a report again changes nothing. `plimsoll run --archive` adds its own.\n\n\
             Exit status: 0 all are in it, 1 some cannot be read, 2 usage.\n\nExamples:\n  \
             plimsoll archive add job.json\n  \
             plimsoll archive add all.jsonl --set 'run 3'\n  \
             ssh host plimsoll archive add - < job.json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = AddArgs::from_arg_matches(matches)?;
    work(args.quiet, |work| {
        let mut archive = place::create(&args.place.path()?, work)?;
        let mut intake = archive.intake();
        let mut bad = 0_u64;
        for path in &args.reports {
            let told = |why: &str| {
                work.clear();
                stderr::line(&printable(&format!(
                    "plimsoll archive: {}: {why}",
                    path.display()
                )));
            };
            let mut each = |found: Found| {
                match found {
                    Found::Report(stored) => {
                        let mut attempt = stored.attempt;
                        attempt.set = args.set.clone();
                        intake.take(attempt, stored.report)?;
                    }
                    Found::None { line, why } => {
                        bad += 1;
                        told(&format!("line {line}: {why}"));
                    }
                }
                match work.heed(&|| format!("{} reports added", intake.taken().new)) {
                    true => Ok(()),
                    false => Err(Error::Interrupted.into()),
                }
            };
            let read = open(path).and_then(|input| report::each(input, &mut each));
            match read {
                Err(error) if work.is_stopped() => return Err(error),
                Err(error) => {
                    bad += 1;
                    told(&crate::run::chain(&error));
                }
                Ok(()) => {}
            }
        }
        let taken = intake.end(SystemTime::now())?;
        work.clear();
        if !args.quiet {
            let words = format!("{} attempts are new, {} were there", taken.new, taken.known);
            stderr::line(&words);
        }
        Ok(if bad > 0 { STATUS_FAILURE } else { 0 })
    })
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    Ok(match path == Path::new("-") {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => Box::new(BufReader::new(
            File::open(path).context("cannot be opened")?,
        )),
    })
}
