//! `plimsoll archive stats`: mean, spread and form of what attempts used.

use super::filter::FilterArgs;
use super::{FormatWord, Part, PlaceArgs, Status, width, work};
use crate::archive::names::meant;
use crate::archive::place;
use crate::archive::statistics::{self, Line};
use crate::cmd::STATUS_FAILURE;
use crate::view::table::{Side, Table};
use crate::view::{stderr, stdout};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::attempt::{End, RESOURCES};
use record::quantity::show;
use record::unit::Unit;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use store::Error;
use store::archive::{Archive, Filter, end_word};

pub(super) const PART: Part = Part {
    name: "stats",
    command,
    call,
};

#[derive(Debug, Args)]
struct StatsArgs {
    #[command(flatten)]
    place: PlaceArgs,
    /// These resources alone [default: all that are known]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = resources())]
    resource: Vec<String>,
    /// Draw how often which amounts are
    #[arg(long)]
    histogram: bool,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    #[command(flatten)]
    filter: FilterArgs,
}

fn resources() -> PossibleValuesParser {
    PossibleValuesParser::new(RESOURCES.iter().map(|one| one.name))
}

fn command() -> Command {
    StatsArgs::augment_args(Command::new(PART.name))
        .about("Count, mean, deviation, skewness, excess kurtosis and quantiles of what was used")
        .after_help(
            "Of attempts that did what they were to do, unless --end says of which. Moments are \
             those of the attempts themselves, not an estimate for others, and right to a part in \
             10^9; quantiles to 1 %. Kurtosis is the excess: 0 of a normal distribution.\n\n\
             Examples:\n  plimsoll archive stats --category align\n  \
             plimsoll archive stats --category align --resource memory --histogram\n  \
             plimsoll archive stats --set 'run 3' --format json | jq .resource.memory.mean",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = StatsArgs::from_arg_matches(matches)?;
    work(false, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let mut filter = args.filter.filter();
        let is_asked = filter.end.is_some();
        filter.end = filter.end.or(Some(End::Done));
        let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
        let wanted = statistics::named(&args.resource);
        let (attempts, lines) = statistics::of(&archive, &filter, &wanted, &heed)?;
        work.clear();
        match args.format {
            FormatWord::Json => {
                let resource = lines
                    .iter()
                    .map(|line| (line.resource.name.to_owned(), line.json()));
                let resource: Map<String, Value> = resource.collect();
                let whole = json!({
                    "schema": "plimsoll.archive.stats/1",
                    "category": filter.category,
                    "attempts": attempts,
                    "resource": resource,
                });
                let text = serde_json::to_string_pretty(&whole)? + "\n";
                stdout::write(text.as_bytes())?;
            }
            FormatWord::Text if attempts > 0 => {
                let text = text(attempts, &lines, args.histogram);
                stdout::write(text.as_bytes())?;
            }
            FormatWord::Text if is_asked => {
                let meant = meant(&archive, &filter, &heed)?;
                work.clear();
                stderr::line(&format!("{NONE}{meant}"));
            }
            FormatWord::Text => {
                let others = Filter {
                    end: None,
                    ..filter
                };
                let ends = ends(&archive, &others, &heed)?;
                let meant = meant(&archive, &others, &heed)?;
                work.clear();
                stderr::line(&format!("{}{meant}", none(&ends)));
            }
        }
        super::list::damaged(&archive)?;
        Ok(if attempts > 0 { 0 } else { STATUS_FAILURE })
    })
}

const NONE: &str = "no attempts";

/// How many attempts ended how.
fn ends(
    archive: &Archive,
    filter: &Filter,
    heed: &dyn Fn(u64) -> bool,
) -> Result<BTreeMap<String, u64>, Error> {
    let mut ends = BTreeMap::new();
    let mut attempts = 0;
    archive.scan(&["end"], filter, &mut |batch, rows| {
        attempts += rows.len() as u64;
        if !heed(attempts) {
            return Err(Error::Interrupted);
        }
        for row in rows {
            let word = batch.text(0, *row).unwrap_or(end_word(End::Unknown));
            *ends.entry(word.to_owned()).or_insert(0) += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(ends)
}

/// Why there are no attempts that did what they were to do, and what helps.
fn none(ends: &BTreeMap<String, u64>) -> String {
    let attempts: u64 = ends.values().sum();
    if attempts == 0 {
        return NONE.to_owned();
    }
    let unknown = end_word(End::Unknown);
    let others = ends.iter().filter(|(word, _)| *word != unknown);
    let mut words: Vec<String> = others
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let mut help = "--end HOW asks for others".to_owned();
    if let Some(count) = ends.get(unknown) {
        words.push(format!("{count} without a known end"));
        help = format!(
            "--end {unknown} asks for those without a known end; an import tells the end by a \
             column for `end` or `exit_code`"
        );
    }
    format!(
        "{NONE} that are known to have done what they were to do, of {attempts}: {}\n{help}",
        words.join(", ")
    )
}

const HEADING: [(&str, Side); 11] = [
    ("RESOURCE", Side::Left),
    ("COUNT", Side::Right),
    ("MEAN", Side::Right),
    ("DEVIATION", Side::Right),
    ("SKEWNESS", Side::Right),
    ("EXCESS KURT.", Side::Right),
    ("MIN", Side::Right),
    ("HALF", Side::Right),
    ("95 %", Side::Right),
    ("99 %", Side::Right),
    ("MAX", Side::Right),
];

fn text(attempts: u64, lines: &[Line], with_histogram: bool) -> String {
    let mut table = Table::new(&HEADING);
    for line in lines {
        let (moments, unit) = (line.statistics.moments(), line.resource.unit);
        let say = |value: Option<f64>| value.map_or("-".to_owned(), |value| shown(value, unit));
        let form = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let extremes = line.statistics.extremes();
        table.push(vec![
            line.resource.name.to_owned(),
            moments.count().to_string(),
            say(moments.mean()),
            say(moments.deviation()),
            form(moments.skewness()),
            form(moments.kurtosis_excess()),
            say(extremes.map(|(min, _)| min)),
            say(line.statistics.quantile(0.5)),
            say(line.statistics.quantile(0.95)),
            say(line.statistics.quantile(0.99)),
            say(extremes.map(|(_, max)| max)),
        ]);
    }
    let mut out = format!("{attempts} attempts\n\n{}", table.text(width()));
    for line in lines.iter().filter(|_| with_histogram) {
        out.push_str(&histogram(line));
    }
    out
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => format!("{value:.1}"),
        unit => show(value.max(0.0), unit),
    }
}

/// Cells of the longest bar.
const BAR: u64 = 40;

fn histogram(line: &Line) -> String {
    let bars = line.histogram();
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let mut table = Table::new(&[
        ("FROM", Side::Right),
        ("COUNT", Side::Right),
        ("", Side::Left),
    ]);
    for bar in bars {
        // What is there at all is seen.
        let length = (bar.count * BAR).div_ceil(most) as usize;
        table.push(vec![
            shown(bar.from, line.resource.unit),
            bar.count.to_string(),
            "#".repeat(length),
        ]);
    }
    format!("\n{}\n{}", line.resource.name, table.text(None))
}
