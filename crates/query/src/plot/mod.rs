//! A job over time: its processes first, then their readings and no others.

mod course;
mod gather;
mod phases;
mod series;
mod totals;
mod types;

use crate::engine::{Engine, Heed, Progress};
use crate::error::Error;
use crate::job::{self, Facts, Granted};
use crate::report::{Dialect, Known, Params, fill};
use gather::{Instants, Members, Row, Taking};
use record::unit::Nanos;
use rustc_hash::FxHashSet;
use serde::Deserialize;
pub use types::{Doing, Line, Peaks, Phase, Plot, Point, Program, Step, Totals};

/// More readings of processes are not kept: of longer jobs one reading is taken now and then. They
/// are about 400 MB.
const READINGS_MAX: i64 = 4 << 20;

/// So many processes are named one by one, more of them by the first and the last.
const NAMED_MAX: usize = 64;

/// Around the beginning and the end of a job, for clocks that were set.
const MARGIN_NS: i64 = 120_000_000_000;

/// What a dataset has of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Enough to draw.
    Plot(Box<Plot>),
    /// Nothing of that name.
    NoJob,
    /// No reading met a process of it.
    NoReading,
    /// One did: no line begins and ends in one point.
    OneReading,
}

impl Plot {
    /// A job over time; `now` ends the time of processes whose end is not told.
    ///
    /// # Errors
    /// The dataset cannot be read, `heed` wants no more, or the job has too many processes.
    pub fn of(
        engine: &Engine,
        params: &Params,
        now: Nanos,
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<Found, Error> {
        Self::within(engine, params, (now, READINGS_MAX), heed)
    }

    /// The same of about so many readings at most.
    ///
    /// # Errors
    /// As [`Plot::of`].
    pub fn within(
        engine: &Engine,
        params: &Params,
        (now, readings_max): (Nanos, i64),
        heed: &mut dyn FnMut(Progress) -> Heed,
    ) -> Result<Found, Error> {
        let template = include_str!("../job/facts.sql");
        let facts: Vec<Facts> = job::rows(engine, template, params, heed)?;
        let granted: Vec<Granted> = job::rows(engine, job::GRANTED, params, heed)?;
        let rows: Vec<Row> = job::rows(engine, include_str!("members.sql"), params, heed)?;
        if facts.is_empty() && rows.is_empty() {
            return Ok(Found::NoJob);
        }
        let mut members = Members::of(rows)?;
        if members.members.is_empty() {
            return Ok(Found::NoReading);
        }
        let mut asking = Asking {
            engine,
            condition: condition(&members),
            readings_max: readings_max.max(1),
            params,
            heed,
        };
        let thinned = asking.slot(&members, i64::try_from(now.0).unwrap_or(i64::MAX))?;
        asking.readings(&mut members, thinned)?;
        let window = [params.from, params.to].map(|at| at.and_then(|at| i64::try_from(at.0).ok()));
        Ok(series::found(
            members,
            (facts.into_iter().next(), &granted),
            window.into(),
            thinned,
        ))
    }
}

/// Questions on the readings of some processes.
struct Asking<'a> {
    engine: &'a Engine,
    condition: String,
    readings_max: i64,
    params: &'a Params,
    heed: &'a mut dyn FnMut(Progress) -> Heed,
}

/// A row of `latest.sql`.
#[derive(Debug, Deserialize)]
struct Latest {
    last_ns: Option<i64>,
}

impl Asking<'_> {
    fn spelled(&self, template: &str) -> String {
        let template = template.replace("{{members}}", &self.condition);
        Dialect::DataFusion.spell(&fill(&template, self.params, &Known::default()))
    }

    /// In how much time one reading has to do, if not all of them can be kept.
    fn slot(&mut self, members: &Members, now: i64) -> Result<Option<i64>, Error> {
        const SECOND: i64 = 1_000_000_000;
        let needed = |until: i64| {
            let lived = members.members.iter().map(|member| {
                let offset = members.origins.get(member.origin);
                let until = until.saturating_sub(offset.map_or(0, |origin| origin.offset));
                let end = member.end.map_or(until, |end| end.at);
                (end.saturating_sub(member.start)).max(0) / self.readings_max
            });
            lived.fold(0, i64::saturating_add)
        };
        // Nobody reads more often than this for long.
        if needed(now) < SECOND {
            return Ok(None);
        }
        let text = include_str!("latest.sql").replace("{{members}}", &self.condition);
        let latest: Vec<Latest> = job::rows(self.engine, &text, self.params, self.heed)?;
        let last = latest.first().and_then(|latest| latest.last_ns);
        let slot = needed(last.unwrap_or(now).min(now));
        Ok((slot >= SECOND).then_some(slot))
    }

    /// All readings of the members, or one in each slot of time.
    fn readings(&mut self, members: &mut Members, slot: Option<i64>) -> Result<(), Error> {
        let mut chosen = None;
        if let Some(slot) = slot {
            let text = self.spelled(
                &include_str!("instants.sql")
                    .replace("{{slot}}", &format!("{{{{div at_ns, {slot}}}}}")),
            );
            let mut instants = Instants {
                members,
                chosen: FxHashSet::default(),
            };
            self.engine.ask(&text, &mut instants, self.heed)?;
            chosen = Some(instants.chosen);
        }
        let text = self.spelled(include_str!("samples.sql"));
        let mut taking = Taking::new(members, chosen.as_ref());
        self.engine.ask(&text, &mut taking, self.heed)?;
        Ok(())
    }
}

/// Which rows of `sample` may be theirs: as few others as can be told in few words.
fn condition(members: &Members) -> String {
    let all = &members.members;
    let mut pids: Vec<_> = all.iter().map(|member| member.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    let (first, last) = (pids.first().copied(), pids.last().copied());
    let pid = match pids.len() <= NAMED_MAX {
        true => {
            let pids: Vec<_> = pids.iter().map(i64::to_string).collect();
            format!("pid IN ({})", pids.join(", "))
        }
        false => format!(
            "pid BETWEEN {} AND {}",
            first.unwrap_or(0),
            last.unwrap_or(0)
        ),
    };
    let starts = all.iter().map(|member| member.start);
    let start = format!(
        "start_ns BETWEEN {} AND {}",
        starts.clone().min().unwrap_or(0),
        starts.max().unwrap_or(0)
    );
    let real = |origin: usize, at: i64| {
        let origin = members.origins.get(origin);
        at.saturating_add(origin.map_or(0, |origin| origin.offset))
    };
    let began = all.iter().map(|one| real(one.origin, one.start)).min();
    let ended = all
        .iter()
        .map(|one| one.end.map(|end| real(one.origin, end.at)))
        .collect::<Option<Vec<_>>>()
        .and_then(|ends| ends.into_iter().max());
    let mut both = vec![pid, start];
    let micros = |at: i64| at.max(0) / 1000;
    both.extend(began.map(|at| {
        let at = micros(at.saturating_sub(MARGIN_NS));
        format!("time >= {{{{instant {at}}}}}")
    }));
    both.extend(ended.map(|at| {
        let at = micros(at.saturating_add(MARGIN_NS));
        format!("time <= {{{{instant {at}}}}}")
    }));
    both.join(" AND ")
}
