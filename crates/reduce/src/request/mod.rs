//! A request as it is written for a scheduler or a workflow system. One file a target.

mod htcondor;
mod kubernetes;
mod nextflow;
mod plimsoll;
mod slurm;
mod snakemake;
mod words;

use crate::why::{Change, Why};
use record::report::Report;
use serde::Serialize;

/// One scheduler or workflow system.
#[derive(Debug)]
pub struct Target {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// Where its lines belong, for people.
    pub place: &'static str,
    /// Its lines for these amounts; what it has no word for is left out.
    pub write: fn(&[Ask]) -> Vec<String>,
}

/// Every target; the last one is taken where nothing else is known.
pub const TARGETS: &[Target] = &[
    slurm::TARGET,
    htcondor::TARGET,
    nextflow::TARGET,
    snakemake::TARGET,
    kubernetes::TARGET,
    plimsoll::TARGET,
];

/// How much of one resource to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Its name, as in `request` of a report.
    pub resource: String,
    /// How much: bytes, nanoseconds, or a count, in the unit of the resource.
    pub amount: u64,
    /// For so many CPUs together, where the amount was asked for by CPU.
    pub by_cpu: Option<u64>,
    /// More than was asked for before, so that the next attempt may need more again.
    pub is_retry: bool,
    /// What to ask for after each failure, where that is known; else twice as much each time.
    pub ladder: Vec<u64>,
}

impl Ask {
    /// What to ask for at each of so many attempts; of fewer where no more may be asked for then.
    pub(crate) fn rungs(&self, attempts: usize) -> Vec<u64> {
        let mut next = self.ladder.iter().copied();
        let is_known = !self.ladder.is_empty();
        let after = |rung: &u64| match is_known {
            true => next.next(),
            false => Some(rung.saturating_mul(2)),
        };
        std::iter::successors(Some(self.amount), after)
            .take(attempts)
            .collect()
    }
}

/// Lines for one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paste {
    /// The name of the target.
    pub target: &'static str,
    /// Where they belong.
    pub place: &'static str,
    /// The lines.
    pub lines: Vec<String>,
}

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// `plimsoll run` itself.
pub const fn own() -> &'static Target {
    &plimsoll::TARGET
}

/// The target of the scheduler that the report names; `plimsoll run` itself where there is none.
pub fn target_of(report: &Report) -> &'static Target {
    let scheduler = report.task.job.scheduler.as_deref();
    scheduler.and_then(target).unwrap_or(&plimsoll::TARGET)
}

/// What is to be pasted for `target`, and for `plimsoll run` where its own limits were in the way.
pub fn pastes(report: &Report, why: &Why, target: &Target) -> Vec<Paste> {
    let changes = why.requests();
    let is_own = target.name == plimsoll::TARGET.name;
    let mine: Vec<Ask> = changes
        .iter()
        .filter(|change| is_own || is_for_scheduler(report, change))
        .map(|change| ask(report, change))
        .collect();
    let own: Vec<Ask> = changes
        .iter()
        .filter(|change| change.own_limit && !is_own)
        .map(|change| ask(report, change))
        .collect();
    [(target, mine), (&plimsoll::TARGET, own)]
        .into_iter()
        .map(|(target, asks)| Paste {
            target: target.name,
            place: target.place,
            lines: (target.write)(&asks),
        })
        .filter(|paste| !paste.lines.is_empty())
        .collect()
}

/// A limit of our own is the scheduler's affair only where it may allow less than that.
fn is_for_scheduler(report: &Report, change: &Change) -> bool {
    if !change.own_limit {
        return true;
    }
    let allowed = report.allocation.get(&change.resource);
    let from_group = allowed.filter(|claim| claim.source.starts_with("/sys/"));
    let enough = from_group.is_some_and(|claim| claim.value.as_f64() >= change.to.as_f64());
    change.resource != "cores" && !enough
}

fn ask(report: &Report, change: &Change) -> Ask {
    let source = change.from_source.as_deref().unwrap_or_default();
    let cpus = report
        .request
        .get("cores")
        .map(|claim| claim.value.as_f64() as u64);
    let from = change.from.map(|from| from.as_f64());
    Ask {
        resource: change.resource.clone(),
        amount: change.to.as_f64() as u64,
        by_cpu: cpus.filter(|cpus| source.contains("PER_CPU") && *cpus > 0),
        is_retry: from.is_some_and(|from| change.to.as_f64() > from),
        ladder: Vec::new(),
    }
}
