//! What is read of processes beside the readings, by a thread that may wait for them: who they are,
//! what they have open, what their memory weighs.

use super::Segments;
use super::descriptors::Descriptors;
use super::identity::Identities;
use super::jobs::Facts;
use super::opened::Opened;
use super::weights::Weights;
use super::who::{Who, id_of};
use anyhow::Result;
use record::identity::ProcessId;
use record::metric::{Kind, Metric, Scope};
use record::sample::ProcessSample;
use record::unit::{Nanos, Unit};
use record::value::Absent;
use source::aside::{Aside, Settings, Step, Told, Turn};
use source::context::kin::Kin;
use source::query::descriptors::Listing;
use source::query::proc_pid_smaps_rollup::{self, SmapsRollup};
use source::root::Root;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use store::Error;
use store::segment::Instant;
use sys::clock;
use sys::descriptor::{self, Waiting};

/// A process that does not answer for so long does not answer. A reading takes some 20 us, of the
/// largest memory that is weighed 3 ms.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Threads that may wait for such ones.
const STUCK_MAX: usize = 4;
/// Questions that wait: as many as there are processes of a reading.
const QUEUE_MAX: usize = super::PROCESSES_MAX;
/// What is not urgent may take so much of one CPU, millionths, and of a budget that part.
const LEISURE_SHARE: u64 = 1000;
const LEISURE_PART: u64 = 4;

/// What an agent tells of that.
pub(crate) const METRICS: &[Metric] = &[
    own(
        "agent_reads_stuck",
        Kind::Gauge,
        "threads of the agent that wait for the memory of a process that does not answer",
    ),
    own(
        "agent_reads_unanswered",
        Kind::Counter,
        "readings of a process that did not answer within a second",
    ),
    own(
        "agent_descriptors_left_out",
        Kind::Gauge,
        "open descriptors that are beyond what is kept of one process or of all, at the last look",
    ),
    own(
        "agent_sockets_left_out",
        Kind::Gauge,
        "open sockets whose ends were not told at the last look, as the tables of sockets are \
         longer than what is kept",
    ),
];

const fn own(name: &'static str, kind: Kind, doc: &'static str) -> Metric {
    Metric {
        name,
        kind,
        unit: Unit::Count,
        scope: Scope::Node,
        origin: "the agent",
        since: "any",
        method: "exact when read",
        doc,
    }
}

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Who a process is.
    Who(ProcessId),
    /// What it tells of its job.
    Facts(ProcessId),
    /// What it has open, at the look of that number.
    Descriptors(ProcessId, u64),
    /// What its memory weighs.
    Weight(ProcessId),
}

/// And its answer.
pub(super) enum Answer {
    Who(ProcessId, Box<Who>),
    Facts(ProcessId, Box<Facts>),
    Descriptors(ProcessId, Result<Listing, Absent>),
    Weight(ProcessId, Result<SmapsRollup, Absent>),
}

/// Who is asked.
pub(super) type Asker = Aside<Job, Answer>;

/// What is to be read.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    /// How often to look at descriptors; nothing for never.
    pub(crate) descriptors: Option<Nanos>,
    /// Whether to weigh memory.
    pub(crate) weighs: bool,
    /// Variables of the environment that are kept.
    pub(crate) variables: Vec<String>,
}

/// All of it.
pub(super) struct Detail {
    asker: Asker,
    descriptors: Descriptors,
    opened: Arc<Opened>,
    weights: Weights,
}

