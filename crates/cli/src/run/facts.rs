//! What a report says besides measurements: who, what, where, when, asked for and provided.

use super::containers::{Client, State};
use super::named::Outputs;
use super::person;
use crate::cmd::run::{Level, RunOptions};
use crate::view::headline::Departure;
use record::event::Event;
use record::limit::Limit;
use record::report::{self, Claim, Evidence, serde_free::Scalar};
use record::timestamp::rfc3339;
use record::unit::{Nanos, Unit};
use record::value::{Absent, Number};
use reduce::tree::Tree;
#[cfg(feature = "bpf")]
use reduce::why::fault_name;
use source::context::remote::{Here, leaves_tree};
use source::group::{OomKills, Throttles};
use source::interpose::preload::Seen;
use source::query::proc_pid_stat::{self, Stat};
use source::root::Root;
use std::collections::BTreeMap;
use std::path::Path;
use sys::clock::{self, Clock};
use sys::process::{self, Usage};
use sys::signal::Arrived;

/// Most notes that a report carries; what comes later is counted.
const NOTES_MAX: usize = 64;
/// Most signals that are kept as evidence.
const SIGNALS_MAX: usize = 16;
/// SIGCHLD, SIGCONT, SIGURG, SIGWINCH (a terminal that is resized sends it many times), and those
/// that stop a job, which went on or it would not have ended.
const ENDS_NOTHING: &[i32] = &[17, 18, 20, 21, 22, 23, 28];
/// Most clients of container daemons whose containers are looked for.
const CLIENTS_MAX: usize = 64;
/// Programs whose containers may run on this machine.
const CLIENTS: &[&str] = &[
    "docker",
    "docker-compose",
    "nerdctl",
    "ctr",
    "podman",
    "podman-remote",
];

/// The facts of one run.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The report so far: everything but usage and end.
    pub(crate) report: report::Report,
    /// Start of the task, `CLOCK_BOOTTIME`.
    pub(crate) start: Nanos,
    /// Programs through which work left the tree.
    pub(crate) departures: Vec<Departure>,
    /// Programs of the task that ask a daemon for containers.
    pub(crate) clients: Vec<Client>,
    /// Why there is no control group of our own with memory.
    pub(crate) group_absent: Option<Absent>,
    /// The launcher was ended from outside.
    pub(crate) launcher_ended: bool,
    /// Why the working directory's footprint is not measured.
    pub(crate) footprint_absent: Option<String>,
    /// Processes that the kernel ended for want of memory around here.
    pub(crate) oom: OomKills,
    /// What quotas on CPU time above us held back.
    pub(crate) throttles: Throttles,
    /// The launcher's own cost.
    pub(crate) launcher: Usage,
    /// The outputs that were named, to be looked at once more.
    pub(crate) outputs: Outputs,
    /// How much the library saw that counts files, if it did.
    pub(crate) library_saw: Option<Seen>,
    /// Nodes of the scheduler's job, if told; 1 outside of any.
    nodes: Option<u64>,
    /// What is added to `CLOCK_BOOTTIME` for the time since 1970.
    real_offset: u64,
    notes_dropped: u64,
}

impl Facts {
    /// Everything that is known before the task starts.
    pub(crate) fn gather(options: &RunOptions) -> Self {
        let mut facts = Self::before(options);
        for note in &options.notes {
            facts.note(note.as_str());
        }
        facts
    }

    fn before(options: &RunOptions) -> Self {
        let now = clock::boot();
        let real_offset = clock::now(Clock::Real).saturating_sub(now);
        let surroundings = super::surroundings::gather();
        // Outside of a job a program that reaches another host executes one that is known for it.
        let alone = surroundings.job.scheduler.is_none().then_some(1);
        let nodes = surroundings.nodes.or(alone);
        let mut task = task(options, now);
        task.job = surroundings.job;
        task.image = surroundings.image;
        let mut request = surroundings.request;
        for asked in &options.limits {
            let (value, unit) = in_unit(&asked.limit);
            let source = asked.source.clone();
            request.insert(
                asked.limit.resource.name().to_owned(),
                Claim {
                    value,
                    unit,
                    source,
                },
            );
        }
        let limits = options.limits.iter();
        let limits = limits.map(|asked| limit_set(&asked.limit)).collect();
        let report = report::Report {
            schema: report::SCHEMA.to_owned(),
            task,
            request,
            allocation: surroundings.allocation,
            host: surroundings.host,
            start: rfc3339(now.saturating_add(real_offset)),
            end: String::new(),
            exit: running(),
            limits,
            exceeded: Vec::new(),
            usage: report::Usage::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            containers: Vec::new(),
            survivors: Vec::new(),
            gpus: Vec::new(),
            footprint: Vec::new(),
            file_systems: Vec::new(),
            system_calls: Vec::new(),
            monitor: monitor(options),
        };
        Self {
            report,
            start: Nanos(now),
            departures: Vec::new(),
            clients: Vec::new(),
            group_absent: None,
            launcher_ended: false,
            footprint_absent: None,
            oom: surroundings.oom,
            throttles: surroundings.throttles,
            launcher: Usage::default(),
            outputs: Outputs::default(),
            library_saw: None,
            nodes,
            real_offset,
            notes_dropped: 0,
        }
    }

