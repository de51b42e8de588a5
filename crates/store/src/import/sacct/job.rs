//! A job of the accounting and what its steps tell of it.

use super::{Asked, Entry, whole};
use crate::import::intake::{Halt, Intake, Place, end_of, set};
use crate::import::lines::Line;
use record::attempt::{Amount, Amounts, Attempt, End, Known};
use record::value::Number;

/// What a state says of the end.
#[derive(Debug, Clone, Copy)]
enum Ending {
    NotYet,
    As(End),
    Limit(&'static str),
    /// The state is the cause.
    Told(End),
}

const STATES: &[(&[&str], Ending)] = &[
    (&["COMPLETED"], Ending::As(End::Done)),
    (&["FAILED"], Ending::As(End::Failed)),
    (&["OUT_OF_MEMORY"], Ending::Limit("memory")),
    (&["TIMEOUT"], Ending::Limit("wall")),
    (
        &[
            "PENDING",
            "RUNNING",
            "SUSPENDED",
            "RESIZING",
            "COMPLETING",
            "CONFIGURING",
            "STOPPED",
        ],
        Ending::NotYet,
    ),
    (
        &["SPECIAL_EXIT", "LAUNCH_FAILED"],
        Ending::Told(End::Failed),
    ),
    (
        &[
            "CANCELLED",
            "NODE_FAIL",
            "BOOT_FAIL",
            "DEADLINE",
            "PREEMPTED",
            "REQUEUED",
            "REVOKED",
        ],
        Ending::Told(End::Cancelled),
    ),
];

fn limit(attempt: &mut Attempt, resource: &str) -> End {
    attempt.exceeded = Some(resource.to_owned());
    End::Limit
}

/// What a step used the most of counts.
const MEMORY: [&str; 2] = ["rss", "virtual"];

/// How the id of the step ends that holds what comes from outside, as by ssh; it has a process that
/// sleeps in any case.
const OUTSIDE: &str = ".extern";

/// A job whose steps may follow.
#[derive(Debug)]
pub(super) struct Job {
    entry: Entry,
    pub(super) id: String,
    /// Which of the lines of this id, from 1 on.
    pub(super) times: u32,
    /// Whether there are several, as of one that was queued again.
    pub(super) is_one_of_several: bool,
    line: u64,
    text: Vec<u8>,
    steps_cpu: Option<u64>,
    steps_read: Option<u64>,
    steps_written: Option<u64>,
    is_starved: bool,
    /// Whether steps of the job's own followed.
    has_own: bool,
    /// Of the step that holds what comes from outside.
    outside: Option<Amounts>,
}

impl Job {
    pub(super) fn new(entry: Entry, id: String, times: u32, line: Line<'_>) -> Self {
        Self {
            entry,
            id,
            times,
            is_one_of_several: times > 1,
            line: line.number,
            text: line.bytes.to_vec(),
            steps_cpu: None,
            steps_read: None,
            steps_written: None,
            is_starved: false,
            has_own: false,
            outside: None,
        }
    }

    pub(super) fn join(&mut self, step: Entry) {
        let (read, written) = (step.sum("read"), step.sum("written"));
        let Entry {
            attempt, state, id, ..
        } = step;
        match id.is_some_and(|id| id.ends_with(OUTSIDE)) {
            true => self.outside = Some(attempt.used.clone()),
            false => {
                self.has_own = true;
                self.at_least(&attempt.used);
            }
        }
        let cpu = attempt.used.get("cpu").and_then(whole);
        for (sum, value) in [
            (&mut self.steps_cpu, cpu),
            (&mut self.steps_read, read),
            (&mut self.steps_written, written),
        ] {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        }
        self.is_starved |= state.is_some_and(|state| state.starts_with("OUT_OF_ME"));
    }

    /// It used as much memory as one of its steps.
    fn at_least(&mut self, step: &Amounts) {
        let used = &mut self.entry.attempt.used;
        for name in MEMORY {
            let own = used.get(name);
            let more = step
                .get(name)
                .filter(|step| own.is_none_or(|own| step.value.as_f64() > own.value.as_f64()));
            if let Some(more) = more {
                used.set(name, more);
            }
        }
    }

