//! The jobs of this machine: a row of `job` when one is first seen, when anything of it is another,
//! with each segment, and when its last process is gone.
//!
//! What is known of a job is read from one of its processes, by the thread that may wait for it
//! (`detail`); how it ended only its scheduler knows.

use super::Segments;
use super::cells::Cells;
use super::charge::Charge;
use super::names::{JobKey, JobName, Name};
use super::reader::FILES_MAX;
use super::who::{Users, id_of};
use record::context::Trust;
use record::identity::ProcessId;
use record::job::JobRecord;
use record::table::job::{self, Presence};
use record::unit::Nanos;
use record::value::Absent;
use source::context::read::{ReadMemory, all_by};
use source::context::{chain, job as facts, job_group};
use source::group::GroupReader;
use source::root::Root;
use std::collections::HashMap;
use store::Error;
use store::segment::Instant;
use sys::rlimit;

/// Jobs at once; rows of more are lost.
const JOBS_MAX: usize = 1 << 14;
/// Jobs whose control group is read, each by two open files, and which part of all files these may
/// be.
const GROUPS_MAX: u64 = 1 << 10;
const GROUPS_PART: u64 = 16;
/// Parts of a job whose names are kept.
const STEPS_MAX: usize = 64;
/// Processes of a job that are asked until one has its environment; and so many new ones that are
/// gone by then, after which those are asked that a reading meets.
const ASKED_MAX: usize = 16;
/// The limits of a job are read again after so many readings.
const READINGS_BETWEEN: u64 = 64;
/// A job is over when so many readings in a row have met no process of it: one that is new may not
/// have been read yet.
const READINGS_EMPTY: u64 = 2;

/// Between two readings of a control group for processes of the same job that were killed.
const KILLS_BETWEEN: Nanos = Nanos::from_millis(50);

/// What a process tells of its job.
pub(super) struct Facts {
    record: Option<JobRecord>,
    uid: Option<u32>,
    /// Its control group.
    group: Option<GroupReader>,
    /// Why its environment says nothing of the job.
    environment: Result<(), Absent>,
}

impl Facts {
    /// Of one that cannot be asked.
    pub(super) const fn absent(why: Absent) -> Self {
        Self {
            record: None,
            uid: None,
            group: None,
            environment: Err(why),
        }
    }

    /// Reads what this process tells, if it is that one still.
    pub(super) fn read(root: &Root, id: ProcessId, memory: ReadMemory<'_>) -> Self {
        let Ok((input, unread)) = all_by(root, id.pid, None, memory) else {
            return Self::absent(Absent::Gone);
        };
        let chain = chain::resolve(&input);
        let record = facts::record(&chain, &input, &job_group::limits(&input.groups));
        let is_claim = |(_, fact): (&str, &record::job::JobFact)| fact.trust == Trust::Claimed;
        let is_told = record.as_ref().is_some_and(|it| it.facts().any(is_claim));
        let unread = unread.iter().find(|one| one.source.ends_with("/environ"));
        let status = source::query::proc_pid_status::read(root, Some(id.pid));
        if id_of(root, id.pid) != Some(id) {
            return Self::absent(Absent::Gone);
        }
        Self {
            record,
            uid: status.ok().and_then(|status| status.uid),
            group: job_group::life(&input.groups),
            environment: match unread {
                Some(unread) => Err(unread.absent),
                None if is_told => Ok(()),
                None => Err(Absent::NotApplicable),
            },
        }
    }
}

/// All jobs that have processes here.
pub(super) struct Jobs {
    all: HashMap<JobKey, Known>,
    /// Who was asked about which.
    asked: HashMap<ProcessId, JobKey>,
    /// Who is to be asked.
    questions: Vec<ProcessId>,
    users: Users,
    cells: Cells,
    /// Jobs whose control group may be open yet.
    groups_left: usize,
    /// Rows of jobs that were one too many.
    left_out: u32,
    pass: u64,
}

/// What is known of a job.
struct Known {
    record: JobRecord,
    seen: Presence,
    /// Processes of it.
    living: usize,
    /// Readings in a row without any.
    empty: u64,
    /// Something is another since its last row.
    is_changed: bool,
    has_row: bool,
    is_asked: bool,
    /// Who may tell the environment, the latest last; and who was asked and did not.
    candidates: Vec<ProcessId>,
    asked_in_vain: Vec<ProcessId>,
    /// Who was gone before, the last ones.
    gone: Vec<ProcessId>,
    has_environment: bool,
    charge: Charge,
    /// When it was read last for a process that was killed.
    charged_at: Nanos,
    /// Its limits are read again then.
    due: u64,
}