    /// The task is about to execute.
    pub(crate) fn started(&mut self) {
        self.start = Nanos(clock::boot());
        self.report.start = self.real(self.start);
    }

    /// An instant of `CLOCK_BOOTTIME` as a date.
    pub(crate) fn real(&self, at: Nanos) -> String {
        rfc3339(at.0.saturating_add(self.real_offset))
    }

    /// A note for the reader, once.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        let notes = &mut self.report.monitor.notes;
        if notes.contains(&text) {
            return;
        }
        if notes.len() < NOTES_MAX {
            notes.push(text);
        } else {
            self.notes_dropped += 1;
        }
    }

    /// How many notes found no place.
    pub(crate) const fn notes_dropped(&self) -> u64 {
        self.notes_dropped
    }

    /// The mechanism that was chosen.
    pub(crate) fn watched_by(&mut self, mechanism: &str, level: Level, asked: Option<Level>) {
        let more = asked == Some(Level::Query) && level != Level::Query;
        let level = match level {
            Level::Query => "query",
            Level::Events => "events",
            Level::Io => "io",
        };
        self.report.monitor.level = level.to_owned();
        self.report.monitor.mechanism = mechanism.to_owned();
        // What was chosen by name may tell more.
        if more {
            let words = format!("{mechanism} tells level {level} too");
            self.note(format!("level query was asked for: {words}"));
        }
    }

    /// There is no control group with memory accounting for the task.
    pub(crate) fn no_group(&mut self, error: &sys::cgroup::Error) {
        self.group_absent = Some(source::group::absent(error));
    }

    /// Whether the task may leave the group of its login for a scope: not out of a scheduler's job.
    pub(crate) fn may_have_a_scope(&self) -> bool {
        self.report.task.job.scheduler.is_none()
    }

    /// The working directory is not walked.
    pub(crate) fn footprint_left_alone(&mut self, why: String) {
        self.footprint_absent = Some(why);
    }

    /// A signal reached the front: evidence of who sent it, unless it is none that ends anything
    /// where nobody minds it. One of the same sender is no further evidence.
    pub(crate) fn signal(&mut self, arrived: &Arrived) {
        if ENDS_NOTHING.contains(&arrived.signal) {
            return;
        }
        let name = crate::view::headline::signal_name(arrived.signal);
        let sender = if arrived.from_kernel() {
            "the terminal or the kernel".to_owned()
        } else {
            let name = name_of(arrived.pid);
            format!("pid {} of uid {}{name}", arrived.pid, arrived.uid)
        };
        let evidence = &mut self.report.exit.evidence;
        let one = Evidence {
            kind: "signal_sender".to_owned(),
            value: Scalar::Text(format!("{name} from {sender}")),
            source: "siginfo".to_owned(),
        };
        if evidence.len() < SIGNALS_MAX && !evidence.contains(&one) {
            evidence.push(one);
        }
    }

    /// A process, or the kernel for what it did, sent the command the signal that it ended by:
    /// evidence, unless it was one of ours.
    #[cfg(feature = "bpf")]
    pub(crate) fn killed_by(&mut self, sender: sys::bpf::Sender) {
        if [std::process::id(), sys::process::parent()].contains(&sender.pid) {
            return;
        }
        let signal = i32::try_from(sender.signal).unwrap_or_default();
        let name = crate::view::headline::signal_name(signal);
        let comm = String::from_utf8_lossy(sender.comm());
        self.report.exit.evidence.push(Evidence {
            kind: "killed_by".to_owned(),
            value: Scalar::Text(match sender.fault {
                Some(code) => format!("{name} from the kernel ({})", fault_name(signal, code)),
                None if sender.is_itself => format!("{name} from itself ({comm})"),
                None => {
                    let (pid, uid) = (sender.pid, sender.uid);
                    format!("{name} from pid {pid} of uid {uid} ({comm})")
                }
            }),
            source: "tracepoint signal_generate".to_owned(),
        });
    }

    /// Looks for programs whose work leaves the tree.
    pub(crate) fn event(&mut self, event: &Event, tree: &mut Tree) {
        if let Event::Exit { pid, .. } = event {
            self.client_ended(*pid);
        }
        let Event::Exec {
            at, pid, command, ..
        } = event
        else {
            return;
        };
        let here = Here {
            nodes: self.nodes,
            host: &self.report.host.name,
            process: Some((Path::new("/proc"), *pid)),
        };
        let Some(departure) = leaves_tree(command, &here) else {
            return;
        };
        if departure.certain && CLIENTS.contains(&departure.program.as_str()) {
            self.client(*pid, *at, &departure.program, command);
        }
        if self
            .departures
            .iter()
            .any(|one| one.program == departure.program)
        {
            return;
        }
        if departure.certain {
            tree.departed(&departure.program);
            let program = departure.program.clone();
            self.departures.push(Departure {
                program,
                elsewhere: false,
            });
        }
        self.note(format!("{} {}", departure.program, departure.what));
    }
}

