//! `cargo xtask bench advise`: real tasks once more, each asking for what a policy chooses by those
//! before it.

use super::policies::{GRAIN, POLICIES, Policy, Row};
use super::trace::{self, Kind, Task};
use crate::workspace::Workspace;
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where records are looked for when none are named, from the root of the workspace.
const DATA: &str = "../shared/data";

const FILES: &[&str] = &["metaspades.csv.gz", "wfinstances.csv.gz"];

/// No first request is above what a machine has, unless a task of that kind needs more.
const NODE: u64 = 1_024_000_000_000;

#[derive(Debug, Args)]
pub(super) struct ReplayWords {
    /// Records of tasks to replay, CSV or CSV packed with gzip (repeatable)
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Replay the tasks of each kind in a random order, the same for the same number: of records
    /// without times nobody knows the true one
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
    /// For whom to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Table)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, as Markdown
    Table,
    /// An object for each policy
    Json,
}

/// What a policy did with some tasks.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    tasks: u64,
    failed: u64,
    /// In bytes times seconds.
    waste: f64,
    spent: Duration,
}

impl Outcome {
    fn add(&mut self, other: &Outcome) {
        self.tasks += other.tasks;
        self.failed += other.failed;
        self.waste += other.waste;
        self.spent += other.spent;
    }

    fn waste_gbh(&self) -> f64 {
        self.waste / 1e9 / 3600.0
    }

    fn failed_percent(&self) -> f64 {
        100.0 * self.failed as f64 / self.tasks.max(1) as f64
    }

    fn us_per_decision(&self) -> f64 {
        self.spent.as_secs_f64() * 1e6 / self.tasks.max(1) as f64
    }
}

/// Replays the records with every policy and prints what each wasted.
///
/// # Errors
/// When there are no records, or they cannot be read.
pub(super) fn measure(words: &ReplayWords) -> Result<()> {
    let mut kinds = trace::read(&files(&words.data)?)?;
    for kind in &mut kinds {
        if let Some(seed) = words.shuffle {
            kind.shuffle(seed);
        }
    }
    // Apart only from others.
    let others = kinds.iter().any(|kind| !kind.apart);
    for kind in &mut kinds {
        kind.apart &= others;
    }
    let rows: Vec<(&Row, Outcome, Outcome)> = POLICIES
        .iter()
        .map(|row| {
            let [rest, apart] = [false, true].map(|apart| total(row, &kinds, apart));
            (row, rest, apart)
        })
        .collect();
    match words.format {
        Format::Table => table(&rows),
        Format::Json => lines(&rows),
    }
    Ok(())
}

fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let folder = Workspace::find()?.root.join(DATA);
    let found: Vec<PathBuf> = FILES.iter().map(|name| folder.join(name)).collect();
    let found: Vec<PathBuf> = found.into_iter().filter(|file| file.is_file()).collect();
    anyhow::ensure!(
        !found.is_empty(),
        "no records to replay in {DATA}: name some with --data FILE"
    );
    Ok(found)
}

fn total(row: &Row, kinds: &[Kind], apart: bool) -> Outcome {
    let mut total = Outcome::default();
    for kind in kinds.iter().filter(|kind| kind.apart == apart) {
        total.add(&replay((row.make)().as_mut(), kind));
    }
    total
}

fn replay(policy: &mut dyn Policy, kind: &Kind) -> Outcome {
    let mut outcome = Outcome::default();
    let request = kind.request();
    let node = NODE.max(request);
    for task in &kind.tasks {
        let before = Instant::now();
        let first = policy.first(task);
        outcome.spent += before.elapsed();
        let own = task.request.map_or(request, |request| request.0);
        let first = round(first.unwrap_or(own as f64)).min(node);
        let waste = run(policy, task, first);
        outcome.tasks += 1;
        outcome.failed += u64::from(first < task.peak.0);
        outcome.waste += waste;
        let before = Instant::now();
        policy.learn(task);
        outcome.spent += before.elapsed();
    }
    outcome
}

/// What a task wasted that was run until it had enough.
fn run(policy: &dyn Policy, task: &Task, first: u64) -> f64 {
    let (mut request, mut waste) = (first, 0.0);
    let seconds = task.wall.as_secs_f64();
    while request < task.peak.0 {
        waste += request as f64 * seconds;
        request = round(policy.next(request, task)).max(request.saturating_add(GRAIN));
    }
    waste + (request - task.peak.0) as f64 * seconds
}

/// In whole grains, at least one.
fn round(request: f64) -> u64 {
    let grains = (request / GRAIN as f64 * (1.0 - 1e-12)).ceil() as u64;
    grains.max(1).saturating_mul(GRAIN)
}

fn table(rows: &[(&Row, Outcome, Outcome)]) {
    println!(
        "| policy | waste GB.h | failed once | tasks | us a decision \
         | metaSPAdes GB.h | failed once |\n|---|---|---|---|---|---|---|"
    );
    for (row, rest, apart) in rows {
        println!(
            "| {} | {:.1} | {:.2} % | {} | {:.1} | {:.0} | {:.2} % |",
            row.name,
            rest.waste_gbh(),
            rest.failed_percent(),
            rest.tasks,
            rest.us_per_decision(),
            apart.waste_gbh(),
            apart.failed_percent(),
        );
    }
}

fn lines(rows: &[(&Row, Outcome, Outcome)]) {
    for (row, rest, apart) in rows {
        let mut line = json!({
            "policy": row.name,
            "waste_gbh": rest.waste_gbh(),
            "failed_percent": rest.failed_percent(),
            "tasks": rest.tasks,
            "us_per_decision": rest.us_per_decision(),
        });
        if let Some(fields) = line.as_object_mut().filter(|_| apart.tasks > 0) {
            fields.insert("metaspades_waste_gbh".into(), json!(apart.waste_gbh()));
            fields.insert(
                "metaspades_failed_percent".into(),
                json!(apart.failed_percent()),
            );
            fields.insert("metaspades_tasks".into(), json!(apart.tasks));
        }
        println!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::unit::{Bytes, Nanos};

    fn kind(peaks: &[u64]) -> Kind {
        let task = |peak: &u64| Task {
            peak: Bytes(peak * 1_000_000_000),
            wall: Nanos::from_secs(3600),
            ..Task::default()
        };
        Kind {
            apart: false,
            tasks: peaks.iter().map(task).collect(),
        }
    }

    fn outcome(name: &str, kind: &Kind) -> (f64, u64) {
        let row = POLICIES.iter().find(|row| row.name == name).unwrap();
        let outcome = replay((row.make)().as_mut(), kind);
        (outcome.waste_gbh(), outcome.failed)
    }

    #[test]
    fn a_failure_is_charged_in_full() {
        // The user asks for 32 GB; 16 GB are doubled for the last.
        let kind = kind(&[16, 16, 32]);
        assert_eq!(outcome("user", &kind), (32.0, 0));
        assert_eq!(outcome("max-seen", &kind), (16.0 + 16.0, 1));
        let (waste, failed) = outcome("tovar", &kind);
        assert_eq!((waste.round(), failed), (32.0, 1));
    }

    #[test]
    fn every_policy_comes_to_an_end() {
        let kind = kind(&[1, 7, 0, 3, 1000, 2, 2, 5000]);
        for row in POLICIES {
            let (waste, _) = outcome(row.name, &kind);
            assert!(waste.is_finite() && waste >= 0.0, "{}", row.name);
        }
    }
}
