//! `plimsoll archive show`: all that is known of one attempt.

use super::query::end_words;
use super::{FormatWord, Part, PlaceArgs, Status, work};
use crate::archive::{one, place};
use crate::view::rows::Row;
use crate::view::stdout;
use crate::view::style::{Style, environment_allows_color, printable};
use anyhow::{Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::attempt::{Amounts, Attempt};
use record::quantity::{show, show_bytes};
use record::timestamp::rfc3339;
use store::archive::known_word;

pub(super) const PART: Part = Part {
    name: "show",
    command,
    call,
};

#[derive(Debug, Args)]
struct ShowArgs {
    /// The id of the attempt, or the first digits of it; or the id of a task's report
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    place: PlaceArgs,
    /// How it is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    /// Write the report as it was added, and nothing else
    #[arg(long)]
    report: bool,
    /// Write what it used over time as CSV, as of `run --with series`, and nothing else
    #[arg(long, conflicts_with = "report")]
    series: bool,
}

fn command() -> Command {
    ShowArgs::augment_args(Command::new(PART.name))
        .about("Show all that is known of one attempt")
        .after_help(
            "Exit status: 0 shown, 1 there is none or more than one, 2 usage.\n\nExamples:\n  \
             plimsoll archive show 4f1c09\n  plimsoll archive show 4f1c09 --report | jq .usage\n  \
             plimsoll archive show 4f1c09 --series > series.csv",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = ShowArgs::from_arg_matches(matches)?;
    work(true, |work| {
        let archive = place::open(&args.place.path()?, work)?;
        let stored = one::find(&archive, &args.id)?;
        if args.report {
            let report = stored.report.as_deref();
            let report = report.ok_or_else(|| {
                anyhow!(
                    "it was imported from {}: there is no report",
                    stored.attempt.format
                )
            })?;
            return stdout::write(format!("{}\n", report.trim_end()).as_bytes());
        }
        if args.series {
            let series = stored.series.as_deref();
            let series = series.ok_or_else(|| {
                anyhow!(
                    "what it used over time was not told: `run --archive` tells it, and `archive \
                     add` of a report with its series"
                )
            })?;
            return stdout::write(series.as_bytes());
        }
        match args.format {
            FormatWord::Json => {
                let text = serde_json::to_string_pretty(&stored.attempt)?;
                stdout::write(format!("{text}\n").as_bytes())
            }
            FormatWord::Text => {
                let style = Style::of(&std::io::stdout(), environment_allows_color());
                stdout::write(text(&stored.attempt, style).as_bytes())
            }
        }
    })
}

fn text(attempt: &Attempt, style: Style) -> String {
    let at = |at: Option<i64>| {
        let at = at.and_then(|at| u64::try_from(at).ok());
        at.map(|at| rfc3339(at).replace('T', " "))
    };
    let command = Some(attempt.command.join(" ")).filter(|text| !text.is_empty());
    let labels = attempt
        .labels
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let labels = Some(labels.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty());
    let parents = Some(attempt.parents.join(", ")).filter(|text| !text.is_empty());
    let told = match &attempt.source {
        Some(source) => format!("{}, {source}", attempt.format),
        None => attempt.format.clone(),
    };
    let rows = [
        ("id", Some(attempt.id.clone())),
        ("category", Some(attempt.category.clone())),
        ("set", attempt.set.clone()),
        ("what", attempt.description.clone()),
        ("task", attempt.task.clone()),
        ("attempt", attempt.attempt.map(|number| number.to_string())),
        ("after", parents),
        ("command", command),
        ("program", attempt.tool.clone()),
        ("image", attempt.image.clone()),
        ("job", attempt.job.clone()),
        ("user", attempt.user.clone()),
        ("host", attempt.host.clone()),
        ("host class", attempt.host_class.clone()),
        ("queued", at(attempt.submitted)),
        ("began", at(attempt.began)),
        ("ended", at(attempt.ended)),
        ("end", Some(end_words(attempt))),
        ("cause", attempt.cause.clone()),
        ("input", attempt.input_size.map(show_bytes)),
        ("asked for", amounts(&attempt.requested, false)),
        ("used", amounts(&attempt.used, true)),
        ("labels", labels),
        ("told by", Some(told)),
    ];
    let mut out = String::new();
    for (label, words) in rows {
        if let Some(words) = words {
            Row::text(label, printable(&words)).render(style, &mut out);
        }
    }
    out
}

fn amounts(amounts: &Amounts, says_how: bool) -> Option<String> {
    let words = amounts.iter().map(|(resource, amount)| {
        let value = show(amount.value.as_f64(), resource.unit);
        match says_how {
            true => format!("{} {value} ({})", resource.name, known_word(amount.known)),
            false => format!("{} {value}", resource.name),
        }
    });
    Some(words.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}
