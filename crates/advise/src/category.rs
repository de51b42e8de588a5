//! The history of one kind of task: memory, disk, cores and time together.

use crate::advice::{Advice, Basis, Question};
use crate::history::History;
use crate::past::{Past, Run};
use crate::plan::Plan;
use crate::settings::{Settings, Share};
use crate::spread::Spread;
use crate::warning::{self, Warning};
use record::limit::Resource;
use record::unit::{Bytes, Nanos};
use record::value::Method;
use std::sync::Arc;

/// Memory and disk are asked for in multiples of this, in bytes.
pub const GRAIN_BYTES: u64 = 64_000_000;

/// Cores are asked for whole; in thousandths.
const GRAIN_CORES: u64 = 1000;

/// Less than this of a core more is none, in thousandths.
const SPARE_CORES: f64 = 100.0;

/// Time is asked for in whole minutes, in ns.
const GRAIN_WALL: u64 = 60_000_000_000;

/// Rules are compared over so many of the last runs of a history that is read at once: what is
/// before would count less than a fiftieth.
const COMPARED: usize = 800;

/// The longest run so many times: the same task varied by 29 % between hosts.
const LONGEST: f64 = 1.5;

/// A peak, with what is known of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// In the unit of the resource; cores in thousandths.
    pub value: u64,
    /// How it was had.
    pub method: Option<Method>,
    /// It has page cache in it that could have been reclaimed.
    pub cache: bool,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ended {
    /// By itself, as it should.
    #[default]
    Finished,
    /// Because it came to a limit, in the unit of the resource. A status of 137 alone is no proof
    /// of that.
    Limit {
        /// Of what.
        resource: Resource,
        /// How much it was allowed.
        limit: u64,
    },
    /// Otherwise: nothing is learned of it.
    Failed,
}

/// An attempt of a task, as an archive has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attempt {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub wall: Nanos,
    /// When it ended, since 1970.
    pub at: Option<Nanos>,
    /// The class of its host.
    pub host: Option<Arc<str>>,
    /// The size of its input, where that was known before.
    pub input: Option<Bytes>,
    /// Memory without reclaimable cache, in bytes.
    pub memory: Option<Peak>,
    /// Disk space, in bytes.
    pub disk: Option<Peak>,
    /// CPU time over wall time, in thousandths of a core.
    pub cores: Option<Peak>,
}

/// What is known of one kind of task: a category that its user gives it, or its executable with the
/// form of its arguments, and its container image.
#[derive(Debug, Clone)]
pub struct Category {
    memory: History,
    disk: History,
    cores: Past,
    wall: Past,
}

/// How each resource is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Of memory, in bytes.
    pub memory: Settings,
    /// Of disk space, in bytes.
    pub disk: Settings,
    /// Of cores, in thousandths.
    pub cores: Settings,
    /// Of time, in ns.
    pub wall: Settings,
}

impl Default for Terms {
    /// Memory and disk in multiples of 64 MB, whole cores, whole minutes, without a bound.
    fn default() -> Self {
        Self {
            memory: Settings::new(GRAIN_BYTES),
            disk: Settings::new(GRAIN_BYTES),
            cores: Settings::new(GRAIN_CORES),
            wall: Settings::new(GRAIN_WALL),
        }
    }
}

impl Category {
    /// Without attempts yet.
    pub fn new(terms: &Terms) -> Self {
        Self {
            memory: History::new(terms.memory),
            disk: History::new(terms.disk),
            cores: Past::new(terms.cores),
            wall: Past::new(terms.wall),
        }
    }

    /// Takes in an attempt, the oldest first.
    pub fn learn(&mut self, attempt: &Attempt) {
        self.take(attempt, History::learn);
    }

    /// Takes in a history, the oldest first: as [`Category::learn`] of each, but that rules are
    /// compared over the last 800 attempts alone.
    pub fn learn_all(&mut self, attempts: &[Attempt]) {
        let compared = attempts.len().saturating_sub(COMPARED);
        for (place, attempt) in attempts.iter().enumerate() {
            let how = match place < compared {
                true => History::remember,
                false => History::learn,
            };
            self.take(attempt, how);
        }
        self.memory.settle();
        self.disk.settle();
    }

