//! The processes of a job with their readings, as what is drawn. Pure.

use super::course::{COUNTERS, Growth, Member, Rhythm, cores};
use super::gather::{Members, Origin};
use super::totals::{Sum, totals};
use super::types::{Line, Peaks, Plot, Program, Totals};
use super::{Found, phases};
use crate::job::{self, Facts, Granted};

/// What is asked for, since 1970.
pub(super) type Window = (Option<i64>, Option<i64>);

/// One host and boot with its processes.
struct Part<'a> {
    place: usize,
    origin: &'a Origin,
    members: Vec<&'a Member>,
    rhythm: Rhythm,
    begin: i64,
    end: i64,
}

/// The whole picture, if there is enough for one.
pub(super) fn found(
    members: Members,
    (facts, granted): (Option<Facts>, &[Granted]),
    window: (Option<i64>, Option<i64>),
    thinned_ns: Option<i64>,
) -> Found {
    let began = began(&members);
    let kept: Vec<_> = members
        .members
        .iter()
        .filter(|member| is_in(member, &members.origins, window))
        .collect();
    let parts = parts(&members.origins, &kept, window);
    let Some(most) = parts.iter().map(|part| part.rhythm.instants.len()).max() else {
        return Found::NoReading;
    };
    match most {
        0 => return Found::NoReading,
        1 => return Found::OneReading,
        _ => {}
    }
    let mut plot = Plot {
        processes: kept.len() as u64,
        began,
        from: parts.iter().map(Part::from).min().unwrap_or(began),
        to: parts.iter().map(Part::to).max().unwrap_or(began),
        goes_on: parts.iter().any(Part::goes_on),
        period_ns: parts.iter().filter_map(|part| part.rhythm.usual).max(),
        thinned_ns,
        programs: named(&members.programs),
        ..Plot::default()
    };
    plot.from = plot.from.max(window.0.unwrap_or(i64::MIN));
    plot.to = plot.to.min(window.1.unwrap_or(i64::MAX));
    for part in &parts {
        if !plot.hosts.contains(&part.origin.host) {
            plot.hosts.push(part.origin.host.clone());
        }
    }
    let (lines, sums) = lines_and_totals(&parts, &mut plot);
    (plot.lines, plot.totals) = (lines, sums);
    rank(&mut plot);
    plot.peaks = Peaks::of(&plot.totals, &plot.lines);
    plot.phases = phases::phases(&plot.totals);
    had(&mut plot, facts.as_ref(), granted);
    plot.facts = facts;
    Found::Plot(Box::new(plot))
}

fn began(members: &Members) -> i64 {
    let all = members.members.iter();
    let starts = all.filter_map(|member| {
        let origin = members.origins.get(member.origin)?;
        Some(member.start.saturating_add(origin.offset))
    });
    starts.min().unwrap_or(0)
}

/// Whether a process may have been there in the time that is asked for.
fn is_in(member: &Member, origins: &[Origin], (from, to): Window) -> bool {
    let offset = origins.get(member.origin).map_or(0, |origin| origin.offset);
    let ended = member.end.map(|end| end.at.saturating_add(offset));
    let is_over = from.zip(ended).is_some_and(|(from, ended)| ended < from);
    let start = member.start.saturating_add(offset);
    !is_over && to.is_none_or(|to| start < to)
}