impl Facts {
    /// A program of the task asks a daemon for a container.
    fn client(&mut self, pid: u32, at: Nanos, program: &str, command: &[u8]) {
        if self.clients.len() >= CLIENTS_MAX {
            return self.note(format!(
                "more than {CLIENTS_MAX} containers: the later ones are not followed"
            ));
        }
        self.clients.push(Client {
            pid,
            at,
            program: program.to_owned(),
            command: command.to_vec(),
            state: State::Seeking,
        });
    }

    fn client_ended(&mut self, pid: u32) {
        let of_pid = |one: &&mut Client| one.pid == pid && one.state == State::Seeking;
        for client in self.clients.iter_mut().filter(of_pid) {
            client.state = State::Ended;
        }
    }
}

/// ` (NAME)` of a process that sent a signal, unless it is gone by now or in a PID namespace that
/// is not ours.
fn name_of(pid: u32) -> String {
    if pid == 0 {
        return String::new();
    }
    let name = |stat: &Stat<'_>| format!(" ({})", String::from_utf8_lossy(stat.comm));
    proc_pid_stat::read(&Root::default(), Some(pid), name).unwrap_or_default()
}

/// The state of a task that has not ended.
pub(crate) fn running() -> report::Exit {
    report::Exit {
        kind: report::ExitType::Running,
        code: None,
        status: None,
        signal: None,
        cause: None,
        evidence: Vec::new(),
    }
}

/// A limit's number and unit as reports write them: cores in whole and parts, not in thousandths.
pub(crate) fn in_unit(limit: &Limit) -> (Number, Unit) {
    let unit = limit.resource.kind().map_or(Unit::Count, |kind| kind.unit);
    (number_in(limit.value, unit), unit)
}

/// A base-unit number as reports write it.
fn number_in(value: u64, unit: Unit) -> Number {
    match unit {
        Unit::Cores | Unit::Ratio => Number::Real(value as f64 / 1000.0),
        _ => Number::Whole(value),
    }
}

fn limit_set(limit: &Limit) -> report::LimitSet {
    let (limit_value, unit) = in_unit(limit);
    report::LimitSet {
        resource: limit.resource.name().to_owned(),
        limit: limit_value,
        unit,
    }
}

/// What is known of us before anything is watched.
fn monitor(options: &RunOptions) -> report::Monitor {
    report::Monitor {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        level: "query".to_owned(),
        mechanism: "procfs".to_owned(),
        interval_ns: options.interval,
        ..report::Monitor::default()
    }
}

/// A name that no other run has.
pub(crate) fn made_id(now: u64) -> String {
    let (real, pid) = (clock::now(Clock::Real), std::process::id());
    format!("{real:x}-{now:x}-{pid:x}")
}

fn task(options: &RunOptions, now: u64) -> report::Task {
    let lossy = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    let uid = process::real_uid();
    report::Task {
        id: options.id.clone().unwrap_or_else(|| made_id(now)),
        command: options.command.iter().map(lossy).collect(),
        // Unreadable or deleted: the task may run there all the same.
        cwd: std::env::current_dir().map_or_else(|_| String::new(), |d| d.display().to_string()),
        user: person::name(uid),
        uid,
        category: options.category.clone(),
        labels: options.labels.clone(),
        attempt: options.attempt,
        inputs_bytes: options.inputs.map(|bytes| bytes.0),
        image: None,
        job: report::Job::default(),
    }
}

/// Where the task runs and for whom, as the machine and the scheduler tell.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) job: report::Job,
    pub(crate) image: Option<String>,
    pub(crate) nodes: Option<u64>,
    pub(crate) request: BTreeMap<String, Claim>,
    pub(crate) allocation: BTreeMap<String, Claim>,
    pub(crate) host: report::Host,
    pub(crate) oom: OomKills,
    pub(crate) throttles: Throttles,
}