impl Known {
    fn new(name: &JobName, due: u64) -> Self {
        let mut record = JobRecord::default();
        let source = "the context chain";
        record.tell_text("scheduler", Some(name.key.0), source, name.trust);
        record.tell_text("identifier", Some(&name.key.1), source, name.trust);
        Self {
            record,
            seen: Presence {
                exit_absent: Some(Absent::Off),
                ..Presence::default()
            },
            living: 0,
            empty: 0,
            is_changed: true,
            has_row: false,
            is_asked: false,
            candidates: Vec::new(),
            asked_in_vain: Vec::new(),
            gone: Vec::new(),
            has_environment: false,
            charge: Charge::default(),
            charged_at: Nanos(0),
            due,
        }
    }

    /// Reads what its control group was charged.
    fn read_charge(&mut self, groups_left: &mut usize, pass: u64) {
        if self.charge.read(&mut self.seen) {
            *groups_left += 1;
            self.due = pass;
        }
    }

    fn at(&mut self, at: Nanos) {
        self.seen.last_seen = self.seen.last_seen.max(Some(at));
    }

    fn step(&mut self, step: &str) {
        if self.seen.steps.iter().any(|known| known == step) {
            return;
        }
        let has_room = self.seen.steps.len() < STEPS_MAX;
        self.is_changed |= has_room || !self.seen.steps_cut;
        match has_room {
            true => self.seen.steps.push(step.to_owned()),
            false => self.seen.steps_cut = true,
        }
    }

    /// This process may tell the environment of the job.
    fn may_tell(&mut self, id: ProcessId) {
        let known = [&self.candidates, &self.asked_in_vain, &self.gone];
        let is_known = known.iter().any(|ids| ids.contains(&id));
        if self.has_environment || is_known || self.asked_in_vain.len() >= ASKED_MAX {
            return;
        }
        if self.candidates.len() >= ASKED_MAX {
            self.candidates.remove(0);
        }
        self.candidates.push(id);
    }

    /// So may one that has just begun, if such ones are there for long enough.
    fn new_may_tell(&mut self, id: ProcessId) {
        if self.gone.len() < ASKED_MAX {
            self.may_tell(id);
        }
    }

    /// One that was asked was gone.
    fn is_gone(&mut self, id: ProcessId) {
        self.asked_in_vain.retain(|asked| *asked != id);
        if self.gone.len() >= ASKED_MAX {
            self.gone.remove(0);
        }
        self.gone.push(id);
    }

    /// Who is asked next: the latest, which is the likeliest to be there.
    fn next_asked(&mut self) -> Option<ProcessId> {
        if self.is_asked || self.has_environment || self.asked_in_vain.len() >= ASKED_MAX {
            return None;
        }
        let id = self.candidates.pop()?;
        self.asked_in_vain.push(id);
        self.is_asked = true;
        Some(id)
    }

    /// Its processes are of this user. Root's may be its scheduler's.
    fn owned(&mut self, uid: u32, users: &mut Users) {
        let before = self.record.clone();
        let (from, trust) = ("/proc/PID/status Uid", Trust::Observed);
        self.record.tell_int("uid", Some(uid.into()), from, trust);
        let name = users.name(uid).map(String::from_utf8_lossy);
        self.record
            .tell_text("user", name.as_deref(), "/etc/passwd", trust);
        self.is_changed |= self.record != before;
    }
}

impl Jobs {
    pub(super) fn new() -> Self {
        Self {
            all: HashMap::new(),
            asked: HashMap::new(),
            questions: Vec::new(),
            users: Users::default(),
            cells: Cells::new(&job::TABLE),
            groups_left: groups_max(),
            left_out: 0,
            pass: 0,
        }
    }

    fn of(&mut self, name: &Name) -> Option<&mut Known> {
        self.all.get_mut(&name.job.as_ref()?.key)
    }

    /// A process is in this job from now on.
    pub(super) fn enter(&mut self, name: &Name, id: ProcessId, at: Nanos) {
        let Some(job) = &name.job else {
            return;
        };
        let key = job.key.clone();
        if self.all.len() >= JOBS_MAX && !self.all.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let due = self.pass + READINGS_BETWEEN;
        let known = self.all.entry(key.clone());
        let known = known.or_insert_with(|| Known::new(job, due));
        known.living += 1;
        known.empty = 0;
        known.is_changed |= !known.seen.is_present;
        known.seen.is_present = true;
        known.at(at);
        let first = known.seen.first_start.unwrap_or(id.start_ns);
        known.seen.first_start = Some(first.min(id.start_ns));
        if let Some(step) = &name.part {
            known.step(step);
        }
        known.new_may_tell(id);
        self.ask_next(&key);
    }

