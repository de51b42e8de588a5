//! `plimsoll archive query`: attempts, one a line.

use super::filter::FilterArgs;
use super::{Part, PlaceArgs, Status, width, work};
use crate::archive::names::meant;
use crate::archive::place;
use crate::archive::rows::{self, Form};
use crate::view::table::{Side, Table};
use crate::view::{stderr, stdout};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::attempt::{Attempt, RESOURCES};
use record::quantity::show;
use record::timestamp::rfc3339;
use std::ops::ControlFlow;
use store::archive::end_word;

pub(super) const PART: Part = Part {
    name: "query",
    command,
    call,
};

#[derive(Debug, Args)]
struct QueryArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: Word,
    /// So many attempts at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    /// A table for people
    Text,
    /// All fields, one JSON object a line
    Jsonl,
    /// All fields, one JSON array
    Json,
    /// All fields, comma separated, with a heading
    Csv,
}

fn command() -> Command {
    QueryArgs::augment_args(Command::new(PART.name))
        .about("Show attempts: of a category, a program, a time, with so much memory")
        .after_help(
            "Examples:\n  plimsoll archive query --category align --where 'memory>4GiB'\n  \
             plimsoll archive query --end limit --from 7d\n  \
             plimsoll archive query --tool sort --format csv --limit 100000 > sort.csv",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = QueryArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let mut found = Vec::new();
        let mut is_cut = false;
        let filter = args.filter.filter();
        rows::each(&archive, &filter, &heed, &mut |attempt| {
            if found.len() >= args.limit {
                is_cut = true;
                return Ok(ControlFlow::Break(()));
            }
            found.push(attempt);
            Ok(ControlFlow::Continue(()))
        })?;
        let meant = match found.is_empty() {
            true => meant(&archive, &filter, &heed)?,
            false => String::new(),
        };
        work.clear();
        let form = match args.format {
            Word::Text => None,
            Word::Jsonl => Some(Form::Jsonl),
            Word::Json => Some(Form::Json),
            Word::Csv => Some(Form::Csv),
        };
        let status = match form {
            None if found.is_empty() => stdout::write(format!("no attempts{meant}\n").as_bytes())?,
            None => stdout::write(text(&found).as_bytes())?,
            Some(form) => {
                let mut out = Vec::new();
                rows::write(&mut out, form, found.into_iter())?;
                stdout::write(&out)?
            }
        };
        super::list::damaged(&archive)?;
        if is_cut {
            stderr::line(&format!(
                "there are more than {}: --limit N shows N of them",
                args.limit
            ));
        }
        Ok(status)
    })
}

const HEADING: [(&str, Side); 10] = [
    ("ID", Side::Left),
    ("CATEGORY", Side::Left),
    ("WHAT", Side::Left),
    ("HOST", Side::Left),
    ("END", Side::Left),
    ("MEMORY", Side::Right),
    ("ASKED", Side::Right),
    ("WALL", Side::Right),
    ("CORES", Side::Right),
    ("ENDED", Side::Left),
];

/// Digits of an id that are shown: more than enough for a million attempts.
const ID_SHOWN: usize = 12;

fn text(found: &[Attempt]) -> String {
    let mut table = Table::new(&HEADING);
    for attempt in found {
        let command = Some(attempt.command.join(" ")).filter(|text| !text.is_empty());
        let what = attempt.description.clone().or(command);
        let what = what.or_else(|| attempt.task.clone()).unwrap_or_default();
        let amount = |name: &str, is_used: bool| {
            let amounts = if is_used {
                &attempt.used
            } else {
                &attempt.requested
            };
            let unit = RESOURCES
                .iter()
                .find(|one| one.name == name)
                .map(|one| one.unit);
            let known = amounts.get(name).zip(unit);
            known.map_or("-".to_owned(), |(amount, unit)| {
                show(amount.value.as_f64(), unit)
            })
        };
        let ended = attempt.ended.and_then(|at| u64::try_from(at).ok());
        let ended = ended.map_or("-".to_owned(), |at| rfc3339(at).replace('T', " "));
        table.push(vec![
            attempt.id.chars().take(ID_SHOWN).collect(),
            attempt.category.clone(),
            what,
            attempt.host.clone().unwrap_or_else(|| "-".to_owned()),
            end_words(attempt),
            amount("memory", true),
            amount("memory", false),
            amount("wall", true),
            amount("cores", true),
            ended.get(..16).unwrap_or("-").to_owned(),
        ]);
    }
    table.text(width())
}

/// How it ended, in few letters.
pub(super) fn end_words(attempt: &Attempt) -> String {
    match (&attempt.exceeded, attempt.signal, attempt.exit_code) {
        (Some(resource), ..) => format!("limit {resource}"),
        (None, Some(signal), _) => format!("signal {signal}"),
        (None, None, Some(code)) if code != 0 => format!("exit {code}"),
        _ => end_word(attempt.end).to_owned(),
    }
}
