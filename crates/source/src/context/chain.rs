//! Which job a process belongs to: everything that says something about it, put in order of trust,
//! and what is believed.
//!
//! The control group comes first: only root can move a process out of the job's. Then the job's
//! daemon among the ancestors, a supplementary group id, the unit or the login; the environment,
//! which its user can write, is believed where nothing else tells.

use super::SCHEDULERS;
use super::daemon::Daemon;
use super::group_path::{Found, GroupPath};
use super::surroundings::{Scheduler, Surroundings, Tier};
use super::{gridengine, login, systemd, unfamiliar};
use crate::query::proc_pid_cgroup::Membership;
use crate::query::proc_pid_environ::Variables;
use record::context::{Chain, Conflict, Evidence, Kind, Trust};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;

/// Pieces of evidence and conflicts that are kept.
const EVIDENCE_MAX: usize = 64;

/// What is known of a process.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// Its process id.
    pub pid: u32,
    /// Its control groups.
    pub groups: Vec<Membership>,
    /// Its ancestors, the parent first.
    pub ancestors: Vec<Daemon>,
    /// The daemons that hold the job's control group, wherever it went.
    pub holders: Vec<Daemon>,
    /// Its supplementary groups.
    pub gids: Vec<u32>,
    /// The supplementary groups that Grid Engine gives to jobs, where it does.
    pub gid_range: Option<RangeInclusive<u32>>,
    /// Who logged in.
    pub login_uid: Option<u32>,
    /// The session of the login.
    pub session: Option<u32>,
    /// Its environment, raw.
    pub environ: Vec<u8>,
}

/// A piece of evidence with its place in the order of trust.
struct Ranked {
    rank: u8,
    /// Components of a path, the more the better.
    depth: usize,
    scheduler: Option<&'static Scheduler>,
    evidence: Evidence,
}

/// Believes the most trusted evidence of a job, and names what speaks against it.
pub fn resolve(input: &Input) -> Chain {
    let mut all = of_groups(input);
    all.extend(of_daemons(&input.holders));
    all.extend(of_daemons(&input.ancestors));
    all.extend(of_gids(input));
    all.extend(of_login(input));
    all.extend(of_environment(input));
    all.sort_by_key(|one| (one.rank, std::cmp::Reverse(one.depth)));
    let unfamiliar = unfamiliar::paths(&input.groups);
    let mut chain = believe(&all);
    chain.conflicts = conflicts(&chain, &all);
    chain.conflicts.truncate(EVIDENCE_MAX);
    chain.evidence = all.into_iter().map(|one| one.evidence).collect();
    chain.evidence.truncate(EVIDENCE_MAX);
    chain.unfamiliar = unfamiliar;
    chain
}

/// What a control group's path says: the first scheduler that knows its layout. Below the slices of
/// users it can only be a login; a path outside of our namespace says nothing.
pub fn of_path(path: &Path) -> Option<(&'static Scheduler, Found)> {
    let path = GroupPath::new(path);
    if path.is_outside() {
        return None;
    }
    if path.is_users() {
        return Some((&login::SCHEDULER, (login::SCHEDULER.group)(&path)?));
    }
    SCHEDULERS
        .iter()
        .find_map(|scheduler| Some((scheduler, (scheduler.group)(&path)?)))
}