    /// Asks the next one about a job that nobody has told of.
    fn ask_next(&mut self, key: &JobKey) {
        if let Some(known) = self.all.get_mut(key)
            && let Some(id) = known.next_asked()
        {
            self.questions.push(id);
            self.asked.insert(id, key.clone());
        }
    }

    /// A process of this job executes another program: its environment may be another.
    pub(super) fn became(&mut self, name: &Name, id: ProcessId) {
        let Some(key) = name.job.as_ref().map(|job| job.key.clone()) else {
            return;
        };
        if let Some(known) = self.all.get_mut(&key) {
            known.asked_in_vain.retain(|asked| *asked != id);
            known.new_may_tell(id);
        }
        self.ask_next(&key);
    }

    /// A process is not in this job any more; it was until then, if that is known.
    pub(super) fn leave(&mut self, name: &Name, at: Option<Nanos>) {
        if let Some(known) = self.of(name) {
            known.living = known.living.saturating_sub(1);
            if let Some(at) = at {
                known.at(at);
            }
        }
    }

    /// An event told of a process of this job.
    pub(super) fn seen(&mut self, name: &Name, at: Nanos) {
        if let Some(known) = self.of(name) {
            known.at(at);
        }
    }

    /// A process of this job was of this user.
    pub(super) fn owned(&mut self, name: &Name, uid: u32) {
        let Some(known) = name.job.as_ref().and_then(|job| self.all.get_mut(&job.key)) else {
            return;
        };
        if uid != 0 {
            known.owned(uid, &mut self.users);
        }
    }

    /// A reading met a process of this job.
    pub(super) fn lives(&mut self, name: &Name, id: ProcessId, at: Nanos) {
        let pass = self.pass;
        let Some(known) = self.of(name) else {
            return;
        };
        known.at(at);
        if known.due <= pass && !known.is_asked {
            known.due = pass + READINGS_BETWEEN;
            known.is_asked = true;
            self.questions.push(id);
            self.asked
                .extend(name.job.as_ref().map(|job| (id, job.key.clone())));
            return;
        }
        known.may_tell(id);
        if !known.candidates.is_empty()
            && let Some(job) = &name.job
        {
            self.ask_next(&job.key);
        }
    }

    /// A reading is over: who was met by none may be at its end.
    pub(super) fn read(&mut self) {
        self.pass += 1;
        for known in self.all.values_mut() {
            known.empty = match known.living {
                0 => known.empty + 1,
                _ => 0,
            };
            known.read_charge(&mut self.groups_left, self.pass);
        }
    }

    /// Somebody killed a process of a job: its control group may be gone soon, and what it was
    /// charged last was perhaps the most.
    pub(super) fn killed(&mut self, key: &JobKey, at: Nanos) {
        let known = self.all.get_mut(key);
        if let Some(known) = known.filter(|known| at.since(known.charged_at) >= KILLS_BETWEEN) {
            known.charged_at = at;
            known.read_charge(&mut self.groups_left, self.pass);
        }
    }

    /// Who is to be asked about their jobs.
    pub(super) fn questions(&mut self) -> Vec<ProcessId> {
        std::mem::take(&mut self.questions)
    }

    /// What a process told of its job.
    pub(super) fn answered(&mut self, id: ProcessId, facts: Facts) {
        let Some(key) = self.asked.remove(&id) else {
            return;
        };
        let Some(known) = self.all.get_mut(&key) else {
            return;
        };
        known.is_asked = false;
        let is_its = |record: &JobRecord| {
            let is = |column, wanted: &str| record.text(column) == Some(wanted);
            is("scheduler", key.0) && is("identifier", &key.1)
        };
        let (record, told) = match facts.record.filter(is_its) {
            Some(record) => (Some(record), facts.environment),
            None => (None, facts.environment.and(Err(Absent::NotApplicable))),
        };
        if let Some(uid) = facts.uid.filter(|uid| *uid != 0 || told.is_ok()) {
            known.owned(uid, &mut self.users);
        }
        if let Some(record) = record {
            known.is_changed |= known.record.renew(record);
            if self.groups_left > 0 && known.charge.opens(facts.group, &mut known.seen) {
                self.groups_left -= 1;
            }
        }
        if told.is_ok() {
            known.has_environment = true;
            for ids in [
                &mut known.candidates,
                &mut known.asked_in_vain,
                &mut known.gone,
            ] {
                *ids = Vec::new();
            }
        }
        if told == Err(Absent::Gone) {
            known.is_gone(id);
        }
        let absent = told.err().filter(|_| !known.has_environment);
        known.is_changed |= known.seen.environment_absent != absent;
        known.seen.environment_absent = absent;
        self.ask_next(&key);
    }