impl Detail {
    /// `budget` is what the whole agent may cost, millionths of one CPU. The thread comes with the
    /// first question, so that it is confined as its asker is then.
    pub(super) fn new(root: &Root, wishes: &Wishes, budget: Option<u64>) -> Result<Self> {
        let settings = Settings {
            patience: PATIENCE,
            stuck_max: STUCK_MAX,
            queue_max: QUEUE_MAX,
            leisure_share: budget.map_or(LEISURE_SHARE, |budget| budget / LEISURE_PART),
        };
        let (root, names) = (root.clone(), wishes.variables.clone());
        let kin = Kin::default();
        let opened = Arc::new(Opened::default());
        let looks = Arc::clone(&opened);
        let work = move |job: &Job, turn: &Turn<'_>| match *job {
            Job::Descriptors(id, look) => match looks.read(&root, id, look) {
                Step::Answer(open) => Step::Answer(Answer::Descriptors(id, open)),
                Step::More => Step::More,
            },
            Job::Who(id) => Step::Answer(who(&root, id, (&names, &kin), turn)),
            Job::Facts(id) => Step::Answer(facts(&root, id, turn)),
            Job::Weight(id) => Step::Answer(weight(&root, id, turn)),
        };
        Ok(Self {
            asker: Aside::new(settings, work)?,
            descriptors: Descriptors::new(wishes.descriptors),
            opened,
            weights: Weights::new(wishes.weighs),
        })
    }

    pub(super) const fn asker(&self) -> &Asker {
        &self.asker
    }

    /// When to take answers at the latest.
    pub(super) fn due(&self) -> Option<Nanos> {
        self.asker.due()
    }

    /// A reading met these processes, those that are wanted: asks what is due, and puts down what
    /// ended ones had open.
    pub(super) fn met<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a ProcessSample> + Clone,
        (is_new, when): (bool, Instant),
    ) {
        self.descriptors
            .met(samples.clone(), &self.asker, (is_new, when.at));
        self.weights.met(samples, &self.asker, when.at);
    }

    /// Fills in what was weighed since the last reading.
    pub(super) fn weigh(&mut self, samples: &mut [ProcessSample]) {
        self.weights.fill(samples);
    }

    /// Takes the answers that there are.
    ///
    /// # Errors
    /// Some could not be written, and are counted as lost.
    pub(super) fn take(
        &mut self,
        identities: &mut Identities,
        when: Instant,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        let mut result = Ok(());
        for told in self.asker.take() {
            match told {
                Told::Answer(Answer::Who(id, who)) => identities.answered(id, &who),
                Told::Answer(Answer::Facts(id, facts)) => {
                    identities.names.jobs.answered(id, *facts);
                }
                Told::Answer(Answer::Descriptors(id, open)) => self.descriptors.answered(id, open),
                Told::Answer(Answer::Weight(id, weight)) => {
                    self.weights.answered(id, weight, when.at);
                }
                Told::Silent(Job::Who(id)) => identities.unanswered(id, true),
                Told::Unasked(Job::Who(id)) => identities.unanswered(id, false),
                Told::Silent(job) | Told::Unasked(job) => match job {
                    Job::Descriptors(id, _) => self.descriptors.unanswered(id),
                    Job::Weight(id) => self.weights.unanswered(id, when.at),
                    Job::Facts(id) => {
                        let facts = Facts::absent(Absent::NoAnswer);
                        identities.names.jobs.answered(id, facts);
                    }
                    Job::Who(_) => {}
                },
            }
            if identities.is_full() {
                result = result.and(identities.flush(when, writer));
            }
            if self.descriptors.is_full() {
                result = result.and(self.descriptors.flush(when, writer));
            }
        }
        let goes_on = (!self.descriptors.is_over()).then_some(when.at);
        self.opened.forget(goes_on);
        let rest = identities.flush(when, writer);
        result.and(rest).and(self.descriptors.flush(when, writer))
    }

    /// Waits for who was asked who it is, no longer than one may take, and tells them all.
    ///
    /// # Errors
    /// Some could not be written, and are counted as lost.
    pub(super) fn end(
        &mut self,
        identities: &mut Identities,
        now: impl Fn() -> Instant,
        writer: &mut Segments,
    ) -> Result<(), Error> {
        let until = Nanos(clock::boot()).plus(PATIENCE);
        let mut result = self.take(identities, now(), writer);
        while identities.waits() {
            let left = until.since(Nanos(clock::boot()));
            let waiting = [Waiting {
                fd: Some(self.asker.as_fd()),
                exceptional: false,
            }];
            // A signal ends the wait: then they are told as they are.
            if left.0 == 0 || descriptor::poll(&waiting, Some(left.0)).is_err() {
                break;
            }
            result = result.and(self.take(identities, now(), writer));
        }
        identities.end();
        result.and(identities.flush(now(), writer))
    }

    /// What there is to tell of it itself, by the names of [`METRICS`].
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let (stuck, unanswered) = self.asker.silent();
        let [descriptors, sockets] = self.descriptors.left_out();
        let values = [stuck, unanswered, descriptors, sockets];
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let names = METRICS.iter().map(|metric| metric.name);
        names.zip(values.map(whole))
    }
}

impl AsFd for Detail {
    /// Readable when there are answers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.asker.as_fd()
    }
}

// In the thread that may wait.

fn who(root: &Root, id: ProcessId, (names, kin): (&[String], &Kin), turn: &Turn<'_>) -> Answer {
    let who = Who::read(root, id, names, (kin, &|pid| turn.may_read(pid)));
    Answer::Who(id, Box::new(who))
}

fn facts(root: &Root, id: ProcessId, turn: &Turn<'_>) -> Answer {
    let memory = |pid: u32, file: &str| match turn.may_read(pid) {
        true => root.read_process(Some(pid), file),
        false => Err(Absent::NoAnswer),
    };
    Answer::Facts(id, Box::new(Facts::read(root, id, &memory)))
}

fn weight(root: &Root, id: ProcessId, turn: &Turn<'_>) -> Answer {
    let weight = match turn.may_read(id.pid) {
        true => root.read_process(Some(id.pid), "smaps_rollup"),
        false => Err(Absent::NoAnswer),
    };
    let weight = weight.map(|text| proc_pid_smaps_rollup::parse(&text));
    Answer::Weight(id, if_still(root, id, weight))
}

/// What was read, if it is of that process.
pub(super) fn if_still<T>(
    root: &Root,
    id: ProcessId,
    read: Result<T, Absent>,
) -> Result<T, Absent> {
    match id_of(root, id.pid) == Some(id) {
        true => read,
        false => Err(Absent::Gone),
    }
}
