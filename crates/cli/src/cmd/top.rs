//! `plimsoll top`: who uses what, now or then.

use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb};
use crate::live::people::Sort;
use crate::live::wire::{SERVED, Who, Wish};
use crate::run::person;
use crate::top::{self, AgentFeed, Batch, Feed, Format, HereFeed, Look, Options};
use crate::view::stderr;
use anyhow::{Context, Result, anyhow};
use clap::builder::TypedValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity;
use record::table::{Table, gpu};
use record::unit::{Nanos, Unit};
use source::notify::agent;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The verb.
pub const VERB: Verb = Verb {
    name: "top",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// The shortest and the longest time between two readings.
const INTERVAL_MIN: Nanos = Nanos::from_millis(100);
const INTERVAL_MAX: Nanos = Nanos::from_secs(3600);
const INTERVAL: Nanos = Nanos::from_secs(1);

#[derive(Debug, Args)]
struct TopArgs {
    /// Text instead of a screen
    #[arg(long, short)]
    batch: bool,
    /// With --batch: so many readings [default: until it is ended]
    #[arg(long, short = 'n', value_name = "N", requires = "batch", value_parser = count())]
    count: Option<u64>,
    /// With --batch: so many processes of a reading [default: all]
    #[arg(long, value_name = "N", requires = "batch")]
    limit: Option<usize>,
    /// With --batch: how a reading is printed
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        requires = "batch"
    )]
    format: Format,
    /// A reading this often, 100ms to 1h; an agent makes them as often as it was told to
    /// [default: 1s, of an agent each of them]
    #[arg(long, short = 'i', value_name = "TIME", value_parser = interval)]
    interval: Option<Nanos>,
    /// Processes of this job alone
    #[arg(long, short, value_name = "ID")]
    job: Option<String>,
    /// Processes of this user alone, by name or number
    #[arg(long, short, value_name = "NAME")]
    user: Option<String>,
    /// Processes in whose command, user or job this is
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// By what they are sorted
    #[arg(long, value_enum, value_name = "KEY", default_value = "cpu")]
    sort: Sort,
    /// Children below their parents
    #[arg(long)]
    tree: bool,
    /// Where the agent listens; whoever listens at a PATH that is named is believed
    /// [default: /run/plimsoll/agent.sock, and without an agent there this process reads]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Read the processes here, whether there is an agent or not
    #[arg(long, conflicts_with_all = ["socket", "dataset"])]
    no_agent: bool,
    /// What was recorded in this dataset, instead of now
    #[arg(long, value_name = "DIR", conflicts_with_all = ["socket", "interval"])]
    dataset: Option<PathBuf>,
    /// With --dataset: as it was then: 2026-11-20 13:05 (UTC), or how long ago: 2h
    /// [default: at the last reading]
    #[arg(long, value_name = "TIME", requires = "dataset", value_parser = super::when::instant)]
    at: Option<Nanos>,
    /// With --dataset: of this host
    #[arg(long, value_name = "NAME", requires = "dataset")]
    host: Option<String>,
}

fn command() -> Command {
    TopArgs::augment_args(Command::new(VERB.name))
        .about("Show jobs and processes, now or as they were")
        .after_help(
            "An agent of this machine tells what it reads; without one, this process reads. A user \
             sees of others' processes what /proc shows to everybody. `h` has the keys and the \
             columns. Only an agent tells of processes that end between two readings. A dataset is \
             stepped through with the arrow keys, and played with `p`.\n\n\
             Exit status: 0 ended by a key, or all was printed; 1 nothing can be shown, or the \
             agent has ended; 2 usage.\n\n\
             Examples:\n  \
             plimsoll top\n  \
             plimsoll top --job 4711 --tree\n  \
             plimsoll top --batch --count 1 --limit 10 --sort memory\n  \
             plimsoll top --batch --count 9 --format json | jq '.jobs[] | .cores'\n  \
             plimsoll top --dataset /var/lib/plimsoll --at '2026-11-20 13:05'",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    let args = TopArgs::from_arg_matches(matches)?;
    if !args.batch && !std::io::stdout().is_terminal() {
        crate::run::refuse(&anyhow!(
            "stdout is no terminal: --batch prints text, --batch --count 1 once"
        ));
        return Ok(STATUS_USAGE);
    }
    let feed = feed(&args)?;
    let look = Look {
        sort: args.sort,
        is_tree: args.tree,
        user: args.user,
        job: args.job,
        text: args.filter,
        ..Look::default()
    };
    let batch = args.batch.then_some(Batch {
        count: args.count,
        rows: args.limit,
        format: args.format,
    });
    top::run(Options { feed, look, batch })
}

/// Where the readings come from.
fn feed(args: &TopArgs) -> Result<Box<dyn Feed>> {
    if let Some(dataset) = &args.dataset {
        return past(dataset, args);
    }
    let here = || -> Result<Box<dyn Feed>> {
        Ok(Box::new(HereFeed::open(args.interval.unwrap_or(INTERVAL))?))
    };
    if args.no_agent {
        return here();
    }
    let is_shown = |table: &&Table| table.id != gpu::TABLE.id;
    let wish = Wish {
        tables: SERVED.into_iter().filter(is_shown).collect(),
        who: who(args)?,
        period: args.interval.unwrap_or(Nanos(0)),
    };
    match &args.socket {
        Some(socket) => Ok(Box::new(AgentFeed::open(socket, true, &wish)?)),
        None => match AgentFeed::open(Path::new(agent::SOCKET), false, &wish) {
            Ok(feed) => Ok(Box::new(feed)),
            // Nobody else tells.
            Err(error) => {
                if Path::new(agent::SOCKET).exists() {
                    let why = crate::run::chain(&error);
                    stderr::line(&format!("plimsoll top: warning: {why}; reading here"));
                }
                here()
            }
        },
    }
}

/// Whom an agent is asked for: those of one job, or of one user.
fn who(args: &TopArgs) -> Result<Vec<Who>> {
    let uid = |name: &String| {
        let known = name.parse().ok().or_else(|| person::id(name));
        known.with_context(|| format!("--user {name}: no such user in /etc/passwd"))
    };
    Ok(match (&args.job, &args.user) {
        (Some(job), _) => vec![Who::Job(job.clone())],
        (None, Some(name)) => vec![Who::Uid(uid(name)?)],
        (None, None) => Vec::new(),
    })
}

#[cfg(feature = "query")]
fn past(dataset: &Path, args: &TopArgs) -> Result<Box<dyn Feed>> {
    let feed = top::PastFeed::open(top::Past {
        dataset: dataset.to_owned(),
        host: args.host.clone(),
        at: args.at,
        engine: super::query_words::usual(),
    })?;
    Ok(Box::new(feed))
}

#[cfg(not(feature = "query"))]
fn past(_: &Path, _: &TopArgs) -> Result<Box<dyn Feed>> {
    Err(super::never::without().context("--dataset"))
}

fn count() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(1..)
}

fn interval(text: &str) -> Result<Nanos> {
    let parsed = quantity::parse(text, Unit::Nanoseconds).map(Nanos);
    let known = parsed.map_err(|error| anyhow!("{error}"))?;
    match (INTERVAL_MIN..=INTERVAL_MAX).contains(&known) {
        true => Ok(known),
        false => Err(anyhow!("100ms to 1h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_that_make_sense() {
        assert!(interval("100ms").is_ok() && interval("1h").is_ok());
        assert!(interval("99ms").is_err() && interval("2h").is_err());
        command().debug_assert();
    }
}