    /// Whether this is a job that began less than `age` ago.
    pub(super) fn is_young(&self, name: &Name, now: Nanos, age: Nanos) -> bool {
        let known = name.job.as_ref().and_then(|job| self.all.get(&job.key));
        known.is_some_and(|known| known.is_young(now, age))
    }

    /// Whether there is any such.
    pub(super) fn has_young(&self, now: Nanos, age: Nanos) -> bool {
        self.all.values().any(|known| known.is_young(now, age))
    }

    /// Writes what is another since the last time, all if the segment is new; `is_end`: nobody
    /// writes after that.
    ///
    /// # Errors
    /// Some could not be written, and are counted as lost.
    pub(super) fn write(
        &mut self,
        (is_new, when): (bool, Instant),
        is_end: bool,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        let (cells, groups_left) = (&mut self.cells, &mut self.groups_left);
        let mut result = Ok(());
        self.all.retain(|_, known| {
            let is_over = known.empty >= READINGS_EMPTY || is_end && known.living == 0;
            // One without processes waits for its end, a new one for what it is.
            let is_living = known.living > 0;
            let is_due = match known.has_row {
                true => is_over || is_living && (known.is_changed || is_new || is_end),
                false => is_over || is_living && (!known.is_asked || is_end),
            };
            known.seen.is_present = !is_over;
            if is_over && !known.has_environment {
                // Who was to be asked may have gone before it was.
                known.seen.environment_absent.get_or_insert(Absent::Gone);
            }
            if is_over && known.charge.closes() {
                *groups_left += 1;
            }
            if is_due {
                (known.has_row, known.is_changed) = (true, false);
                cells.push(|out| job::put(out, &known.record, &known.seen), |_| true);
                if cells.is_full() && result.is_ok() {
                    result = cells.flush(when, writer);
                }
            }
            !is_over
        });
        writer.lose(std::mem::take(&mut self.left_out));
        result.and(self.cells.flush(when, writer))
    }
}

fn groups_max() -> usize {
    let files = rlimit::raise_open_files(FILES_MAX).unwrap_or(0);
    (files / GROUPS_PART).min(GROUPS_MAX) as usize
}

impl Known {
    fn is_young(&self, now: Nanos, age: Nanos) -> bool {
        let begun = self.seen.first_start;
        self.living > 0 && begun.is_some_and(|begun| now.since(begun) < age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(identifier: &str, part: &str) -> Name {
        Name {
            identifier: identifier.to_owned(),
            part: Some(part.to_owned()),
            job: Some(JobName {
                key: ("slurm", identifier.to_owned()),
                trust: Trust::Enforced,
                is_stand_in: false,
            }),
        }
    }

    fn id(pid: u32) -> ProcessId {
        ProcessId::new(pid, Nanos::from_secs(u64::from(pid)))
    }

    fn known<'a>(jobs: &'a Jobs, identifier: &str) -> &'a Known {
        &jobs.all[&("slurm", identifier.to_owned())]
    }

    fn facts(limit: u64, account: &str) -> Facts {
        let mut record = JobRecord::default();
        for (column, text) in [("scheduler", "slurm"), ("identifier", "7")] {
            record.tell_text(column, Some(text), "x", Trust::Enforced);
        }
        record.tell_int("memory_limit", Some(limit), "x", Trust::Enforced);
        record.tell_text("account", Some(account), "x", Trust::Claimed);
        Facts {
            record: Some(record),
            uid: Some(4711),
            group: None,
            environment: Ok(()),
        }
    }

    #[test]
    fn many_steps_are_one_job_and_their_names_have_a_bound() {
        let mut jobs = Jobs::new();
        for step in 0..100 {
            jobs.enter(
                &name("7", &step.to_string()),
                id(step + 1),
                Nanos(u64::from(step)),
            );
        }
        assert_eq!(jobs.all.len(), 1);
        let job = known(&jobs, "7");
        assert_eq!((job.living, job.seen.steps.len()), (100, STEPS_MAX));
        assert!(job.seen.steps_cut);
        assert_eq!(job.seen.first_start, Some(Nanos::from_secs(1)));
        // Nobody else is asked before the first has answered.
        assert_eq!(jobs.questions(), [id(1)]);
    }

