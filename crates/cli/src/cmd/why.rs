//! `plimsoll why`: why a task ended as it did.

#[cfg(feature = "archive")]
use super::archive;
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, report_file};
#[cfg(feature = "archive")]
use crate::archive::{one, place, work::Work};
use crate::view::style::{Style, environment_allows_color};
use crate::view::{self, stdout};
#[cfg(feature = "archive")]
use anyhow::Context;
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::report::Report;
use reduce::request::{self, TARGETS, Target};
use reduce::why;
use std::path::PathBuf;

/// The verb.
pub const VERB: Verb = Verb {
    name: "why",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

#[derive(Debug, Args)]
struct WhyArgs {
    /// The report: a file, the PREFIX of `plimsoll run --output`, or - for stdin. Of a file with a
    /// line for each task (`--append`) it is the last line. Else the id of an attempt in the
    /// archive, or its first digits
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// Of a file with a line for each task that of this one, the last if there are several
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[cfg(feature = "archive")]
    #[command(flatten)]
    place: archive::PlaceArgs,
    /// What is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    /// For whom what to ask for is written [default: the scheduler that the report names, else
    /// plimsoll]
    #[arg(long = "for", value_name = "TARGET", value_parser = targets())]
    target: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// A sentence, what speaks for it, what to do and what to paste
    Text,
    /// The same for programs (plimsoll.why/1)
    Json,
}

fn targets() -> PossibleValuesParser {
    PossibleValuesParser::new(TARGETS.iter().map(|target| target.name))
}

fn command() -> Command {
    WhyArgs::augment_args(Command::new(VERB.name))
        .about("Say why a task ended as it did, and what to do about it")
        .after_help(
            "Each sentence names what it rests on, and says whether that proves it (known), \
             speaks for it (likely) or does not tell (unknown). docs/why.md has the causes.\n\n\
             Exit status: 0 told, 1 no report, 2 usage.\n\n\
             Examples:\n  \
             plimsoll run --output r -- make\n  \
             plimsoll why r\n  \
             plimsoll why all.jsonl --id 7\n  \
             plimsoll why 4f1c09\n  \
             plimsoll why r --for nextflow\n  \
             plimsoll why r --format json | jq -r .cause",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = WhyArgs::from_arg_matches(matches)?;
    let report = read(&args)?;
    let target = args.target.as_deref().and_then(request::target);
    tell(&report, target, args.format)
}

/// The report that is meant.
fn read(args: &WhyArgs) -> Result<Report> {
    let read = || report_file::read(&args.report, args.id.as_deref());
    #[cfg(feature = "archive")]
    {
        let is_named = args.place.archive.is_some();
        match args.report.to_str() {
            Some(id) if is_named || (is_id(id) && !report_file::is_there(&args.report)) => {
                match archived(args, id) {
                    // Nobody said that an archive is meant: the file is what is missed.
                    Err(error) if !is_named => read().with_context(|| format!("{error:#}")),
                    found => found,
                }
            }
            _ => read(),
        }
    }
    #[cfg(not(feature = "archive"))]
    read()
}

/// Whether it may be the first digits of an id.
#[cfg(feature = "archive")]
fn is_id(word: &str) -> bool {
    (4..=32).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The report of an attempt in the archive.
#[cfg(feature = "archive")]
fn archived(args: &WhyArgs, id: &str) -> Result<Report> {
    let path = args.place.path()?;
    let mut work = Work::begin(true)?;
    let stored = one::find(&place::open(&path, &mut work)?, id)?;
    let format = &stored.attempt.format;
    let text = stored.report.as_deref();
    let text =
        text.with_context(|| format!("it was imported from {format}: there is no report"))?;
    serde_json::from_str(text).context("its report")
}

/// Prints why the task of this report ended as it did.
fn tell(report: &Report, target: Option<&Target>, format: FormatWord) -> Result<Status> {
    let target = target.unwrap_or_else(|| request::target_of(report));
    let answer = why::answer(report, target);
    let text = match format {
        FormatWord::Json => serde_json::to_string_pretty(&answer)? + "\n",
        FormatWord::Text => {
            let style = Style::of(&std::io::stdout(), environment_allows_color());
            view::why::text(&answer, style)
        }
    };
    stdout::write(text.as_bytes())
}
