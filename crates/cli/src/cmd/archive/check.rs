//! `plimsoll archive check`: whether a run lies outside the history of its category.

use super::{FormatWord, Part, PlaceArgs, Status, work};
use crate::archive::{one, place};
use crate::cmd::{STATUS_FAILURE, report_file};
use crate::view::stdout;
use crate::view::style::printable;
use advise::{Among, among};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::attempt::{Attempt, End, RESOURCES, Resource};
use record::quantity::show;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;
use store::Error;
use store::archive::{Archive, Filter, end_word};
use store::attempt::of_report;

pub(super) const PART: Part = Part {
    name: "check",
    command,
    call,
};

/// What is judged.
const JUDGED: [&str; 4] = ["memory", "wall", "cpu", "disk"];

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

/// One resource of a run, and where it lies.
struct Line {
    resource: &'static Resource,
    value: f64,
    runs: usize,
    among: Among,
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
        let is_outside = lines.iter().any(is_outside);
        let text = match args.format {
            FormatWord::Json => serde_json::to_string_pretty(&json_of(&attempt, &lines))? + "\n",
            FormatWord::Text => text(&attempt, &lines),
        };
        stdout::write(text.as_bytes())?;
        super::list::damaged(&archive)?;
        Ok(if is_outside { STATUS_FAILURE } else { 0 })
    })
}

fn is_outside(line: &Line) -> bool {
    matches!(line.among, Among::Above(_) | Among::Below(_))
}

/// What the attempt used against what others of its category did.
fn judge(
    archive: &Archive,
    attempt: &Attempt,
    heed: &dyn Fn(u64) -> bool,
) -> Result<Vec<Line>, Error> {
    let known = |resource: &&Resource| {
        JUDGED.contains(&resource.name) && attempt.used.get(resource.name).is_some()
    };
    let judged: Vec<&'static Resource> = RESOURCES.iter().filter(known).collect();
    let used = judged.iter().map(|one| format!("used_{}", one.name));
    let names: Vec<String> = ["id", "end"]
        .map(str::to_owned)
        .into_iter()
        .chain(used)
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let filter = Filter {
        category: Some(attempt.category.clone()),
        ..Filter::default()
    };
    let mut before = vec![Vec::new(); judged.len()];
    let mut count = 0;
    archive.scan(&names, &filter, &mut |batch, rows| {
        count += rows.len() as u64;
        if !heed(count) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            let is_other = batch.text(0, *row) != Some(attempt.id.as_str());
            if is_other && batch.text(1, *row) == Some(end_word(End::Done)) {
                for (place, values) in before.iter_mut().enumerate() {
                    values.extend(batch.number(place + 2, *row));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let line = |(resource, before): (&'static Resource, &Vec<f64>)| {
        let value = attempt.used.get(resource.name)?.value.as_f64();
        Some(Line {
            resource,
            value,
            runs: before.len(),
            among: among(value, before),
        })
    };
    Ok(judged
        .iter()
        .copied()
        .zip(&before)
        .filter_map(line)
        .collect())
}

fn text(attempt: &Attempt, lines: &[Line]) -> String {
    let category = printable(&attempt.category);
    let words = |line: &Line| {
        let (times, most) = match line.among {
            Among::Above(times) => (times, "largest"),
            Among::Below(times) => (times, "smallest"),
            Among::Few | Among::Inside => return None,
        };
        Some(format!(
            "{} {}: {times:.2} times the {most} of {} runs of {category}\n",
            line.resource.name,
            show(line.value, line.resource.unit),
            line.runs
        ))
    };
    let outside: String = lines.iter().filter_map(words).collect();
    let judged = lines.iter().filter(|line| line.among != Among::Few);
    let runs = |most: Option<usize>| most.unwrap_or_default();
    match (outside.is_empty(), judged.clone().count()) {
        (false, _) => outside,
        (true, 0) => {
            let most = runs(lines.iter().map(|line| line.runs).max());
            format!("too few runs of {category} to judge ({most})\n")
        }
        (true, _) => {
            let most = runs(judged.map(|line| line.runs).max());
            format!("nothing outside the history of {category} ({most} runs)\n")
        }
    }
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
        "outside": lines.iter().any(is_outside),
        "resources": lines.iter().map(line).collect::<Vec<_>>(),
    })
}