    #[test]
    fn others_are_asked_until_one_has_the_environment_of_the_job() {
        let mut jobs = Jobs::new();
        jobs.enter(&name("7", "0"), id(1), Nanos(1));
        assert_eq!(jobs.questions(), [id(1)]);
        jobs.answered(id(1), Facts::absent(Absent::Gone));
        let absent = |jobs: &Jobs| known(jobs, "7").seen.environment_absent;
        assert_eq!(absent(&jobs), Some(Absent::Gone));
        jobs.enter(&name("7", "0"), id(2), Nanos(2));
        // They wait for the answer of the one before, the latest comes first.
        for pid in [3, 4] {
            jobs.enter(&name("7", "0"), id(pid), Nanos(2));
        }
        assert_eq!(jobs.questions(), [id(2)]);
        jobs.answered(id(2), Facts::absent(Absent::Gone));
        assert_eq!(jobs.questions(), [id(4)]);
        // In vain once: it is not asked again by a reading.
        jobs.lives(&name("7", "0"), id(2), Nanos(3));
        jobs.answered(id(4), Facts::absent(Absent::Gone));
        assert_eq!(jobs.questions(), [id(3)]);
        jobs.answered(id(3), facts(5, "physics"));
        assert_eq!(absent(&jobs), None);
        let job = known(&jobs, "7");
        assert_eq!(job.record.text("account"), Some("physics"));
        let uid = job.record.fact("uid").unwrap();
        assert_eq!(
            (uid.value.clone(), uid.trust),
            (record::job::JobValue::Int(4711), Trust::Observed,)
        );
        jobs.enter(&name("7", "0"), id(5), Nanos(3));
        assert!(jobs.questions().is_empty());
        // What another job's process tells is none of its.
        let mut jobs = Jobs::new();
        jobs.enter(&name("8", "0"), id(1), Nanos(1));
        jobs.answered(id(1), facts(5, "physics"));
        let job = known(&jobs, "8");
        assert_eq!(job.record.text("account"), None);
        assert_eq!(job.seen.environment_absent, Some(Absent::NotApplicable));
    }

    #[test]
    fn where_new_ones_are_always_gone_those_are_asked_that_a_reading_meets() {
        let mut jobs = Jobs::new();
        let job = name("7", "0");
        let enter = |jobs: &mut Jobs, pid: u32| jobs.enter(&job, id(pid), Nanos(pid.into()));
        enter(&mut jobs, 1);
        // More short ones than are asked.
        let last = 2000;
        for pid in 2..last {
            enter(&mut jobs, pid);
        }
        let mut asked = 0;
        for _ in 0..10 * ASKED_MAX {
            for id in jobs.questions() {
                asked += 1;
                jobs.answered(id, Facts::absent(Absent::Gone));
            }
        }
        assert_eq!(asked, 1 + ASKED_MAX);
        enter(&mut jobs, last);
        assert!(jobs.questions().is_empty());
        jobs.lives(&job, id(1500), Nanos::from_secs(3000));
        assert_eq!(jobs.questions(), [id(1500)]);
        jobs.answered(id(1500), facts(5, "physics"));
        let job = known(&jobs, "7");
        assert_eq!(job.record.text("account"), Some("physics"));
        assert_eq!(job.seen.environment_absent, None);
    }

    #[test]
    fn a_job_without_processes_ends_after_two_readings() {
        let mut jobs = Jobs::new();
        jobs.enter(&name("7", "0"), id(1), Nanos(1));
        jobs.leave(&name("7", "0"), Some(Nanos(9)));
        jobs.read();
        assert_eq!((known(&jobs, "7").empty, known(&jobs, "7").living), (1, 0));
        // One that was not read yet.
        jobs.enter(&name("7", "1"), id(2), Nanos(12));
        jobs.read();
        assert_eq!(known(&jobs, "7").empty, 0);
        jobs.leave(&name("7", "1"), Some(Nanos(15)));
        jobs.read();
        jobs.read();
        let job = known(&jobs, "7");
        assert_eq!(job.empty, READINGS_EMPTY);
        assert_eq!(job.seen.last_seen, Some(Nanos(15)));
    }

    #[test]
    fn a_job_is_young_by_its_first_process_while_it_has_one() {
        let mut jobs = Jobs::new();
        let job = name("7", "0");
        jobs.enter(&job, id(10), Nanos::from_secs(11));
        let young = |jobs: &Jobs, now| jobs.has_young(Nanos::from_secs(now), Nanos::from_secs(60));
        assert!(young(&jobs, 69) && !young(&jobs, 70));
        jobs.leave(&job, None);
        assert!(!young(&jobs, 12));
    }
}
