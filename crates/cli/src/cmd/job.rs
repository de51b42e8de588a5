//! `plimsoll job`: what one job used of what it had, on one screen.

use super::query_words::{EngineArgs, no_such_job};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, when};
use crate::query::answer::{self, Heard};
use crate::query::live_job;
use crate::view::style::printable;
use crate::view::{self, stderr, stdout};
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use query::Params;
use query::job::{Job, notes};
use record::unit::Nanos;
use serde_json::json;
use source::notify::agent;
use std::path::{Path, PathBuf};

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
    /// The folder of the dataset [default: /var/lib/plimsoll; where there is none that can be read,
    /// what the agent of this machine tells now]
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
    /// As the agent that listens there tells it now
    #[arg(long, value_name = "PATH", conflicts_with_all = ["dataset", "from", "to", "host"])]
    socket: Option<PathBuf>,
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
            "From the dataset of an agent, while the job runs and as long as that is kept, or \
             from the agent itself, what it is now. `plimsoll agent import` adds what only the \
             scheduler knows, such as how it ended.\n\n\
             Exit status: 0 shown, 1 no such job, no dataset or no agent, 2 usage, 130 \
             interrupted.\n\n\
             Examples:\n  \
             plimsoll job 4711\n  \
             plimsoll job 4711 --socket /run/plimsoll/agent.sock\n  \
             plimsoll job 4711_3 --dataset /data/plimsoll --from 7d\n  \
             plimsoll job 4711 --format json | jq '.hosts[].cpu_time'",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = JobArgs::from_arg_matches(matches)?;
    let found = match (&args.socket, &args.dataset) {
        (Some(socket), _) => of_agent(&args, socket, true)?,
        (None, Some(dataset)) => of_dataset(&args, dataset)?,
        (None, None) => {
            let usual = Path::new(DATASET);
            let asks_past = args.from.is_some() || args.to.is_some() || args.host.is_some();
            match asks_past || std::fs::read_dir(usual).is_ok() {
                true => of_dataset(&args, usual)?,
                false => of_agent(&args, Path::new(agent::SOCKET), false)?,
            }
        }
    };
    let job = match found {
        Heard::Answer(job) => job,
        Heard::Status(status) => return Ok(status),
    };
    let text = match args.format {
        FormatWord::Json => json_of(&args.job, &job)?,
        FormatWord::Text => view::job::screen(&args.job, &job),
    };
    stdout::write(text.as_bytes())
}

/// As it is now.
fn of_agent(args: &JobArgs, socket: &Path, is_named: bool) -> Result<Heard<Job>> {
    let told = live_job::of(socket, is_named, &args.job);
    let no_dataset = || format!("{DATASET} cannot be read, so the agent was asked");
    let told = match (is_named, told) {
        (false, told) => told.with_context(no_dataset)?,
        (true, told) => told?,
    };
    Ok(match told {
        Some(job) => Heard::Answer(job),
        None => {
            stderr::line(&format!(
                "plimsoll job: no process of a job `{}` is told by the agent at {}{}",
                printable(&args.job),
                socket.display(),
                match sys::process::effective_uid() == 0 {
                    true => "",
                    false => "; it tells jobs to their own users and to root",
                }
            ));
            Heard::Status(STATUS_FAILURE)
        }
    })
}

/// As it was recorded.
fn of_dataset(args: &JobArgs, dataset: &Path) -> Result<Heard<Job>> {
    let params = Params {
        from: args.from,
        to: args.to,
        job: Some(args.job.clone()),
        host: args.host.clone(),
        ..Params::default()
    };
    let told = answer::with(dataset, args.engine.options(), |engine, heed| {
        Job::of(engine, &params, heed)
    })?;
    Ok(match told {
        Heard::Answer(Some(job)) => Heard::Answer(job),
        Heard::Status(status) => Heard::Status(status),
        Heard::Answer(None) => {
            stderr::line(&no_such_job(VERB.name, dataset, &params));
            Heard::Status(STATUS_FAILURE)
        }
    })
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
