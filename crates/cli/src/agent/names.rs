//! Which job each living process is filed under: as it was read, as its control groups say at an
//! event, or as its parent was when it was born.
//!
//! A child has the ancestors, the login and the environment of its parent, so what these say of the
//! job holds for it too until it is read itself; its control groups are its own.

use super::jobs::Jobs;
use record::context::{Chain, Trust};
use record::identity::ProcessId;
use record::unit::Nanos;
use rustc_hash::{FxHashMap, FxHashSet};
use source::context::{SCHEDULERS, Tier};
use std::rc::Rc;

/// Processes that are remembered, at most; others are asked for.
const PROCESSES_MAX: usize = 1 << 17;
/// A process that an event told is forgotten if so many readings have not met it: its end was
/// missed.
const READINGS_MISSED: u64 = 2;

/// What is written for `identifier` and `subidentifier` of processes outside of any job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outside {
    /// The identifier.
    pub(crate) identifier: String,
    /// The part.
    pub(crate) subidentifier: Option<String>,
}

/// What a process is filed under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) identifier: String,
    pub(super) part: Option<String>,
    /// Its job, if it is in one.
    pub(super) job: Option<JobName>,
}

/// Who gave a job its name, and that.
pub(super) type JobKey = (&'static str, String);

/// A job, by who named it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct JobName {
    pub(super) key: JobKey,
    pub(super) trust: Trust,
    /// The id is not told, only what stands for it.
    pub(super) is_stand_in: bool,
}

/// Who is filed where.
pub(super) struct Names {
    outside: Option<Rc<Name>>,
    of: FxHashMap<u32, Filed>,
    /// Who became another program since somebody looked at who they are.
    became: FxHashSet<ProcessId>,
    pub(super) jobs: Jobs,
    pass: u64,
}

struct Filed {
    id: ProcessId,
    name: Rc<Name>,
    /// The last reading that met it, or after which it was told.
    pass: u64,
}

/// The identifier and the part, as rows have them.
pub(super) fn pair(name: Option<&Rc<Name>>) -> [Option<&str>; 2] {
    let identifier = name.map(|name| name.identifier.as_str());
    [identifier, name.and_then(|name| name.part.as_deref())]
}

impl Names {
    pub(super) fn new(outside: Option<&Outside>, jobs: Jobs) -> Self {
        let outside = outside.map(|outside| {
            Rc::new(Name {
                identifier: outside.identifier.clone(),
                part: outside.subidentifier.clone(),
                job: None,
            })
        });
        Self {
            outside,
            of: FxHashMap::default(),
            became: FxHashSet::default(),
            jobs,
            pass: 0,
        }
    }

    /// What a chain says; nothing if that is nothing. What only stands for a job, a unit or a
    /// login, gives way to what was asked for.
    fn of_chain(&self, chain: &Chain) -> Option<Rc<Name>> {
        let (identifier, by) = (chain.identifier.as_ref()?, chain.scheduler.as_ref()?);
        let scheduler = SCHEDULERS.iter().find(|one| one.name == by)?;
        if scheduler.tier == Tier::Unit
            && let Some(outside) = &self.outside
        {
            return Some(Rc::clone(outside));
        }
        let is_id = |job: &Option<String>| job.as_ref() == Some(identifier);
        let job = (scheduler.tier != Tier::Unit).then(|| JobName {
            key: (scheduler.name, identifier.clone()),
            trust: chain.trust.unwrap_or(Trust::Claimed),
            is_stand_in: !chain.evidence.iter().any(|one| is_id(&one.job)),
        });
        Some(Rc::new(Name {
            identifier: identifier.clone(),
            part: chain.subidentifier.clone(),
            job,
        }))
    }

    /// A process was read: what it is filed under. `is_whole`: all that there is to read of it.
    pub(super) fn read(
        &mut self,
        id: ProcessId,
        chain: &Chain,
        is_whole: bool,
        at: Nanos,
    ) -> Option<Rc<Name>> {
        let name = match self.of_chain(chain) {
            Some(name) => Some(name),
            // It is in no job.
            None if is_whole => self.outside.clone(),
            None => return self.known(id),
        };
        match &name {
            Some(name) => self.file(id, Rc::clone(name), at),
            None => self.forget(id, None),
        }
        name
    }

    /// What a process is known to be filed under.
    pub(super) fn known(&self, id: ProcessId) -> Option<Rc<Name>> {
        let filed = self.of.get(&id.pid).filter(|filed| filed.id == id)?;
        Some(Rc::clone(&filed.name))
    }

