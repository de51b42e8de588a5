//! Benchmarks: ratios of interleaved pairs, CPU time first. They print and never judge.

mod account;
mod accuracy;
mod agent;
mod bystander;
mod crowd;
mod experiments;
mod keeper;
mod meter;
mod overhead;
mod pairs;
mod person;
mod place;
mod policies;
mod readings;
mod replay;
mod reports;
mod resident;
mod table;
mod trace;
mod ways;
mod workload;

use crate::demo::NODE;
use crate::workspace::Workspace;
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use experiments::Bounds;
use person::Person;
use place::Place;
use std::path::{Path, PathBuf};
use ways::Way;

/// Fewest pairs of which a median means anything.
const PAIRS_MIN: u64 = 7;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Words {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What `plimsoll run` costs a task, for every level and mechanism, beside other tools.
    Run(RunWords),
    /// What 64 idle runs cost a fork storm that belongs to none of them.
    Bystander(PairWords),
    /// What a reading of every process costs `plimsoll agent`, and what the machine loses to it.
    Agent(agent::AgentWords),
    /// The published experiments on monitors of tasks: how far each monitor's numbers are from the
    /// truth, as a table.
    Accuracy(AccuracyWords),
    /// The same experiments: CPU time and wall time with each monitor against the bare program.
    Overhead(SeedWords),
    /// Real tasks once more, each with the request that a policy chooses by those before it: what
    /// each policy wastes, and how many tasks fail at first.
    Advise(replay::ReplayWords),
}

#[derive(Debug, Args)]
struct AccuracyWords {
    #[command(flatten)]
    seeds: SeedWords,
    /// A row for each size of files and buffers; else one for all with the largest error
    #[arg(long)]
    sizes: bool,
}

#[derive(Debug, Args)]
struct SeedWords {
    /// Runs of each case with each monitor; the paper made 5
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    repetitions: u64,
    #[command(flatten)]
    bounds: Bounds,
    /// Only these monitors (repeatable), such as events-bpf or "pegasus-kickstart -z"
    #[arg(long, value_name = "WAY")]
    way: Vec<String>,
    /// Only this user (repeatable), by his name in the tables: root, user, "uid 65534"
    #[arg(long, value_name = "USER")]
    user: Vec<String>,
    /// The binary to measure; else a release build is made
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Write every single run there
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl SeedWords {
    /// The ways that are asked for and run here as this user; with bare if that is asked for.
    fn ways(&self, place: &Place, person: Person, bare: bool) -> Result<Vec<Way>> {
        let mut ways = ways::all(place, person, false)?;
        let wanted = |way: &Way| {
            let column = experiments::COLUMNS.contains(&way.name.as_str());
            column && (self.way.is_empty() || self.way.contains(&way.name))
        };
        ways.retain(|way| (bare && way.name == ways::BARE) || wanted(way));
        Ok(ways)
    }

    fn persons(&self) -> Vec<Person> {
        let wanted = |person: &Person| {
            self.user.is_empty() || self.user.iter().any(|name| name == person.name())
        };
        Person::all().into_iter().filter(wanted).collect()
    }
}

#[derive(Debug, Args)]
struct PairWords {
    /// Pairs of runs for each line of the table
    #[arg(long, value_name = "N", default_value_t = PAIRS_MIN,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pairs: u64,
    /// The binary to measure; else a release build is made
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Write every single run there
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct RunWords {
    #[command(flatten)]
    pairs: PairWords,
    /// Only this workload (repeatable): compute, storm, static-storm, reads, files, make
    #[arg(long, value_name = "WORKLOAD")]
    only: Vec<String>,
    /// Only these ways to watch (repeatable), such as default or events-bpf
    #[arg(long, value_name = "WAY")]
    way: Vec<String>,
    /// Install benchexec from PyPI into a temporary environment and measure its runexec too
    #[arg(long)]
    with_runexec: bool,
}

/// Runs the benchmark that `args` (behind `bench`) asks for, and prints its tables as Markdown.
///
/// # Errors
/// When options are wrong, or a program cannot be built or run.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let name = std::iter::once("bench").map(str::to_owned);
    match Words::try_parse_from(name.chain(args.iter().cloned())) {
        Ok(words) => measure(words.what),
        Err(error) => {
            error.print()?;
            anyhow::ensure!(!error.use_stderr(), "wrong options");
            Ok(())
        }
    }
}

fn measure(what: What) -> Result<()> {
    match what {
        What::Run(words) => costs(&words),
        What::Bystander(words) => {
            let place = place(words.binary.as_deref())?;
            bystander::measure(&place, words.pairs, words.json.as_deref())
        }
        What::Agent(words) => agent::measure(&place(words.binary.as_deref())?, &words),
        What::Accuracy(words) => accuracy::measure(&disk(&words.seeds)?, &words.seeds, words.sizes),
        What::Advise(words) => replay::measure(&words),
        What::Overhead(words) => overhead::measure(&disk(&words)?, &words),
    }
}

/// A place whose files are on a disk.
fn disk(words: &SeedWords) -> Result<Place> {
    let known = |way: &String| experiments::COLUMNS.contains(&way.as_str());
    let ways = words.way.iter().all(known);
    let some = !words.persons().is_empty() && !experiments::cases(&words.bounds).0.is_empty();
    anyhow::ensure!(
        ways && some,
        "no such user or experiment, or no such monitor: {}",
        experiments::COLUMNS.join(", ")
    );
    let place = place(words.binary.as_deref())?;
    let kind = place.file_system()?;
    anyhow::ensure!(
        !["tmpfs", "ramfs"].contains(&kind.as_str()),
        "files would be in memory ({kind}): set TMPDIR to a folder on a disk"
    );
    Ok(place)
}

fn place(binary: Option<&Path>) -> Result<Place> {
    let binary = match binary {
        Some(binary) => binary.to_owned(),
        None => Workspace::find()?.build_release(NODE)?,
    };
    Place::make(&binary)
}

fn costs(words: &RunWords) -> Result<()> {
    let place = place(words.pairs.binary.as_deref())?;
    let mut all = Vec::new();
    println!("{}\n{}", place.facts(), table::HEAD);
    for person in Person::all() {
        let mut ways = ways::all(&place, person, words.with_runexec)?;
        ways.retain(|way| words.way.is_empty() || words.way.contains(&way.name));
        for workload in workload::all(&place, person)? {
            if words.only.is_empty() || words.only.contains(&workload.name) {
                let lines = pairs::measure(&place, person, &workload, &ways, words.pairs.pairs)?;
                // At once: a benchmark that is cut short keeps what it has.
                print!("{}", table::ratios(&lines));
                all.extend(lines);
            }
        }
        all.extend(pairs::fixed(&place, person, &ways, words.pairs.pairs)?);
    }
    println!("\n{}", table::fixed(&all));
    table::write_json(&all, words.pairs.json.as_deref())
}
