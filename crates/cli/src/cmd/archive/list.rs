//! `plimsoll archive list`: what is in it.

use super::filter::FilterArgs;
use super::{FormatWord, Part, PlaceArgs, Status, width, work};
use crate::archive::overview::{Line, Overview};
use crate::archive::place;
use crate::view::table::{Side, Table};
use crate::view::{stderr, stdout};
use anyhow::Result;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity::{show_bytes, show_time};
use record::timestamp::rfc3339;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::archive::Archive;
use store::archive::Set;

pub(super) const PART: Part = Part {
    name: "list",
    command,
    call,
};

#[derive(Debug, Args)]
struct ListArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    #[command(flatten)]
    filter: FilterArgs,
}

fn command() -> Command {
    ListArgs::augment_args(Command::new(PART.name))
        .about("List the sets and categories, and what their attempts used")
        .after_help(
            "Examples:\n  plimsoll archive list\n  \
             plimsoll archive list --set 'run 3' --format json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ListArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let overview = Overview::of(&archive, &args.filter.filter(), &heed)?;
        let sets = archive.folder().sets()?;
        work.clear();
        let status = match args.format {
            FormatWord::Text => stdout::write(text(&archive, &overview, &sets)?.as_bytes())?,
            FormatWord::Json => {
                let whole = json(&archive, &overview, &sets)?;
                stdout::write(format!("{}\n", serde_json::to_string_pretty(&whole)?).as_bytes())?
            }
        };
        damaged(&archive)?;
        Ok(status)
    })
}

/// Says which files cannot be understood.
pub(in crate::cmd) fn damaged(archive: &Archive) -> Result<()> {
    for one in archive.damaged()? {
        stderr::line(&format!(
            "plimsoll archive: warning: {}; nothing in it is counted",
            one.why
        ));
    }
    Ok(())
}

const HEADING: [(&str, Side); 10] = [
    ("", Side::Left),
    ("ATTEMPTS", Side::Right),
    ("DONE", Side::Right),
    ("FAILED", Side::Right),
    ("LIMIT", Side::Right),
    ("MEMORY MAX", Side::Right),
    ("WALL MAX", Side::Right),
    ("CPU", Side::Right),
    ("GiB.h", Side::Right),
    ("LAST", Side::Left),
];

fn text(archive: &Archive, overview: &Overview, sets: &[Set]) -> Result<String> {
    let (packed, single) = archive.count()?;
    let mut out = format!(
        "{}: {} attempts",
        archive.folder().path().display(),
        packed + single
    );
    if single > 0 {
        out.push_str(&format!(
            ", {single} with files of their own (plimsoll archive pack puts them together)"
        ));
    }
    out.push('\n');
    for (name, lines) in [("SET", &overview.sets), ("CATEGORY", &overview.categories)] {
        if lines.is_empty() {
            continue;
        }
        let mut heading = HEADING;
        if let Some(first) = heading.first_mut() {
            first.0 = name;
        }
        let mut table = Table::new(&heading);
        for (name, line) in lines {
            table.push(row(name, line));
        }
        out.push('\n');
        out.push_str(&table.text(width()));
    }
    let described = sets
        .iter()
        .filter_map(|set| Some((set, set.description.as_deref()?)));
    let described: Vec<_> = described
        .map(|(set, words)| crate::view::style::printable(&format!("{}: {words}", set.name)))
        .collect();
    if !described.is_empty() {
        out.push_str(&format!("\n{}\n", described.join("\n")));
    }
    Ok(out)
}

fn row(name: &str, line: &Line) -> Vec<String> {
    let unsigned = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        if name.is_empty() { "(none)" } else { name }.to_owned(),
        line.attempts.to_string(),
        line.done.to_string(),
        line.failed.to_string(),
        line.limit.to_string(),
        or_dash(unsigned(line.memory).map(show_bytes)),
        or_dash(unsigned(line.wall).map(show_time)),
        or_dash(
            unsigned(Some(line.cpu))
                .filter(|cpu| *cpu > 0)
                .map(show_time),
        ),
        format!("{:.2}", line.gib_hours),
        or_dash(line.span.map(|(_, last)| instant(last))),
    ]
}

/// To the minute.
fn instant(micros: i64) -> String {
    let nanos = u64::try_from(micros).unwrap_or(0).saturating_mul(1000);
    let text = rfc3339(nanos).replace('T', " ");
    text.get(..16).unwrap_or(&text).to_owned()
}

fn json(archive: &Archive, overview: &Overview, sets: &[Set]) -> Result<Value> {
    let (packed, single) = archive.count()?;
    let lines = |lines: &BTreeMap<String, Line>| {
        let all = lines
            .iter()
            .map(|(name, line)| (name.clone(), json_of(line)));
        Value::Object(all.collect())
    };
    let mut by_set = lines(&overview.sets);
    for set in sets {
        if let Some(object) = by_set.get_mut(&set.name).and_then(Value::as_object_mut) {
            object.insert("description".to_owned(), json!(set.description));
            object.insert("labels".to_owned(), json!(set.labels));
        }
    }
    Ok(json!({
        "schema": "plimsoll.archive.list/1",
        "archive": archive.folder().path(),
        "attempts": packed + single,
        "single": single,
        "sets": by_set,
        "categories": lines(&overview.categories),
    }))
}

fn json_of(line: &Line) -> Value {
    let at = |micros: i64| rfc3339(u64::try_from(micros).unwrap_or(0).saturating_mul(1000));
    json!({
        "attempts": line.attempts,
        "done": line.done,
        "failed": line.failed,
        "limit": line.limit,
        "memory_max": line.memory,
        "wall_max": line.wall,
        "cpu": line.cpu,
        "gib_hours": line.gib_hours,
        "first": line.span.map(|(first, _)| at(first)),
        "last": line.span.map(|(_, last)| at(last)),
    })
}