    fn file(&mut self, id: ProcessId, name: Rc<Name>, at: Nanos) {
        if let Some(filed) = self.of.get(&id.pid) {
            if filed.id == id && filed.name == name {
                return;
            }
        } else if self.of.len() >= PROCESSES_MAX {
            return;
        }
        self.jobs.enter(&name, id, at);
        let filed = Filed {
            id,
            name,
            pass: self.pass,
        };
        if let Some(before) = self.of.insert(id.pid, filed) {
            self.jobs.leave(&before.name, None);
        }
    }

    fn forget(&mut self, id: ProcessId, at: Option<Nanos>) {
        if self.known(id).is_some()
            && let Some(filed) = self.of.remove(&id.pid)
        {
            self.jobs.leave(&filed.name, at);
        }
    }

    /// A process was born: it is where its parent is.
    pub(super) fn born(&mut self, id: ProcessId, parent: u32) {
        if let Some(filed) = self.of.get(&parent) {
            let name = Rc::clone(&filed.name);
            self.file(id, name, id.start_ns);
        }
    }

    /// What a process is filed under when it becomes another program.
    pub(super) fn became(
        &mut self,
        id: ProcessId,
        groups: Option<&Chain>,
        at: Nanos,
    ) -> Option<Rc<Name>> {
        if self.became.len() < PROCESSES_MAX {
            self.became.insert(id);
        }
        let name = self.met(id, groups, at);
        if let Some(name) = &name {
            self.jobs.became(name, id);
        }
        name
    }

    /// Whether a process became another program since this was asked.
    pub(super) fn has_become(&mut self, id: ProcessId) -> bool {
        self.became.remove(&id)
    }

    /// Everyone was asked about.
    pub(super) fn leave_become(&mut self) {
        self.became = FxHashSet::default();
    }

    /// What a process is filed under at an event, by what its control groups say then.
    fn met(&mut self, id: ProcessId, groups: Option<&Chain>, at: Nanos) -> Option<Rc<Name>> {
        let known = self.known(id);
        let told = groups.and_then(|chain| self.of_chain(chain));
        // A unit is no job, and a group that only stands for its job says less than what was read.
        let rank = |name: &Option<Rc<Name>>| {
            let job = name.as_ref().and_then(|name| name.job.as_ref());
            job.map_or(0, |job| if job.is_stand_in { 1 } else { 2 })
        };
        let is_told = told.is_some() && rank(&told) >= rank(&known);
        let name = if is_told { told } else { known };
        if let Some(name) = &name {
            self.file(id, Rc::clone(name), at);
            self.jobs.seen(name, at);
        }
        name
    }

    /// It is about to end, and its job perhaps with it.
    pub(super) fn killed(&mut self, id: ProcessId, groups: Option<&Chain>, at: Nanos) {
        if let Some(job) = self.met(id, groups, at).and_then(|name| name.job.clone()) {
            self.jobs.killed(&job.key, at);
        }
    }

    /// The same at its end.
    pub(super) fn ended(
        &mut self,
        (id, uid): (ProcessId, Option<u32>),
        groups: Option<&Chain>,
        at: Nanos,
    ) -> Option<Rc<Name>> {
        self.became.remove(&id);
        let name = self.met(id, groups, at);
        if let (Some(name), Some(uid)) = (&name, uid) {
            self.jobs.owned(name, uid);
        }
        self.forget(id, Some(at));
        name
    }

    /// A reading met these, and nobody else lives; `hears`: ends are told by events.
    pub(super) fn reading(&mut self, ids: impl Iterator<Item = ProcessId>, at: Nanos, hears: bool) {
        self.pass += 1;
        let pass = self.pass;
        for id in ids {
            if let Some(filed) = self.of.get_mut(&id.pid).filter(|filed| filed.id == id) {
                filed.pass = pass;
                self.jobs.lives(&filed.name, id, at);
            }
        }
        let missed = if hears { READINGS_MISSED } else { 1 };
        let jobs = &mut self.jobs;
        self.of.retain(|_, filed| {
            let stays = filed.pass + missed > pass;
            if !stays {
                jobs.leave(&filed.name, None);
            }
            stays
        });
        self.jobs.read();
    }

    /// Some are there between two readings.
    pub(super) fn glance(&mut self, ids: impl Iterator<Item = ProcessId>, at: Nanos) {
        for id in ids {
            if let Some(filed) = self.of.get(&id.pid).filter(|filed| filed.id == id) {
                self.jobs.lives(&filed.name, id, at);
            }
        }
    }

