//! `plimsoll agent`: every process of this node into a dataset.

#[cfg(feature = "dataset")]
use super::compact::KeepArgs;
#[cfg(feature = "dataset")]
use super::import;
use super::settings::{self, comment};
use super::{STATUS_FAILURE, STATUS_USAGE, Status, Verb, explain, named_file, watch};
use crate::agent::detail::Wishes;
use crate::agent::names::Outside;
use crate::agent::pace::Young;
use crate::agent::reload::{File, Settings};
use crate::agent::{self, Mechanism, Options, Upkeep, cpus, gpu, metrics, select};
use crate::view::stdout;
use anyhow::{Context, Result, anyhow};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use record::quantity;
use record::unit::{Nanos, Unit};
use source::follow::select::Wanted;
use std::path::{Path, PathBuf};
use sys::affinity::Cpus;

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
/// The shortest time between two looks at what processes have open.
const DESCRIPTORS_MIN: Nanos = Nanos::from_secs(1);
/// An identifier has so many bytes, at most.
const LABEL_BYTES_MAX: usize = 255;
/// Jobs that have series of their own, at most.
const METRICS_JOBS_MAX: usize = 10_000;
/// The shortest time between two compactions.
#[cfg(feature = "dataset")]
const COMPACT_MIN: Nanos = Nanos::from_secs(1);

#[derive(Debug, Args)]
struct AgentArgs {
    /// The folder of the dataset; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
    /// The time between two readings, 100ms to 1h, at whole intervals of the time of day
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = interval)]
    interval: Nanos,
    /// Read so long after each whole interval of the time of day
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = offset)]
    offset: Nanos,
    /// In a job's first minute read its processes this often, where the interval is longer; or
    /// `off`: as all others
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = young)]
    young: Looks,
    /// How long a job's first minute lasts
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = time, hide = true)]
    young_age: Nanos,
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
    /// File processes outside of any job under this identifier, such as LOGIN or MOM
    #[arg(long, value_name = "TEXT", value_parser = label)]
    identifier: Option<String>,
    /// And under this subidentifier
    #[arg(long, value_name = "TEXT", value_parser = label, requires = "identifier")]
    subidentifier: Option<String>,
    /// Look at what processes have open this often, or `off`
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = descriptors)]
    descriptors: Looks,
    /// Whether memory is weighed, each page divided by its users: auto, of processes up to 256 MiB
    /// and within a thousandth of one CPU or a quarter of the budget, or off
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pss: Weigh,
    /// Variables of the environment of processes that are kept
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = variable)]
    environment: Vec<String>,
    /// Turn what was recorded into Parquet this often; `never` leaves that to `plimsoll compact`
    #[cfg(feature = "dataset")]
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = every)]
    compact: Every,
    #[cfg(feature = "dataset")]
    #[command(flatten)]
    keep: KeepArgs,
    /// Listen at PATH, usually /run/plimsoll/agent.sock: lend the in-kernel programs to the users
    /// of this node, whose `plimsoll run` is exact then without privilege, and tell them live
    /// records (`plimsoll agent watch`)
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Tell Prometheus and its like what the last reading adds up to, at ADDRESS of this machine:
    /// 127.0.0.1:PORT, [::1]:PORT or the path of a Unix socket
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::parse)]
    metrics: Option<metrics::Address>,
    /// So many jobs have series of their own there; the others are added up
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = metrics_jobs)]
    metrics_jobs: usize,
    /// Whether devices of NVIDIA are read, by the library of their driver: auto, where there is
    /// one; on, in any case; or off
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    gpu: gpu::When,
    /// A driver that does not answer within this time hangs
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time, hide = true)]
    gpu_patience: Nanos,
    /// How to read the processes: bpf where it works, else procfs
    #[arg(long, value_enum, value_name = "NAME")]
    mechanism: Option<Mechanism>,
    /// Run on these CPUs alone, such as 0-3,8
    #[arg(long, value_name = "LIST", value_parser = cpus::parse)]
    cpus: Option<Cpus>,
    /// Take what the command line does not say from this file of settings, again at each SIGHUP
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print such a file: the settings that would count now, each with what it means
    #[arg(long)]
    print_config: bool,
}

fn command() -> Command {
    let command = agent_command();
    #[cfg(feature = "dataset")]
    let command = command.subcommand(import::command());
    command
}

fn agent_command() -> Command {
    AgentArgs::augment_args(Command::new("agent"))
        .about("Record every process of this node in a dataset")
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .disable_help_subcommand(true)
        .subcommand(explain::command())
        .subcommand(watch::command())
        .after_help(
            "In the foreground, until SIGTERM, SIGINT or the duration end it; SIGHUP too, where no \
             --config is given.\n\nExamples:\n  \
             plimsoll agent --dataset /var/lib/plimsoll --interval 10s\n  \
             plimsoll agent --dataset d --interval 1s --duration 30s && plimsoll compact d\n  \
             plimsoll agent --print-config > agent.toml\n  \
             plimsoll agent --config agent.toml\n  \
             plimsoll agent explain 4711\n  \
             plimsoll agent watch",
        )
}

fn call(matches: &ArgMatches) -> Result<Status> {
    match matches.subcommand() {
        Some((explain::NAME, inner)) => return explain::call(inner),
        Some((watch::NAME, inner)) => return watch::call(inner),
        #[cfg(feature = "dataset")]
        Some((import::NAME, inner)) => return import::call(inner),
        _ => {}
    }
    let path = matches.get_one::<PathBuf>("config").cloned();
    let settled = match settle(matches, path.as_deref()) {
        Ok(settled) => settled,
        Err(error) => return Ok(refused(&error)),
    };
    if matches.get_flag("print_config") {
        let text = comment(PREAMBLE) + "\n" + &settings::print(&command(), &settled)?;
        return stdout::write(text.as_bytes());
    }
    let now = match read(&settled) {
        Ok(now) => now,
        Err(error) => return Ok(refused(&error)),
    };
    let file = path.map(|path| {
        let (given, of) = (matches.clone(), path.clone());
        let read = Box::new(move || read(&settle(&given, Some(&of))?));
        File { path, read }
    });
    agent::run(now, file)?;
    Ok(0)
}

