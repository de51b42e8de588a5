//! Limits against the state of a task: what is broken, what only looks so.

use crate::live::{Basis, Live};
use crate::window::SECOND;
use record::limit::{Limit, Resource};
use record::report::Usage;
use record::unit::Nanos;
use record::value::{Method, Number};

/// How sure a verdict is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The limit is broken.
    Broken,
    /// The sum of resident sets is above a limit of memory: read the proportional set sizes and
    /// check again before anything is done.
    Alarm,
}

/// A limit and a value above it.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The limit.
    pub limit: Limit,
    /// The value in the base unit of the resource; cores in cores.
    pub value: f64,
    /// When it was seen.
    pub at: Nanos,
    /// The process with the largest part in it, if one can be named.
    pub pid: Option<u32>,
    /// Its command line.
    pub process: Option<String>,
    /// How sure it is.
    pub certainty: Certainty,
    /// What the value rests on, for limits of memory.
    pub basis: Option<Basis>,
}

/// A peak above its limit that was found only at the end; nothing was enforced.
#[derive(Debug, Clone, PartialEq)]
pub struct LateFinding {
    /// The limit.
    pub limit: Limit,
    /// The peak in the base unit of the resource; cores in cores.
    pub value: f64,
    /// When it was reached, since the start, if known.
    pub at_ns: Option<Nanos>,
    /// Where it comes from.
    pub source: String,
}

/// The limits of a task.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    limits: Vec<Limit>,
}

impl Limits {
    /// The limits given; one a resource, which the caller has checked.
    pub fn new(limits: Vec<Limit>) -> Self {
        Self { limits }
    }

    /// The limits.
    pub fn list(&self) -> &[Limit] {
        &self.limits
    }

    /// The limit of `resource`, if there is one.
    pub fn get(&self, resource: Resource) -> Option<Limit> {
        self.limits.iter().copied().find(|l| l.resource == resource)
    }

    /// When the limit of elapsed time is reached by a task that began at `start`.
    pub fn next_wall_deadline(&self, start: Nanos) -> Option<Nanos> {
        let wall = self.get(Resource::Wall)?;
        Some(start.plus(Nanos(wall.value)))
    }

    /// Every limit that `live` breaks, or seems to.
    pub fn check(&self, live: &Live) -> Vec<Verdict> {
        let verdicts = self.limits.iter();
        verdicts.filter_map(|limit| verdict(limit, live)).collect()
    }

    /// Limits that the peaks of the whole run exceed. What the truth may be below of is left out.
    pub fn check_final(&self, usage: &Usage) -> Vec<LateFinding> {
        let findings = self.limits.iter();
        findings.filter_map(|limit| late(limit, usage)).collect()
    }
}

fn verdict(limit: &Limit, live: &Live) -> Option<Verdict> {
    if limit.resource == Resource::Memory {
        return memory(limit, live);
    }
    if limit.resource == Resource::Cores && !live.cores_settled {
        return None;
    }
    let reading = live.get(limit.resource)?;
    let above = match limit.resource {
        // A deadline is reached, the others are passed.
        Resource::Wall => reading.value >= limit.value as f64,
        _ => reading.value > threshold(limit),
    };
    above.then(|| Verdict {
        limit: *limit,
        value: reading.value,
        at: live.at,
        pid: reading.holder.as_ref().map(|h| h.pid),
        process: reading.holder.map(|h| h.command),
        certainty: Certainty::Broken,
        basis: None,
    })
}

fn memory(limit: &Limit, live: &Live) -> Option<Verdict> {
    let memory = live.memory?;
    let (value, certainty) = if memory.low > limit.value {
        (memory.low, Certainty::Broken)
    } else if memory.high > limit.value {
        (memory.high, Certainty::Alarm)
    } else {
        return None;
    };
    Some(Verdict {
        limit: *limit,
        value: value as f64,
        at: live.at,
        pid: live.largest.as_ref().map(|h| h.pid),
        process: live.largest.as_ref().map(|h| h.command.clone()),
        certainty,
        basis: Some(memory.basis),
    })
}

/// Cores are limited over a second: a shorter task has kept none busy for so long.
fn lasted_a_second(usage: &Usage) -> bool {
    let wall = usage.get("wall_time").and_then(|field| field.value());
    wall.is_none_or(|wall| wall.value.as_f64() >= SECOND.0 as f64)
}

/// The limit in the unit of the readings.
fn threshold(limit: &Limit) -> f64 {
    match limit.resource {
        Resource::Cores => limit.value as f64 / 1000.0,
        _ => limit.value as f64,
    }
}

/// The metric whose final value a limit is held against.
pub fn metric_of(resource: Resource) -> &'static str {
    match resource {
        Resource::Wall => "wall_time",
        Resource::Cpu => "cpu_time",
        Resource::Cores => "cores_peak",
        Resource::Memory => "memory_peak",
        Resource::Rss => "rss_peak",
        Resource::Virtual => "virtual_peak",
        Resource::Swap => "swap_peak",
        Resource::Processes => "processes_peak",
        Resource::Threads => "threads_peak",
        Resource::Footprint => "footprint_peak",
        Resource::Files => "files_peak",
        Resource::Read => "bytes_read",
        Resource::Written => "bytes_written",
    }
}

fn late(limit: &Limit, usage: &Usage) -> Option<LateFinding> {
    let value = usage.get(metric_of(limit.resource))?.value()?;
    if limit.resource == Resource::Cores && !lasted_a_second(usage) {
        return None;
    }
    let number = match value.value {
        Number::Whole(n) => n as f64,
        Number::Real(x) => x,
    };
    let proven = value.method != Method::UpperBound;
    (proven && number > threshold(limit)).then(|| LateFinding {
        limit: *limit,
        value: number,
        at_ns: value.at_ns,
        source: value.source.clone(),
    })
}