fn ranked(
    rank: u8,
    found: Option<(&'static Scheduler, Found)>,
    (kind, trust): (Kind, Trust),
    (value, source): (String, String),
) -> Ranked {
    let scheduler = found.as_ref().map(|(scheduler, _)| *scheduler);
    let found = found.map(|(_, found)| found).unwrap_or_default();
    Ranked {
        rank,
        depth: 0,
        scheduler,
        evidence: Evidence {
            kind,
            trust,
            value,
            source,
            scheduler: scheduler.map(|scheduler| scheduler.name.to_owned()),
            job: found.job,
            stand_in: found.stand_in,
            step: found.step,
        },
    }
}

/// One piece a path, with the controllers that have it.
fn of_groups(input: &Input) -> Vec<Ranked> {
    let mut paths: Vec<(&Path, Vec<&str>)> = Vec::new();
    for group in &input.groups {
        let names = group.controllers.iter().map(String::as_str);
        let names = if group.is_v2() {
            vec!["v2"]
        } else {
            names.collect()
        };
        match paths.iter_mut().find(|(path, _)| *path == group.path) {
            Some((_, all)) => all.extend(names),
            None => paths.push((&group.path, names)),
        }
    }
    let told = paths
        .into_iter()
        .filter(|(path, _)| *path != Path::new("/"));
    told.take(EVIDENCE_MAX)
        .flat_map(|(path, names)| {
            let source = format!("/proc/{}/cgroup {}", input.pid, names.join(","));
            of_group(path, &source)
        })
        .collect()
}

/// A scheduler's own unit names no job: it is a unit of the system as well.
fn of_group(path: &Path, source: &str) -> Vec<Ranked> {
    let found = of_path(path);
    let is_unnamed = |found: &Found| found.job.is_none() && found.stand_in.is_none();
    let unit = found.as_ref().filter(|(_, found)| is_unnamed(found));
    let unit = unit.and_then(|_| (systemd::SCHEDULER.group)(&GroupPath::new(path)));
    let unit = unit.map(|unit| Some((&systemd::SCHEDULER, unit)));
    let of = |found: Option<(&'static Scheduler, Found)>| {
        let rank = match found.as_ref().map(|(scheduler, _)| scheduler.tier) {
            Some(Tier::Batch) => 1,
            Some(Tier::Container) => 2,
            Some(Tier::Unit) => 5,
            None => 8,
        };
        let value = path.to_string_lossy().into_owned();
        let how = (Kind::Cgroup, Trust::Enforced);
        let mut ranked = ranked(rank, found, how, (value, source.to_owned()));
        ranked.depth = GroupPath::new(path).len();
        ranked
    };
    [Some(found), unit].into_iter().flatten().map(of).collect()
}

fn of_daemons(daemons: &[Daemon]) -> Vec<Ranked> {
    let of = |daemon: &Daemon| {
        let (scheduler, found) = SCHEDULERS
            .iter()
            .find_map(|scheduler| Some((scheduler, (scheduler.daemon)(daemon)?)))?;
        let rank = match (daemon.trust(), scheduler.tier) {
            (Trust::Claimed, _) => 7,
            (_, Tier::Batch) => 3,
            (_, Tier::Container | Tier::Unit) => 6,
        };
        let source = format!("/proc/{}/cmdline", daemon.pid);
        let how = (Kind::Daemon, daemon.trust());
        Some(ranked(
            rank,
            Some((scheduler, found)),
            how,
            (daemon.shown(), source),
        ))
    };
    daemons.iter().filter_map(of).take(EVIDENCE_MAX).collect()
}

fn of_gids(input: &Input) -> Option<Ranked> {
    let found = gridengine::supplementary(&input.gids, input.gid_range.as_ref()?)?;
    let value = found.stand_in.clone().unwrap_or_default();
    let source = format!("/proc/{}/status Groups", input.pid);
    Some(ranked(
        4,
        Some((&gridengine::SCHEDULER, found)),
        (Kind::Group, Trust::Enforced),
        (value, source),
    ))
}

fn of_login(input: &Input) -> Option<Ranked> {
    let found = login::audited(input.login_uid, input.session)?;
    let value = match input.session {
        Some(session) => format!("{} {session}", input.login_uid?),
        None => input.login_uid?.to_string(),
    };
    let source = format!("/proc/{0}/loginuid, /proc/{0}/sessionid", input.pid);
    Some(ranked(
        6,
        Some((&login::SCHEDULER, found)),
        (Kind::Login, Trust::Enforced),
        (value, source),
    ))
}

/// What the variables of each scheduler say. Files that they name are not opened: the user chose
/// them.
fn of_environment(input: &Input) -> Vec<Ranked> {
    let variables = Variables::of(&input.environ);
    let of = |scheduler: &'static Scheduler| {
        let asked = RefCell::new(Vec::new());
        let env = |name: &str| {
            let value = variables.value(name)?;
            asked.borrow_mut().push((name.to_owned(), value.clone()));
            Some(value)
        };
        let context = (scheduler.detect)(&Surroundings {
            env: &env,
            file: &|_| None,
            groups: &[],
        })?;
        context.job.scheduler?;
        let mut found = Found {
            job: context.job.id.filter(|id| !id.is_empty()),
            step: context.job.step,
            ..Found::default()
        };
        let names = |value: &String| {
            Some(value) == found.job.as_ref() || Some(value) == found.step.as_ref()
        };
        let asked = asked.into_inner();
        let telling = asked.iter().filter(|(_, value)| names(value));
        let mut words: Vec<_> = telling
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if words.is_empty() {
            words = asked
                .first()
                .map(|(name, value)| format!("{name}={value}"))
                .into_iter()
                .collect();
        }
        words.dedup();
        found.job = found.job.map(|id| cut(&id));
        found.step = found.step.map(|step| cut(&step));
        let source = format!("/proc/{}/environ", input.pid);
        let how = (Kind::Environment, Trust::Claimed);
        Some(ranked(
            7,
            Some((scheduler, found)),
            how,
            (cut(&words.join(" ")), source),
        ))
    };
    SCHEDULERS.iter().filter_map(of).collect()
}

