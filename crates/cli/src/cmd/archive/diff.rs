//! `plimsoll archive diff`: which kinds of tasks use more or less than before.

use super::{FormatWord, Part, PlaceArgs, Status, width, work};
use crate::archive::difference::{Difference, Ends, Line};
use crate::archive::names::meant;
use crate::archive::{place, statistics};
use crate::view::stdout;
use crate::view::style::printable;
use crate::view::table::{Side, Table};
use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::attempt::RESOURCES;
use record::quantity::show;
use serde_json::{Value, json};
use store::archive::Filter;

pub(super) const PART: Part = Part {
    name: "diff",
    command,
    call,
};

/// What is compared unless it is said otherwise.
const USUAL: [&str; 3] = ["memory", "wall", "cpu"];

#[derive(Debug, Args)]
struct DiffArgs {
    /// The set before
    #[arg(value_name = "SET")]
    before: String,
    /// The set after
    #[arg(value_name = "SET")]
    after: String,
    /// What is compared [default: memory, wall and cpu]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = resources())]
    resource: Vec<String>,
    /// A difference counts that would come by chance more seldom than so
    #[arg(long, value_name = "SHARE", default_value = "0.05", value_parser = share)]
    chance: f64,
    /// Show what did not move, too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
}

fn resources() -> PossibleValuesParser {
    PossibleValuesParser::new(RESOURCES.iter().map(|one| one.name))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is from 0 to 1, such as 0.01".to_owned())
}

fn command() -> Command {
    DiffArgs::augment_args(Command::new(PART.name))
        .about("Compare two sets: which kinds of tasks use more or less")
        .after_help(
            "Of each category the middle of what its finished attempts used, in both sets, and how \
             probable it is that attempts without any difference lie as far apart: by their rank \
             sum, corrected for all that are compared (Holm). Fewer than four attempts on a side \
             are not judged.\n\n\
             Examples:\n  plimsoll archive diff 'run 2' 'run 3'\n  \
             plimsoll archive diff old new --resource memory --all --format json",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = DiffArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let names: Vec<String> = match args.resource.is_empty() {
            true => USUAL.map(str::to_owned).to_vec(),
            false => args.resource.clone(),
        };
        let wanted = statistics::named(&names);
        let sets = (args.before.as_str(), args.after.as_str());
        let found = Difference::of(&archive, sets, &wanted, &heed)?;
        work.clear();
        for (set, there) in [
            (sets.0, found.ends.values().any(|ends| ends.0.attempts > 0)),
            (sets.1, found.ends.values().any(|ends| ends.1.attempts > 0)),
        ] {
            if !there {
                let filter = Filter {
                    set: Some(set.to_owned()),
                    ..Filter::default()
                };
                bail!(
                    "there is no set `{}`{}: plimsoll archive list names them",
                    printable(set),
                    meant(&archive, &filter, &heed)?
                );
            }
        }
        let text = match args.format {
            FormatWord::Json => serde_json::to_string_pretty(&json_of(&args, &found))? + "\n",
            FormatWord::Text => text(&args, &found),
        };
        stdout::write(text.as_bytes())?;
        super::list::damaged(&archive)?;
        Ok(0)
    })
}

fn is_moved(line: &Line, args: &DiffArgs) -> bool {
    line.moved.is_some() && line.chance <= args.chance
}

const HEADING: [(&str, Side); 7] = [
    ("CATEGORY", Side::Left),
    ("RESOURCE", Side::Left),
    ("BEFORE", Side::Right),
    ("AFTER", Side::Right),
    ("CHANGE", Side::Right),
    ("CHANCE", Side::Right),
    ("ATTEMPTS", Side::Right),
];

fn text(args: &DiffArgs, found: &Difference) -> String {
    let mut table = Table::new(&HEADING);
    let mut lines: Vec<&Line> = found.lines.iter().collect();
    lines.retain(|line| args.all || is_moved(line, args));
    lines.sort_by(|one, other| one.chance.total_cmp(&other.chance));
    for line in lines {
        let unit = line.resource.unit;
        let (before, after, change, chance) = match line.moved {
            None => (
                String::new(),
                String::new(),
                String::new(),
                "too few".to_owned(),
            ),
            Some(moved) => (
                show(moved.before, unit),
                show(moved.after, unit),
                change(moved.before, moved.after),
                chance_words(line.chance),
            ),
        };
        table.push(vec![
            line.category.clone(),
            line.resource.name.to_owned(),
            before,
            after,
            change,
            chance,
            format!("{} / {}", line.counts.0, line.counts.1),
        ]);
    }
    let compared = found
        .lines
        .iter()
        .filter(|line| line.moved.is_some())
        .count();
    let moved = found
        .lines
        .iter()
        .filter(|line| is_moved(line, args))
        .count();
    let mut out = format!("{moved} of {compared} compared moved\n");
    if !table.is_empty() {
        out.push_str(&format!("\n{}", table.text(width())));
    }
    out.push_str(&ends(found));
    out
}

fn change(before: f64, after: f64) -> String {
    match before > 0.0 {
        true => format!("{:+.1} %", (after / before - 1.0) * 100.0),
        false => "-".to_owned(),
    }
}

fn chance_words(chance: f64) -> String {
    match chance < 0.0001 {
        true => "< 0.0001".to_owned(),
        false => format!("{chance:.4}"),
    }
}

/// Categories that one set alone has, and those of which another part fails.
fn ends(found: &Difference) -> String {
    let mut table = Table::new(&[
        ("CATEGORY", Side::Left),
        ("ATTEMPTS", Side::Right),
        ("NOT FINISHED", Side::Right),
    ]);
    let is_other = |one: &Ends, other: &Ends| {
        let alone = one.attempts == 0 || other.attempts == 0;
        alone || one.unfinished != other.unfinished
    };
    for (category, (one, other)) in found.ends.iter().filter(|(_, (a, b))| is_other(a, b)) {
        table.push(vec![
            category.clone(),
            format!("{} / {}", one.attempts, other.attempts),
            format!("{} / {}", one.unfinished, other.unfinished),
        ]);
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("\n{}", table.text(width())),
    }
}

fn json_of(args: &DiffArgs, found: &Difference) -> Value {
    let line = |line: &Line| {
        json!({
            "category": line.category,
            "resource": line.resource.name,
            "unit": line.resource.unit,
            "before": line.moved.map(|moved| moved.before),
            "after": line.moved.map(|moved| moved.after),
            "chance": line.moved.map(|_| line.chance),
            "moved": is_moved(line, args),
            "attempts": [line.counts.0, line.counts.1],
        })
    };
    let wanted = found
        .lines
        .iter()
        .filter(|one| args.all || is_moved(one, args));
    let ends = found.ends.iter().map(|(category, (one, other))| {
        json!({
            "category": category,
            "attempts": [one.attempts, other.attempts],
            "unfinished": [one.unfinished, other.unfinished],
        })
    });
    json!({
        "schema": "plimsoll.archive.diff/1",
        "before": args.before,
        "after": args.after,
        "differences": wanted.map(line).collect::<Vec<_>>(),
        "categories": ends.collect::<Vec<_>>(),
    })
}
