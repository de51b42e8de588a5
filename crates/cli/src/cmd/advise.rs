//! `plimsoll advise`: what the next attempt of a task should ask for.

use super::amounts::{amount, last_of};
use super::archive::{PlaceArgs, list};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, report_file};
use crate::archive::history::{self, Known};
use crate::archive::names::meant;
use crate::archive::place;
use crate::archive::request::{Answer, Asked};
use crate::archive::work::Work;
use crate::view::style::{Style, environment_allows_color, printable};
use crate::view::{self, stderr, stdout};
use advise::{Question, Share, Terms};
use anyhow::{Context, Result, anyhow, bail};
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::limit::Resource;
use record::quantity;
use record::report::Report;
use record::unit::{Bytes, Unit};
use reduce::request::{self, TARGETS, Target};
use source::query::host;
use source::root::Root;
use std::path::{Path, PathBuf};
use store::archive::{Archive, Filter};
use store::attempt::{host_class, of_report};

/// The verb.
pub const VERB: Verb = Verb {
    name: "advise",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

#[derive(Debug, Args)]
struct AdviseArgs {
    /// The category of the task, as `plimsoll archive list` has it [default: that of --after]
    #[arg(long, value_name = "NAME", required_unless_present = "after")]
    category: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    /// The size of the task's input, in bytes: 3GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    input_size: Option<u64>,
    /// The share of attempts that the first request is to be enough for [default: 0.95;
    /// 0.8 where that halves what is held in all]
    #[arg(long, value_name = "SHARE", value_parser = quantile)]
    quantile: Option<Share>,
    /// Never ask for more: memory=64GiB, wall=2d, disk=1TiB, cores=32 (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = amount)]
    max: Vec<(Resource, u64)>,
    /// What is asked for today, to compare with: memory=8GiB (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = amount)]
    request: Vec<(Resource, u64)>,
    /// The kind of host that it will run on, as `plimsoll archive show` has it [default: this one]
    #[arg(long, value_name = "CLASS")]
    host_class: Option<String>,
    /// The report of an attempt that a limit ended: what to ask for next
    #[arg(long, value_name = "REPORT")]
    after: Option<PathBuf>,
    /// A category of tasks that are alike, where there is no history of this one
    #[arg(long, value_name = "NAME")]
    sibling: Option<String>,
    /// For whom the lines to paste are written [default: the scheduler that --after names, else
    /// plimsoll]
    #[arg(long = "for", value_name = "TARGET", value_parser = targets())]
    target: Option<String>,
    /// What is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// Requests, what they go by, and what to paste
    Text,
    /// The same for programs (plimsoll.advise/1)
    Json,
}

fn command() -> Command {
    AdviseArgs::augment_args(Command::new(VERB.name))
        .about("Say what the next attempt of a task should ask for, from what such tasks used")
        .after_help(
            "The first request is the one that costs least over the attempts in the archive: what \
             is held and not used, and what fails and runs again. docs/advise.md has the rule.\n\n\
             Exit status: 0 told, 1 there is no history, 2 usage.\n\n\
             Examples:\n  \
             plimsoll advise --category align\n  \
             plimsoll advise --category align --input-size 3GiB --max memory=256GiB --for slurm\n  \
             plimsoll advise --after job.json --for nextflow\n  \
             plimsoll advise --category align --format json | jq .memory.first",
        )
}

fn targets() -> PossibleValuesParser {
    PossibleValuesParser::new(TARGETS.iter().map(|target| target.name))
}

fn size(text: &str) -> Result<u64> {
    match text {
        "0" => Ok(0),
        text => quantity::parse(text, Unit::Bytes).map_err(Into::into),
    }
}

fn quantile(text: &str) -> Result<Share> {
    let share: f64 = text.parse().context("a share is a number such as 0.95")?;
    Share::new(1.0 - share).map_err(|_| anyhow!("a share is above 0 and below 1, such as 0.95"))
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = AdviseArgs::from_arg_matches(matches)?;
    let mut work = Work::begin(false)?;
    let status = advise(&args, &mut work);
    work.end(status)
}

fn advise(args: &AdviseArgs, work: &mut Work) -> Result<Status> {
    let after = args
        .after
        .as_deref()
        .map(|path| report_file::read(path, None))
        .transpose()?;
    let category = match (&args.category, &after) {
        (Some(name), _) => name.clone(),
        (None, Some(report)) => of_report(report).category,
        (None, None) => bail!("--category NAME says which tasks"),
    };
    let path = args.place.path()?;
    let archive = place::open(&path, work)?;
    let terms = terms(args);
    let known = known(&archive, &category, &terms, work)?;
    let sibling = args.sibling.as_deref();
    let sibling = sibling
        .map(|name| self::known(&archive, name, &terms, work))
        .transpose()?;
    let asked = asked(args, after.as_ref())?;
    let target = target(args, after.as_ref());
    let answer = Answer::of(&category, &known, sibling.as_ref(), &asked, target);
    work.clear();
    list::damaged(&archive)?;
    let text = match args.format {
        FormatWord::Json => serde_json::to_string_pretty(&answer.json())? + "\n",
        FormatWord::Text => {
            let style = Style::of(&std::io::stdout(), environment_allows_color());
            view::advise::text(&answer, style)
        }
    };
    if !answer.is_empty() || args.format == FormatWord::Json {
        stdout::write(text.as_bytes())?;
    }
    match answer.is_empty() {
        false => Ok(0),
        true => {
            let meant = match known.attempts {
                0 => meant(&archive, &of(&category), &|_| true)?,
                _ => String::new(),
            };
            let words = nothing(&printable(&category), &meant, known.attempts, &path);
            stderr::line(&words);
            Ok(STATUS_FAILURE)
        }
    }
}

/// Why there is no advice, and what to do.
fn nothing(category: &str, meant: &str, attempts: u64, path: &Path) -> String {
    let path = path.display();
    match attempts {
        0 => format!(
            "plimsoll advise: no history of `{category}` in {path}{meant}: run one pilot first, \
             with plimsoll run --archive --category '{category}'"
        ),
        _ => format!(
            "plimsoll advise: of none of {attempts} attempts of `{category}` in {path} is it told \
             that it did its work and how long that took, and advice goes by such alone: import a \
             CSV file that has it, into a new archive, with --map \
             exit_code=COLUMN,wall=COLUMN:UNIT, or run one pilot, with plimsoll run --archive \
             --category '{category}'"
        ),
    }
}

fn known(archive: &Archive, category: &str, terms: &Terms, work: &Work) -> Result<Known> {
    let heed = |rows| work.heed(&|| format!("{rows} attempts read"));
    Ok(history::of(archive, &of(category), terms, &heed)?)
}

fn of(category: &str) -> Filter {
    Filter {
        category: Some(category.to_owned()),
        ..Filter::default()
    }
}

fn terms(args: &AdviseArgs) -> Terms {
    let mut terms = Terms::default();
    for (resource, settings) in [
        (Resource::Memory, &mut terms.memory),
        (Resource::Footprint, &mut terms.disk),
        (Resource::Cores, &mut terms.cores),
        (Resource::Wall, &mut terms.wall),
    ] {
        settings.max = last_of(&args.max, resource);
        if let Some(retries) = args.quantile {
            // Who says how many may fail means it.
            (settings.retries, settings.retries_at_peaks) = (retries, None);
        }
    }
    terms
}

fn asked(args: &AdviseArgs, after: Option<&Report>) -> Result<Asked> {
    let input = args
        .input_size
        .or_else(|| after.and_then(|report| report.task.inputs_bytes));
    let host = match (&args.host_class, after) {
        (Some(class), _) => Some(class.clone()),
        (None, Some(report)) => of_report(report).host_class,
        (None, None) => this_host(),
    };
    let question = |resource| Question {
        input: input.map(Bytes),
        host: host.clone(),
        request: last_of(&args.request, resource),
    };
    Ok(Asked {
        memory: question(Resource::Memory),
        disk: question(Resource::Footprint),
        cores: question(Resource::Cores),
        wall: question(Resource::Wall),
        failed: after.map(failed).transpose()?.unwrap_or_default(),
    })
}

/// What a limit was set to that ended an attempt.
fn failed(report: &Report) -> Result<Vec<(Resource, u64)>> {
    let attempt = of_report(report);
    let name = attempt.exceeded.as_deref();
    let resource = match name {
        Some("memory" | "rss") => Resource::Memory,
        Some("footprint" | "disk") => Resource::Footprint,
        Some("wall") => Resource::Wall,
        _ => bail!(
            "the attempt of --after was not ended for memory, disk or wall time: plimsoll why"
        ),
    };
    let exceeded = report
        .exceeded
        .iter()
        .find(|one| Some(one.resource.as_str()) == name);
    let limit = exceeded.map(|one| one.limit.as_f64());
    let requested = || {
        let names = if resource == Resource::Footprint {
            "disk"
        } else {
            name.unwrap_or_default()
        };
        attempt
            .requested
            .get(names)
            .map(|amount| amount.value.as_f64())
    };
    let limit = limit
        .or_else(requested)
        .context("the report does not say how much it was allowed")?;
    Ok(vec![(resource, limit as u64)])
}

/// The kind of this host.
fn this_host() -> Option<String> {
    let host = host::facts(&Root::default()).host;
    let cpus = Some(host.cpus).filter(|cpus| *cpus > 0);
    host_class(host.cpu_model.as_deref(), cpus)
}

fn target(args: &AdviseArgs, after: Option<&Report>) -> &'static Target {
    let named = args.target.as_deref().and_then(request::target);
    match (named, after) {
        (Some(named), _) => named,
        (None, Some(report)) => request::target_of(report),
        (None, None) => request::own(),
    }
}