    /// Whether a process is in a job that began less than `age` ago.
    pub(super) fn is_young(&self, id: ProcessId, now: Nanos, age: Nanos) -> bool {
        let filed = self.of.get(&id.pid).filter(|filed| filed.id == id);
        filed.is_some_and(|filed| self.jobs.is_young(&filed.name, now, age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::context::{Evidence, Kind};

    fn chain(scheduler: &str, identifier: &str, part: &str, trust: Trust) -> Chain {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Chain {
            identifier: text(identifier),
            subidentifier: text(part),
            scheduler: text(scheduler),
            trust: Some(trust),
            evidence: vec![Evidence {
                kind: Kind::Cgroup,
                trust,
                value: String::new(),
                source: String::new(),
                scheduler: text(scheduler),
                job: text(identifier).filter(|id| !id.starts_with('s')),
                stand_in: None,
                step: None,
            }],
            ..Chain::default()
        }
    }

    fn id(pid: u32) -> ProcessId {
        ProcessId::new(pid, Nanos::from_secs(1))
    }

    fn names(outside: Option<&str>) -> Names {
        let outside = outside.map(|identifier| Outside {
            identifier: identifier.to_owned(),
            subidentifier: None,
        });
        Names::new(outside.as_ref(), Jobs::new())
    }

    fn is(name: Option<Rc<Name>>) -> (String, String) {
        let [identifier, part] = pair(name.as_ref()).map(|text| text.unwrap_or("-").to_owned());
        (identifier, part)
    }

    fn told(identifier: &str, part: &str) -> (String, String) {
        (identifier.to_owned(), part.to_owned())
    }

    const AT: Nanos = Nanos::from_secs(5);

    #[test]
    fn who_is_in_no_job_is_filed_as_asked() {
        let unit = chain("systemd", "a.service", "", Trust::Enforced);
        let job = chain("slurm", "7", "0", Trust::Enforced);
        let mut as_is = names(None);
        assert_eq!(
            is(as_is.read(id(1), &unit, true, AT)),
            told("a.service", "-")
        );
        assert_eq!(
            is(as_is.read(id(2), &Chain::default(), true, AT)),
            told("-", "-")
        );
        let mut asked = names(Some("LOGIN"));
        assert_eq!(is(asked.read(id(1), &unit, true, AT)), told("LOGIN", "-"));
        let none = Chain::default();
        assert_eq!(is(asked.read(id(2), &none, true, AT)), told("LOGIN", "-"));
        assert_eq!(is(asked.read(id(3), &job, true, AT)), told("7", "0"));
        // What could not be read may be in a job.
        assert_eq!(is(asked.read(id(4), &none, false, AT)), told("-", "-"));
    }

    #[test]
    fn a_child_is_where_its_parent_is_unless_its_group_says_otherwise() {
        let mut names = names(None);
        names.read(id(1), &chain("slurm", "7", "", Trust::Claimed), true, AT);
        names.born(id(2), 1);
        names.born(id(3), 9);
        let none = Chain::default();
        assert_eq!(is(names.met(id(2), Some(&none), AT)), told("7", "-"));
        assert_eq!(is(names.met(id(3), None, AT)), told("-", "-"));
        let other = chain("slurm", "8", "0", Trust::Enforced);
        assert_eq!(is(names.met(id(2), Some(&other), AT)), told("8", "0"));
        assert_eq!(is(names.ended((id(2), Some(5)), None, AT)), told("8", "0"));
        assert_eq!(is(names.met(id(2), None, AT)), told("-", "-"));
        // A unit is no job, and what stands for a job is less than its id.
        let unit = chain("systemd", "a.service", "", Trust::Enforced);
        assert_eq!(is(names.met(id(1), Some(&unit), AT)), told("7", "-"));
        let stand_in = chain("slurm", "sX", "", Trust::Enforced);
        assert_eq!(is(names.met(id(1), Some(&stand_in), AT)), told("7", "-"));
        assert_eq!(is(names.met(id(4), Some(&stand_in), AT)), told("sX", "-"));
        let another = chain("slurm", "sY", "", Trust::Enforced);
        assert_eq!(is(names.met(id(4), Some(&another), AT)), told("sY", "-"));
    }

    #[test]
    fn whose_end_was_missed_is_forgotten() {
        let mut names = names(None);
        names.read(id(1), &chain("slurm", "7", "", Trust::Claimed), true, AT);
        let has = |names: &Names| names.known(id(1)).is_some();
        names.reading([id(1)].into_iter(), AT, true);
        names.reading([].into_iter(), AT, true);
        assert!(has(&names));
        names.reading([].into_iter(), AT, true);
        assert!(!has(&names));
        names.read(id(1), &chain("slurm", "7", "", Trust::Claimed), true, AT);
        names.reading([].into_iter(), AT, false);
        assert!(!has(&names));
    }
}
