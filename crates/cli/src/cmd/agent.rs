//! `plimsoll agent`: every process of this node into a dataset.

#[cfg(feature = "dataset")]
use super::compact::KeepArgs;
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, explain};
use crate::agent::{self, Mechanism, Options, Upkeep, select};
use anyhow::{Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity;
use record::unit::{Nanos, Unit};
use source::follow::select::Wanted;
use std::path::PathBuf;

/// The verb.
pub const VERB: Verb = Verb {
    name: "agent",
    command,
    call,
    usage_error: STATUS_USAGE,
    failure: STATUS_FAILURE,
};

/// The shortest and the longest time between two readings.
const INTERVAL_MIN: Nanos = Nanos::from_millis(100);
const INTERVAL_MAX: Nanos = Nanos::from_secs(3600);
/// The shortest time between two compactions.
#[cfg(feature = "dataset")]
const COMPACT_MIN: Nanos = Nanos::from_secs(1);

#[derive(Debug, Args)]
struct AgentArgs {
    /// The folder of the dataset; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// The time between two readings, 100ms to 1h, at whole intervals of the time of day
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = interval)]
    interval: Nanos,
    /// Read so long after each whole interval of the time of day
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = offset)]
    offset: Nanos,
    /// What reading may cost, as a share of one CPU, such as 0.1%, compaction aside: it reads less
    /// often where that is needed, and says so
    #[arg(long, value_name = "SHARE", value_parser = share)]
    budget: Option<u64>,
    /// End by itself after this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    duration: Option<Nanos>,
    /// Which processes: all, job (that of this agent), pid:N (and below), session:N, pgrp:N, gid:N,
    /// cgroup:PATH (and below), user:NAME; several add up
    #[arg(long, value_name = "KIND", default_value = "all", value_parser = select::parse)]
    select: Vec<Wanted>,
    /// Turn what was recorded into Parquet this often; `never` leaves that to `plimsoll compact`
    #[cfg(feature = "dataset")]
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = every)]
    compact: Every,
    #[cfg(feature = "dataset")]
    #[command(flatten)]
    keep: KeepArgs,
    /// How to read the processes: bpf where it works, else procfs
    #[arg(long, value_enum, value_name = "NAME")]
    mechanism: Option<Mechanism>,
}

fn command() -> Command {
    AgentArgs::augment_args(Command::new("agent"))
        .about("Record every process of this node in a dataset")
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true)
        .subcommand(explain::command())
        .after_help(
            "In the foreground, until SIGTERM, SIGINT or the duration end it.\n\nExamples:\n  \
             plimsoll agent --dataset /var/lib/plimsoll --interval 10s\n  \
             plimsoll agent --dataset d --interval 1s --duration 30s && plimsoll compact d\n  \
             plimsoll agent explain 4711",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    if let Some((explain::NAME, inner)) = matches.subcommand() {
        return explain::call(inner);
    }
    let args = AgentArgs::from_arg_matches(matches)?;
    agent::run(&Options {
        dataset: args.dataset,
        interval: args.interval,
        offset: args.offset,
        budget: args.budget,
        duration: args.duration,
        mechanism: args.mechanism,
        wanted: args.select,
        upkeep: Upkeep {
            #[cfg(feature = "dataset")]
            every: args.compact.0,
            #[cfg(feature = "dataset")]
            keep: args.keep.keep(),
        },
    })?;
    Ok(0)
}

fn interval(text: &str) -> Result<Nanos> {
    let interval = time(text)?;
    match (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        true => Ok(interval),
        false => Err(anyhow!("100ms to 1h")),
    }
}

/// How often; nothing for never.
#[cfg(feature = "dataset")]
#[derive(Debug, Clone, Copy)]
struct Every(Option<Nanos>);

#[cfg(feature = "dataset")]
fn every(text: &str) -> Result<Every> {
    if text == "never" {
        return Ok(Every(None));
    }
    let every = time(text)?;
    match every >= COMPACT_MIN {
        true => Ok(Every(Some(every))),
        false => Err(anyhow!("1s or more, or never")),
    }
}

fn offset(text: &str) -> Result<Nanos> {
    if text == "0" {
        Ok(Nanos(0))
    } else {
        time(text)
    }
}

/// Millionths of one CPU.
fn share(text: &str) -> Result<u64> {
    let percent = text
        .strip_suffix('%')
        .map(|text| text.trim_end().parse::<f64>());
    match percent {
        Some(Ok(percent)) if (0.0001..=100.0).contains(&percent) => Ok((percent * 1e4) as u64),
        _ => Err(anyhow!("a percentage of one CPU, 0.0001% to 100%")),
    }
}

fn time(text: &str) -> Result<Nanos> {
    let parsed = quantity::parse(text, Unit::Nanoseconds);
    parsed.map(Nanos).map_err(|error| anyhow!("{error}"))
}
