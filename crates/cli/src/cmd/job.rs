//! `plimsoll job`: what one job used of what it had, on one screen.

use super::query_words::EngineArgs;
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, when};
use crate::query::answer::{self, Heard};
use crate::view::{self, stderr, stdout};
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use query::Params;
use query::job::{Job, notes};
use record::unit::Nanos;
use serde_json::json;
use std::path::PathBuf;

/// The verb.
pub const VERB: Verb = Verb {
    name: "job",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// Where the packaged unit of an agent keeps its dataset.
const DATASET: &str = "/var/lib/plimsoll";

#[derive(Debug, Args)]
struct JobArgs {
    /// The job, as its scheduler calls it; an element of an array is 7_2
    #[arg(value_name = "JOBID")]
    job: String,
    /// The folder of the dataset
    #[arg(long, value_name = "DIR", default_value = DATASET)]
    dataset: PathBuf,
    /// What is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    /// Look from this instant on: 2026-11-20, 2026-11-20 13:05 (UTC), or how long ago: 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    from: Option<Nanos>,
    /// Look up to this instant
    #[arg(long, value_name = "TIME", value_parser = when::instant)]
    to: Option<Nanos>,
    /// This host alone
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// One screen
    Text,
    /// All of it, in base units
    Json,
}

fn command() -> Command {
    JobArgs::augment_args(Command::new(VERB.name))
        .about("Show what a job used of what it had")
        .after_help(
            "From the dataset of an agent, while the job runs and as long as that is kept. \
             `plimsoll agent import` adds what only the scheduler knows, such as how it ended.\n\n\
             Exit status: 0 shown, 1 no such job or no dataset, 2 usage, 130 interrupted.\n\n\
             Examples:\n  \
             plimsoll job 4711\n  \
             plimsoll job 4711_3 --dataset /data/plimsoll --from 7d\n  \
             plimsoll job 4711 --format json | jq '.hosts[].cpu_time'",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = JobArgs::from_arg_matches(matches)?;
    let params = Params {
        from: args.from,
        to: args.to,
        job: Some(args.job.clone()),
        host: args.host.clone(),
        ..Params::default()
    };
    let told = answer::with(&args.dataset, args.engine.options(), |engine, heed| {
        Job::of(engine, &params, heed)
    });
    let found = match told? {
        Heard::Answer(found) => found,
        Heard::Status(status) => return Ok(status),
    };
    let Some(job) = found else {
        stderr::line(&format!(
            "plimsoll job: {} has no job `{}`{}",
            args.dataset.display(),
            args.job,
            if args.from.is_some() || args.to.is_some() {
                " in that time"
            } else {
                ""
            }
        ));
        return Ok(STATUS_FAILURE);
    };
    let text = match args.format {
        FormatWord::Json => json_of(&args.job, &job)?,
        FormatWord::Text => view::job::screen(&args.job, &job),
    };
    stdout::write(text.as_bytes())
}

fn json_of(name: &str, job: &Job) -> Result<String> {
    let mut whole = serde_json::to_value(job).context("the job")?;
    if let Some(object) = whole.as_object_mut() {
        object.insert("schema".to_owned(), json!("plimsoll.job/1"));
        object.insert("job".to_owned(), json!(name));
        object.insert("notes".to_owned(), json!(notes(job)));
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&whole)?))
}
