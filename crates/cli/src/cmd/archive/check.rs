//! `plimsoll archive check`: whether a run lies outside the history of its category.

use super::{FormatWord, Part, PlaceArgs, Status, work};
use crate::archive::outside::{Line, judge, sentences};
use crate::archive::{one, place};
use crate::cmd::{STATUS_FAILURE, report_file};
use crate::view::stdout;
use advise::Among;
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::attempt::Attempt;
use serde_json::{Value, json};
use std::path::Path;
use store::attempt::of_report;

pub(super) const PART: Part = Part {
    name: "check",
    command,
    call,
};

#[derive(Debug, Args)]
struct CheckArgs {
    /// The file of a report, or the id of an attempt in the archive
    #[arg(value_name = "REPORT|ID")]
    which: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
}

fn command() -> Command {
    CheckArgs::augment_args(Command::new(PART.name))
        .about("Say whether a run lies outside the history of its category")
        .after_help(
            "Of memory, time, CPU time and disk space that it used: against what other attempts of \
             the category used that did what they were to do. docs/archive.md has the rule.\n\n\
             Exit status: 0 nothing is outside, or there are too few to judge, 1 something is, or \
             there is no such run, 2 usage.\n\n\
             Examples:\n  plimsoll archive check job.json\n  \
             plimsoll archive check 4f1c09 --format json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = CheckArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let attempt = match Path::new(&args.which).is_file() {
            true => of_report(&report_file::read(Path::new(&args.which), None)?),
            false => one::find(&archive, &args.which)?.attempt,
        };
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let lines = judge(&archive, &attempt, &heed)?;
        work.clear();
        let is_outside = lines.iter().any(Line::is_outside);
        let text = match args.format {
            FormatWord::Json => serde_json::to_string_pretty(&json_of(&attempt, &lines))? + "\n",
            FormatWord::Text => sentences(&attempt.category, &lines).join("\n") + "\n",
        };
        stdout::write(text.as_bytes())?;
        super::list::damaged(&archive)?;
        Ok(if is_outside { STATUS_FAILURE } else { 0 })
    })
}

fn json_of(attempt: &Attempt, lines: &[Line]) -> Value {
    let line = |line: &Line| {
        let (place, times) = match line.among {
            Among::Few => ("few", None),
            Among::Inside => ("inside", None),
            Among::Above(times) => ("above", Some(times)),
            Among::Below(times) => ("below", Some(times)),
        };
        json!({
            "resource": line.resource.name,
            "unit": line.resource.unit,
            "value": line.value,
            "runs": line.runs,
            "place": place,
            "times": times,
        })
    };
    json!({
        "schema": "plimsoll.archive.check/1",
        "id": attempt.id,
        "category": attempt.category,
        "outside": lines.iter().any(Line::is_outside),
        "resources": lines.iter().map(line).collect::<Vec<_>>(),
    })
}