fn parts<'a>(origins: &'a [Origin], members: &[&'a Member], window: Window) -> Vec<Part<'a>> {
    let mut of: Vec<Vec<&Member>> = vec![Vec::new(); origins.len()];
    for member in members {
        if let Some(of) = of.get_mut(member.origin) {
            of.push(member);
        }
    }
    let all = origins.iter().zip(of).enumerate();
    let all = all.filter(|(_, (_, members))| !members.is_empty());
    all.map(|(place, (origin, members))| Part::new(place, origin, members, window))
        .collect()
}

impl<'a> Part<'a> {
    fn new(place: usize, origin: &'a Origin, members: Vec<&'a Member>, window: Window) -> Self {
        let mut instants = rustc_hash::FxHashSet::default();
        for member in &members {
            instants.extend(member.readings.iter().map(|reading| reading.at));
        }
        let rhythm = Rhythm::of(instants.into_iter().collect());
        let watched = members.iter().filter(|one| rhythm.saw_beginning(one.start));
        let begin = watched.map(|member| member.start).min();
        let begin = begin.into_iter().chain(rhythm.instants.first().copied());
        let end = members.iter().filter_map(|member| Some(member.end?.at));
        let end = end.chain(rhythm.instants.last().copied()).max();
        let begin = begin.min().unwrap_or(0);
        let inside = |at: i64| at.saturating_sub(origin.offset);
        let begin = begin.max(window.0.map_or(i64::MIN, inside));
        let end = end.unwrap_or(begin).min(window.1.map_or(i64::MAX, inside));
        Self {
            place,
            origin,
            members,
            rhythm,
            begin,
            end: end.max(begin),
        }
    }

    fn from(&self) -> i64 {
        self.begin.saturating_add(self.origin.offset)
    }

    fn to(&self) -> i64 {
        self.end.saturating_add(self.origin.offset)
    }

    /// Whether somebody was there in the last reading whose end nobody told.
    fn goes_on(&self) -> bool {
        let last = self.rhythm.instants.last();
        self.members.iter().any(|member| {
            let seen = member.readings.last().map(|reading| reading.at);
            member.end.is_none() && seen.is_some() && seen.as_ref() == last
        })
    }
}

fn named(names: &[String]) -> Vec<Program> {
    let of = |name: &String| Program {
        name: name.clone(),
        ..Program::default()
    };
    names.iter().map(of).collect()
}

/// The processes that a reading met, and the sums of all; what the programs used is added to them.
fn lines_and_totals(parts: &[Part<'_>], plot: &mut Plot) -> (Vec<Line>, Totals) {
    let mut lines = Vec::new();
    let mut sums = Vec::new();
    let mut growth: Vec<Growth> = Vec::new();
    for part in parts {
        let mut sum = Sum::new(&part.rhythm, part.begin, part.end);
        let host = plot.hosts.iter().position(|host| *host == part.origin.host);
        let offset = part.origin.offset;
        for member in &part.members {
            debug_assert_eq!(member.origin, part.place);
            sum.add_readings(member, &part.rhythm);
            let mut line = Line {
                host: host.unwrap_or(0),
                pid: member.pid,
                program: member.program,
                rss: member.rss(&part.rhythm, offset),
                cores: Vec::new(),
            };
            for counter in 0..COUNTERS {
                member.growth(counter, &part.rhythm, &mut growth);
                sum.add_growth(counter, &growth);
                if counter == 0 {
                    line.cores = cores(&growth, part.rhythm.brief(), offset);
                    let used = growth.iter().map(|one| one.by).sum();
                    note(plot.programs.get_mut(member.program), &line, used);
                }
            }
            if !member.readings.is_empty() {
                lines.push(line);
            }
        }
        sums.push((sum, &part.rhythm, offset));
    }
    (lines, totals(&sums))
}

/// Adds a process to its program.
fn note(program: Option<&mut Program>, line: &Line, used: i64) {
    let Some(program) = program else {
        return;
    };
    program.processes += 1;
    program.cpu_time = program.cpu_time.saturating_add(used);
    let largest = line.rss.iter().filter_map(|point| point.value).max();
    program.rss_max = program.rss_max.max(largest.unwrap_or(0));
}

/// The programs with the largest processes first; those that nobody ran in that time are left out.
fn rank(plot: &mut Plot) {
    let mut order: Vec<usize> = (0..plot.programs.len()).collect();
    let key = |place: &usize| {
        plot.programs.get(*place).map(|one| {
            let (rss, cpu) = (-one.rss_max, -one.cpu_time);
            (rss, cpu, one.name.clone())
        })
    };
    order.sort_by_cached_key(key);
    let mut places = vec![0; order.len()];
    let mut ranked = Vec::with_capacity(order.len());
    for from in order {
        let known = plot.programs.get(from).filter(|one| one.processes > 0);
        if let (Some(program), Some(place)) = (known, places.get_mut(from)) {
            *place = ranked.len();
            ranked.push(program.clone());
        }
    }
    for line in &mut plot.lines {
        line.program = places.get(line.program).copied().unwrap_or(0);
    }
    plot.programs = ranked;
}

/// What it had on the hosts that are drawn.
fn had(plot: &mut Plot, facts: Option<&Facts>, granted: &[Granted]) {
    let of = |whole, of_host: fn(&Granted) -> Option<i64>| {
        let hosts = plot.hosts.iter().map(|host| {
            let granted = granted.iter().find(|it| it.host == *host);
            (host.as_str(), granted.and_then(of_host))
        });
        job::had(facts, whole, hosts)
    };
    let memory = of(Facts::memory, |host| host.memory);
    let cpus = of(Facts::cpus, |host| host.cpus);
    (plot.memory_had, plot.cpus_had) = (memory, cpus);
    plot.goes_on &= facts.is_none_or(|facts| facts.ended.is_none());
}