/// What a printed file begins with.
const PREAMBLE: &str = "Settings of `plimsoll agent --config FILE`. An option of the command line \
    wins over its key here. At SIGHUP the file is read again: one that is wrong is refused as a \
    whole, and the agent says what changes.";

fn refused(error: &anyhow::Error) -> Status {
    crate::run::refuse(error);
    STATUS_USAGE
}

/// The command line with what the file says beside it.
fn settle(given: &ArgMatches, file: Option<&Path>) -> Result<ArgMatches> {
    let Some(path) = file else {
        return Ok(given.clone());
    };
    let of = || path.display().to_string();
    let text = named_file::text_of(path).with_context(of)?;
    settings::merge(&command(), given, &text).with_context(of)
}

/// The options of a settled command line.
fn read(settled: &ArgMatches) -> Result<Settings> {
    let values = settings::values(&command(), settled);
    let args = AgentArgs::from_arg_matches(settled)?;
    let missing = "which dataset? --dataset DIR says so, or `dataset` in the file of --config";
    let options = Options {
        dataset: args.dataset.context(missing)?,
        interval: args.interval,
        offset: args.offset,
        young: args.young.0.map(|every| Young {
            every,
            age: args.young_age,
        }),
        budget: args.budget,
        duration: args.duration,
        socket: args.socket,
        metrics: args.metrics.map(|address| metrics::Wish {
            address,
            jobs: args.metrics_jobs,
        }),
        gpu: gpu::Wish {
            when: args.gpu,
            patience: args.gpu_patience,
        },
        mechanism: args.mechanism,
        wanted: args.select,
        outside: args.identifier.map(|identifier| Outside {
            identifier,
            subidentifier: args.subidentifier,
        }),
        wishes: Wishes {
            descriptors: args.descriptors.0,
            weighs: args.pss == Weigh::Auto,
            variables: args.environment,
        },
        upkeep: Upkeep {
            #[cfg(feature = "dataset")]
            every: args.compact.0,
            #[cfg(feature = "dataset")]
            keep: args.keep.keep(),
        },
        cpus: args.cpus,
    };
    Ok(Settings { options, values })
}

fn interval(text: &str) -> Result<Nanos> {
    let interval = time(text)?;
    match (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        true => Ok(interval),
        false => Err(anyhow!("100ms to 1h")),
    }
}

fn metrics_jobs(text: &str) -> Result<usize> {
    let known = text.parse().ok().filter(|jobs| *jobs <= METRICS_JOBS_MAX);
    known.with_context(|| format!("a number up to {METRICS_JOBS_MAX}"))
}

/// How often; nothing for never.
#[derive(Debug, Clone, Copy)]
struct Looks(Option<Nanos>);

fn descriptors(text: &str) -> Result<Looks> {
    if text == "off" {
        return Ok(Looks(None));
    }
    let every = time(text)?;
    match every >= DESCRIPTORS_MIN {
        true => Ok(Looks(Some(every))),
        false => Err(anyhow!("1s or more, or off")),
    }
}

fn young(text: &str) -> Result<Looks> {
    match text {
        "off" => Ok(Looks(None)),
        _ => Ok(Looks(Some(interval(text).context("or off")?))),
    }
}

/// When memory is weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Weigh {
    /// Where that costs little
    Auto,
    /// Never
    Off,
}

fn label(text: &str) -> Result<String> {
    match text.is_empty() || text.contains(char::is_control) || text.len() > LABEL_BYTES_MAX {
        true => Err(anyhow!(
            "a text of 1 to {LABEL_BYTES_MAX} bytes in one line"
        )),
        false => Ok(text.to_owned()),
    }
}

fn variable(text: &str) -> Result<String> {
    match text.is_empty() || text.contains('=') {
        true => Err(anyhow!("the name of a variable")),
        false => Ok(text.to_owned()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(words: &[&str], text: Option<&str>) -> Result<ArgMatches> {
        let words = ["agent"].iter().chain(words);
        let given = command().try_get_matches_from(words)?;
        text.map_or(Ok(given.clone()), |text| {
            settings::merge(&command(), &given, text)
        })
    }

    #[test]
    fn the_printed_defaults_are_the_defaults() {
        let none = settled(&[], None).unwrap();
        let text = settings::print(&command(), &none).unwrap();
        let again = settled(&[], Some(&text)).unwrap();
        let values = |matches| settings::values(&command(), matches);
        assert_eq!(values(&again), values(&none));
        // Each key has its comment.
        for paragraph in text.trim_end().split("\n\n") {
            let lines: Vec<_> = paragraph.lines().collect();
            let (key, comments) = lines.split_last().unwrap();
            assert!(key.trim_start_matches("# ").contains(" = "), "{paragraph}");
            assert!(!comments.is_empty(), "{paragraph}");
        }
    }

    #[test]
    fn a_dataset_comes_from_the_file_or_the_command_line() {
        let of = |words: &[&str], text| {
            let settled = settled(words, Some(text)).unwrap();
            read(&settled).map(|settings| settings.options.dataset)
        };
        assert_eq!(of(&[], "dataset = \"a\"").unwrap(), Path::new("a"));
        let both = of(&["--dataset", "b"], "dataset = \"a\"");
        assert_eq!(both.unwrap(), Path::new("b"));
        assert!(of(&[], "").is_err());
    }
}