/// What a user wrote, at a length that people can read.
fn cut(text: &str) -> String {
    text.chars().take(VALUE_CHARS_MAX).collect()
}

/// Characters of what a user wrote that are kept.
const VALUE_CHARS_MAX: usize = 256;

/// The chain without evidence and conflicts. Who says only which scheduler it is, such as the unit
/// that all its jobs are in, leaves the name to the next of that scheduler, down to the
/// environment; without any, the next is believed.
fn believe(all: &[Ranked]) -> Chain {
    let named = |one: &&Ranked| one.evidence.job.is_some() || one.evidence.stand_in.is_some();
    let leads = all.iter().filter_map(|one| one.scheduler);
    for scheduler in leads {
        let of_it = || all.iter().filter(|one| is_of(one, scheduler));
        let trusted = || of_it().filter(|one| one.evidence.trust != Trust::Claimed);
        // An id, wherever it is told, is better than what stands for it.
        let with_id = trusted().find(|one| one.evidence.job.is_some());
        let Some(lead) = with_id.or_else(|| of_it().find(named)) else {
            continue;
        };
        let identifier = lead.evidence.job.clone().or(lead.evidence.stand_in.clone());
        let agrees = |one: &&Ranked| {
            one.evidence.trust <= lead.evidence.trust && !differ(&lead.evidence, &one.evidence)
        };
        let step = of_it()
            .filter(agrees)
            .find_map(|one| one.evidence.step.clone());
        return Chain {
            identifier,
            subidentifier: step,
            scheduler: Some(scheduler.name.to_owned()),
            trust: Some(lead.evidence.trust),
            ..Chain::default()
        };
    }
    Chain::default()
}

fn is_of(one: &Ranked, scheduler: &Scheduler) -> bool {
    one.scheduler.is_some_and(|of| of.name == scheduler.name)
}

/// Whether two pieces of one scheduler name different jobs.
fn differ(a: &Evidence, b: &Evidence) -> bool {
    match (&a.job, &b.job) {
        (Some(a), Some(b)) => !is_same(a, b),
        _ => match (&a.stand_in, &b.stand_in) {
            (Some(x), Some(y)) => a.kind == b.kind && x != y,
            _ => false,
        },
    }
}

/// Whether two ids are one: a server may be named with or without its domain.
fn is_same(a: &str, b: &str) -> bool {
    let longer = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'));
    a == b || (a.contains('.') && longer(b, a)) || (b.contains('.') && longer(a, b))
}

/// What speaks against the chain: another batch scheduler, another job, another step of it.
fn conflicts(chain: &Chain, all: &[Ranked]) -> Vec<Conflict> {
    let (Some(name), Some(identifier)) = (&chain.scheduler, &chain.identifier) else {
        return Vec::new();
    };
    let of_it = |one: &&Ranked| one.evidence.scheduler.as_ref() == Some(name);
    let lead = all.iter().filter(of_it).find(|one| {
        let told = one.evidence.job.as_ref().or(one.evidence.stand_in.as_ref());
        told == Some(identifier)
    });
    let against = |one: &Ranked| {
        let (evidence, scheduler) = (&one.evidence, one.scheduler?);
        let told = evidence.job.as_ref().or(evidence.stand_in.as_ref());
        let step = evidence.step.as_ref();
        let (what, believed, denied) = if scheduler.name != name {
            let is_batch = scheduler.tier == Tier::Batch;
            let told = told.filter(|_| is_batch)?;
            let (here, there) = (format!("{name} {identifier}"), scheduler.name);
            ("scheduler", here, format!("{there} {told}"))
        } else if differ(&lead?.evidence, evidence) {
            ("identifier", identifier.clone(), told?.clone())
        } else {
            // The sessions of a login have several names.
            (scheduler.tier != Tier::Unit).then_some(())?;
            let believed = chain.subidentifier.as_ref()?;
            let denied = step.filter(|step| *step != believed)?;
            ("subidentifier", believed.clone(), denied.clone())
        };
        Some(Conflict {
            what: what.to_owned(),
            believed,
            denied,
            source: evidence.source.clone(),
            trust: evidence.trust,
        })
    };
    all.iter().filter_map(against).collect()
}
