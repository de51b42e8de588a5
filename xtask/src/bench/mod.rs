//! Benchmarks: ratios of interleaved pairs, CPU time first. They print and never judge.

mod bystander;
mod meter;
mod pairs;
mod person;
mod place;
mod table;
mod ways;
mod workload;

use crate::workspace::Workspace;
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use person::Person;
use place::Place;
use std::path::PathBuf;

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
            let place = place(&words)?;
            bystander::measure(&place, words.pairs, words.json.as_deref())
        }
    }
}

fn place(words: &PairWords) -> Result<Place> {
    let binary = match &words.binary {
        Some(binary) => binary.clone(),
        None => Workspace::find()?.build_release(&[])?,
    };
    Place::make(&binary)
}

fn costs(words: &RunWords) -> Result<()> {
    let place = place(&words.pairs)?;
    let mut all = Vec::new();
    println!("{}\n{}", place.facts(), table::HEAD);
    for person in Person::all() {
        let mut ways = ways::all(&place, person, words.with_runexec)?;
        ways.retain(|way| words.way.is_empty() || words.way.contains(&way.name));
        for workload in workload::all(&place, person)? {
            if words.only.is_empty() || words.only.iter().any(|name| name == workload.name) {
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