    fn take(&mut self, attempt: &Attempt, how: fn(&mut History, Run)) {
        match attempt.ended {
            Ended::Finished => self.take_finished(attempt, how),
            Ended::Limit { resource, limit } => match resource {
                Resource::Memory | Resource::Rss => self.memory.learn_killed(limit),
                Resource::Footprint => self.disk.learn_killed(limit),
                Resource::Wall => self.wall.add_killed(limit),
                _ => {}
            },
            Ended::Failed => {}
        }
    }

    fn take_finished(&mut self, attempt: &Attempt, how: fn(&mut History, Run)) {
        let run = |peak: Peak| Run {
            value: peak.value,
            wall: attempt.wall,
            input: attempt.input,
            at: attempt.at,
            host: attempt.host.clone(),
            method: peak.method,
            cache: peak.cache,
        };
        if let Some(peak) = attempt.memory {
            how(&mut self.memory, run(peak));
        }
        if let Some(peak) = attempt.disk {
            how(&mut self.disk, run(peak));
        }
        if let Some(peak) = attempt.cores {
            self.cores.add(run(peak));
        }
        self.wall.add(run(Peak {
            value: attempt.wall.0,
            method: None,
            cache: false,
        }));
    }

    /// Advice on memory; `question.request` is in bytes.
    pub fn memory(&self, question: &Question, sibling: Option<&Category>) -> Advice {
        let sibling = sibling.map(|it| &it.memory);
        self.memory.advise(Resource::Memory, question, sibling)
    }

    /// Advice on disk space; `question.request` is in bytes.
    pub fn disk(&self, question: &Question, sibling: Option<&Category>) -> Advice {
        let sibling = sibling.map(|it| &it.disk);
        self.disk.advise(Resource::Footprint, question, sibling)
    }

    /// Advice on cores, in thousandths. With too few a task is slower and does not fail, so there
    /// is no ladder: as many as 95 of 100 runs kept busy on average, of a further one at least a
    /// tenth.
    pub fn cores(&self, question: &Question) -> Advice {
        let share = Share::of(95.0, 100.0);
        let busy = spread(&self.cores).quantile(share);
        let first = busy.map(|busy| busy - SPARE_CORES);
        let basis = Basis::Quantile(share);
        let mut advice = simple(Resource::Cores, &self.cores, question, first, basis);
        advice.ladder.truncate(1);
        advice.plan = None;
        advice
    }

    /// Advice on elapsed time, in ns: the longest run on hosts of this class one and a half times,
    /// for times do not go over from one host to another.
    pub fn wall(&self, question: &Question) -> Advice {
        let host = question.host.as_deref();
        let runs = self.wall.runs.iter();
        let there = runs.filter(|run| host.is_some() && run.host.as_deref() == host);
        let there = Past {
            runs: there.cloned().collect(),
            ..self.wall.clone()
        };
        let other = there.runs.is_empty();
        let past = if other { &self.wall } else { &there };
        let first = past.max().map(|max| LONGEST * max as f64);
        let basis = Basis::Longest(LONGEST);
        let mut advice = simple(Resource::Wall, past, question, first, basis);
        if first.is_some() && host.is_some() && other {
            advice.warnings.push(Warning::OtherHosts);
        }
        advice
    }
}

fn spread(past: &Past) -> Spread {
    let values = past.runs.iter().map(|run| (run.value as f64, run.weight()));
    Spread::of_values(values)
}

/// Advice without a rule that learns: `first`, doubled after each failure.
fn simple(
    resource: Resource,
    past: &Past,
    question: &Question,
    first: Option<f64>,
    basis: Basis,
) -> Advice {
    let spread = spread(past);
    let mut advice = Advice::without(resource, past, &spread, question);
    if let Some(first) = first.map(|first| past.settings.request(first)) {
        let (held, _) = spread.at_most(first as f64);
        advice.follow(basis, Plan::doubling(first, &past.settings), &past.settings);
        advice.retries = Some(Share::of(spread.count() - held, spread.count()));
        advice.warnings = warning::of_runs(past);
    }
    advice
}
