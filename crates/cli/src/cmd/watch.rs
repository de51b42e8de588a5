//! `plimsoll agent watch`: the live records of the agent of this node.

use super::Status;
use crate::live::people::Sort;
use crate::live::watch::{self, End, Format, Options};
use crate::live::wire::{SERVED, Who, Wish, served};
use crate::run::person;
use crate::view::stderr;
use anyhow::{Context, Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use record::quantity;
use record::table::{self, Table};
use record::unit::{Nanos, Unit};
use source::notify::agent;
use std::path::PathBuf;

/// Its name.
pub(super) const NAME: &str = "watch";

/// Exit status where the agent ended before all was told.
const STATUS_AGENT_ENDED: Status = 3;

/// The shortest and the longest time between two readings.
const INTERVAL_MIN: Nanos = Nanos::from_millis(100);
const INTERVAL_MAX: Nanos = Nanos::from_secs(86_400);

/// What a table for people is made of.
const FOR_PEOPLE: [&Table; 4] = [
    &table::process::TABLE,
    &table::sample::TABLE,
    &table::node::TABLE,
    &table::exit::TABLE,
];

#[derive(Debug, Args)]
struct WatchArgs {
    /// Where the agent listens; whoever listens at a PATH that is named is believed
    /// [default: /run/plimsoll/agent.sock]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// A reading this often, 100ms to 1d, of those that the agent makes [default: each of them]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    interval: Option<Nanos>,
    /// Which processes: all, pid:N, user:NAME, uid:N or job:ID; several add up
    #[arg(long, value_name = "KIND", default_value = "all", value_parser = select)]
    select: Vec<Chosen>,
    /// One reading, the last one if there is one, then end
    #[arg(long)]
    once: bool,
    /// What is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: FormatWord,
    /// Processes in the table [default: as many as the terminal has room for]
    #[arg(long, value_name = "COUNT")]
    top: Option<usize>,
    /// By what the table is sorted
    #[arg(long, value_enum, value_name = "KEY", default_value = "cpu")]
    sort: Sort,
    /// With --format json: records of these tables, process, sample, node, exit, job and gpu
    /// [default: all of them]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = table)]
    tables: Vec<&'static Table>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatWord {
    /// A table, rewritten at each reading where stdout is a terminal
    Text,
    /// A line for each record
    Json,
}

/// One `--select`; nothing for all.
#[derive(Debug, Clone)]
struct Chosen(Option<Who>);

pub(super) fn command() -> Command {
    WatchArgs::augment_args(Command::new(NAME))
        .about("Show what the agent of this node reads, as it comes")
        .after_help(
            "A user sees his own processes in full, and of others what /proc shows to everybody; \
             root sees all. docs/live.md has the records.\n\n\
             Exit status: 0 all was shown, 1 no agent answers or it refuses, 2 usage, 3 the agent \
             has ended.\n\n\
             Examples:\n  \
             plimsoll agent watch\n  \
             plimsoll agent watch --once --top 5 --sort memory\n  \
             plimsoll agent watch --select user:eva --interval 10s\n  \
             plimsoll agent watch --format json --tables exit | jq .comm",
        )
}

pub(super) fn call(matches: &ArgMatches) -> Result<Status> {
    let args = WatchArgs::from_arg_matches(matches)?;
    let is_named = args.socket.is_some();
    let socket = args.socket.unwrap_or_else(|| agent::SOCKET.into());
    let is_json = args.format == FormatWord::Json;
    let from = |name| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
    let wrong = [("top", !is_json), ("sort", !is_json), ("tables", is_json)];
    if let Some((name, _)) = wrong.iter().find(|(name, fits)| !fits && from(name)) {
        let other = if is_json { "text" } else { "json" };
        crate::run::refuse(&anyhow!("--{name} is for --format {other}"));
        return Ok(super::STATUS_USAGE);
    }
    let tables = match (is_json, args.tables.is_empty()) {
        (false, _) => FOR_PEOPLE.to_vec(),
        (true, true) => SERVED.to_vec(),
        (true, false) => args.tables,
    };
    let is_all = args.select.iter().any(|one| one.0.is_none());
    let who = args.select.into_iter().filter_map(|one| one.0);
    let options = Options {
        is_named,
        wish: Wish {
            tables,
            who: if is_all { Vec::new() } else { who.collect() },
            period: args.interval.unwrap_or(Nanos(0)),
        },
        once: args.once,
        format: match args.format {
            FormatWord::Json => Format::Json,
            FormatWord::Text => Format::Text {
                top: args.top,
                sort: args.sort,
            },
        },
        socket,
    };
    match watch::run(&options)? {
        End::Done => Ok(0),
        End::Agent => {
            stderr::line(&format!(
                "plimsoll agent: the agent at {} has ended, or has ended this connection",
                options.socket.display()
            ));
            Ok(STATUS_AGENT_ENDED)
        }
    }
}

fn interval(text: &str) -> Result<Nanos> {
    let parsed = quantity::parse(text, Unit::Nanoseconds).map(Nanos);
    let known = parsed.map_err(|error| anyhow!("{error}"))?;
    match (INTERVAL_MIN..=INTERVAL_MAX).contains(&known) {
        true => Ok(known),
        false => Err(anyhow!("100ms to 1d")),
    }
}

fn select(text: &str) -> Result<Chosen> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    let number = || {
        let number = value.parse::<u32>();
        number.with_context(|| format!("{kind}:N has a number"))
    };
    Ok(Chosen(Some(match (kind, value) {
        ("all", "") => return Ok(Chosen(None)),
        ("pid", _) => Who::Pid(number()?),
        ("uid", _) => Who::Uid(number()?),
        ("user", name) => {
            let uid = name.parse().ok().or_else(|| person::id(name));
            Who::Uid(uid.context("no such user in /etc/passwd: uid:N names one by number")?)
        }
        ("job", id) if !id.is_empty() => Who::Job(id.to_owned()),
        _ => return Err(anyhow!("all, pid:N, user:NAME, uid:N or job:ID")),
    })))
}

fn table(name: &str) -> Result<&'static Table> {
    let names: Vec<&str> = SERVED.iter().map(|table| table.name).collect();
    served(name).with_context(|| format!("one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_chosen_by_what_the_agent_knows() {
        let of = |text| select(text).map(|one| one.0);
        assert_eq!(of("all").unwrap(), None);
        assert_eq!(of("pid:7").unwrap(), Some(Who::Pid(7)));
        assert_eq!(of("user:root").unwrap(), Some(Who::Uid(0)));
        assert_eq!(of("user:65534").unwrap(), Some(Who::Uid(65534)));
        assert_eq!(of("job:7.x").unwrap(), Some(Who::Job("7.x".to_owned())));
        for bad in [
            "",
            "pid:",
            "pid:-1",
            "job:",
            "user:no such user",
            "gid:7",
            "all:x",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tables_and_intervals_are_those_that_there_are() {
        assert!(table("sample").is_ok() && table("descriptor").is_err());
        assert!(interval("100ms").is_ok() && interval("1d").is_ok());
        assert!(interval("99ms").is_err() && interval("x").is_err());
        command().debug_assert();
    }
}
