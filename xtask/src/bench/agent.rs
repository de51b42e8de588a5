//! `plimsoll agent`: what a reading costs, and what the machine loses to it.

use super::meter;
use super::pairs::{LONG, Line};
use super::person::Person;
use super::place::Place;
use super::resident::agent;
use super::workload::{self, Workload};
use super::{PAIRS_MIN, readings, table};
use crate::step;
use anyhow::{Context, Result};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The workloads that run with and without an agent beside them.
const WORKLOADS: &[&str] = &["storm", "make"];
/// Turns of the ranks that wait for one another, of a millisecond each.
const TURNS: &str = "2000";
/// How long the same work is done again and again, seconds.
const QUANTA_SECS: &str = "10";
/// Once a second.
const HZ: &[&str] = &["--interval=1s"];
/// The upper bounds of `quanta.c`.
const CLASSES: &str = "<= 1 % longer | <= 5 % | <= 10 % | <= 50 % | <= 100 % | more";

#[derive(Debug, Args)]
pub(super) struct AgentWords {
    /// Runs of each line
    #[arg(long, value_name = "N", default_value_t = PAIRS_MIN,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) pairs: u64,
    /// Readings of a run
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(super) readings: u64,
    /// Processes that are there to be read
    #[arg(long, value_name = "N,...", value_delimiter = ',',
          default_values_t = [200, 1000, 5000, 10_000])]
    pub(super) processes: Vec<u64>,
    /// Only what the machine loses
    #[arg(long)]
    only_machine: bool,
    /// Only what a reading costs
    #[arg(long, conflicts_with = "only_machine")]
    only_readings: bool,
    /// The binary to measure; else a release build is made
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
}

/// Measures and prints.
///
/// # Errors
/// When a run fails.
pub(super) fn measure(place: &Place, words: &AgentWords) -> Result<()> {
    println!("{}", place.facts());
    if !words.only_machine {
        println!("{}", readings::HEAD);
        for person in Person::all() {
            readings::measure(place, person, words)?;
        }
        println!();
    }
    if !words.only_readings {
        println!("{}", table::HEAD);
        for workload in workloads(place)? {
            print!("{}", table::ratios(&beside(place, words.pairs, &workload)?));
        }
        quanta(place)?;
    }
    Ok(())
}

fn workloads(place: &Place) -> Result<Vec<Workload>> {
    let mut all = workload::all(place, Person::Own)?;
    all.retain(|workload| WORKLOADS.contains(&workload.name.as_str()));
    match step::find_program("mpicc") {
        Some(mpicc) => all.push(barrier(place, mpicc)?),
        None => eprintln!("agent: no mpicc: ranks that wait for one another are left out"),
    }
    Ok(all)
}

/// Two ranks that wait for one another at each turn.
fn barrier(place: &Place, mpicc: PathBuf) -> Result<Workload> {
    let (source, program) = (place.file("barrier.c"), place.file("barrier"));
    std::fs::write(&source, include_str!("c/barrier.c"))?;
    step::read(
        Command::new(mpicc)
            .args(["-O2", "-o"])
            .args([&program, &source]),
    )?;
    let mut command = vec![OsString::from("mpirun")];
    let options = ["--oversubscribe", "--allow-run-as-root", "-n", "2"];
    command.extend(options.map(OsString::from));
    command.extend([program.into_os_string(), TURNS.into()]);
    Ok(Workload {
        name: "barrier".to_owned(),
        command,
        folder: place.home(Person::Own),
    })
}

/// Pairs of a workload without and with an agent at 1 Hz, and without and without.
fn beside(place: &Place, pairs: u64, workload: &Workload) -> Result<Vec<Line>> {
    let run = || {
        meter::run(
            place,
            Person::Own,
            &workload.folder,
            LONG,
            &workload.command,
        )
    };
    let line = |way: &str| Line {
        person: Person::Own.name(),
        workload: Some(workload.name.clone()),
        way: way.to_owned(),
        pairs: Vec::new(),
    };
    let (mut again, mut watched) = (line("bare again"), line("beside an agent at 1 Hz"));
    run()?;
    for turn in 0..pairs {
        let bare = run()?;
        let agent = agent(place, Person::Own, HZ)?;
        let with = run();
        drop(agent);
        watched.pairs.push((bare, with?));
        again.pairs.push((bare, run()?));
        eprintln!("{}: pair {} of {pairs}", workload.name, turn + 1);
    }
    Ok(vec![again, watched])
}

/// How much longer the same work takes, off and on.
fn quanta(place: &Place) -> Result<()> {
    println!("\n| the same work for {QUANTA_SECS} s | shortest us | {CLASSES} |");
    println!("|---|---|---|---|---|---|---|---|");
    let row = |name: &str| -> Result<()> {
        let text = step::read(Command::new(place.file("quanta")).arg(QUANTA_SECS))?;
        let mut numbers = text.split_whitespace();
        let shortest: f64 = numbers.next().context("a figure")?.parse()?;
        let counts: Vec<_> = numbers.collect();
        println!(
            "| {name} | {:.0} | {} |",
            shortest / 1e3,
            counts.join(" | ")
        );
        Ok(())
    };
    row("alone")?;
    let agent = agent(place, Person::Own, HZ)?;
    row("beside an agent at 1 Hz")?;
    drop(agent);
    row("alone again")
}