    pub(super) fn finish(mut self, intake: &mut Intake<'_, '_>) -> Result<(), Halt> {
        if let Err(why) = self.end() {
            return intake.reject(Place::Line(self.line), &self.text, why);
        }
        self.amounts();
        let Self {
            entry,
            id,
            times,
            is_one_of_several,
            line,
            text,
            ..
        } = self;
        let Entry {
            mut attempt,
            raw_id,
            cluster,
            start,
            ..
        } = entry;
        // The elements of an array are one campaign.
        attempt.set = id.split_once('_').map(|(array, _)| array.to_owned());
        attempt.attempt = Some(times).filter(|_| is_one_of_several);
        let identity = intake
            .identity()
            .maybe(cluster.as_deref())
            .maybe(raw_id.as_deref().or(Some(&id)))
            .maybe(start.as_deref());
        attempt.task = Some(id.clone());
        attempt.job = Some(id);
        match start {
            Some(_) => intake.attempt_once(attempt, identity, Place::Line(line), &text),
            None => intake.attempt(attempt, identity),
        }
    }

    /// How it ended, or why it has not.
    fn end(&mut self) -> Result<(), &'static str> {
        let Entry { attempt, state, .. } = &mut self.entry;
        let state = state.as_deref().unwrap_or_default();
        // `CANCELLED by 1000`; a narrow column ends with `+`.
        let word = state.split(' ').next().unwrap_or_default();
        let is = |name: &&str| {
            let cut = word.strip_suffix('+');
            word == *name || cut.is_some_and(|cut| !cut.is_empty() && name.starts_with(cut))
        };
        let found = STATES.iter().find(|(names, _)| names.iter().any(&is));
        let ending = match found {
            _ if word.is_empty() => Ending::As(end_of(attempt.exit_code, attempt.signal)),
            Some((_, ending)) => *ending,
            None => Ending::Told(End::Unknown),
        };
        attempt.end = match ending {
            Ending::NotYet => return Err("it has not ended"),
            Ending::As(end) => end,
            Ending::Limit(resource) => limit(attempt, resource),
            Ending::Told(end) => {
                attempt.cause = Some(state.to_owned());
                end
            }
        };
        // The kernel ended a step for want of memory: the job failed for that.
        if self.is_starved && attempt.end == End::Failed {
            attempt.end = limit(attempt, "memory");
        }
        Ok(())
    }

    fn amounts(&mut self) {
        // A job that was too short to be looked at has 0 of its own: what the step used that only
        // waits is not what the job did.
        let used = &self.entry.attempt.used;
        let is_seen = |name: &str| used.get(name).is_some_and(|own| own.value.as_f64() > 0.0);
        if let Some(outside) = self.outside.take()
            && (!self.has_own || MEMORY.iter().any(|name| is_seen(name)))
        {
            self.at_least(&outside);
        }
        let read = self.steps_read.or_else(|| self.entry.sum("read"));
        let written = self.steps_written.or_else(|| self.entry.sum("written"));
        let steps_cpu = self.steps_cpu;
        let entry = &mut self.entry;
        let (cpus, nodes) = (entry.cpus_asked.or(entry.cpus_given), entry.nodes);
        let attempt = &mut entry.attempt;
        set(&mut attempt.used, "read", read);
        set(&mut attempt.used, "written", written);
        if attempt.used.get("cpu").is_none() {
            set(&mut attempt.used, "cpu", steps_cpu);
        }
        // What never began used nothing that would tell of it.
        if attempt.began.is_none() && attempt.used.get("wall").and_then(whole) == Some(0) {
            attempt.used = Amounts::default();
        }
        let memory = entry.memory.and_then(|memory| match memory {
            Asked::All(size) => Some(size),
            Asked::Node(size) => size.checked_mul(nodes.unwrap_or(1)),
            Asked::Cpu(size) => size.checked_mul(cpus?),
        });
        set(&mut attempt.requested, "memory", memory);
        if let Some(cpus) = cpus.filter(|cpus| *cpus > 0) {
            let cores = Amount::new(Number::Real(cpus as f64), Known::Claimed);
            attempt.requested.set("cores", cores);
        }
    }
}
