//! What a report says besides measurements: who, what, where, when, asked for and provided; and its writing.

use super::person;
use super::task::Task;
use crate::cmd::Status;
use crate::cmd::run::RunOptions;
use anyhow::Result;
use record::report;
use record::timestamp::rfc3339;
use record::unit::Nanos;
use std::collections::BTreeMap;
use sys::clock::{self, Clock};
use sys::process;

/// Most notes that a report carries; what comes later is counted.
const NOTES_MAX: usize = 64;

/// The facts of one run.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The report so far: everything but usage and end.
    pub(crate) report: report::Report,
    /// Start of the task, `CLOCK_BOOTTIME`.
    pub(crate) start: Nanos,
    /// What is added to `CLOCK_BOOTTIME` for the time since 1970.
    real_offset: u64,
    notes_dropped: u64,
}

impl Facts {
    /// Everything that is known before the task starts.
    pub(crate) fn gather(options: &RunOptions) -> Result<Self> {
        let now = clock::boot();
        let real_offset = clock::now(Clock::Real).saturating_sub(now);
        let report = report::Report {
            schema: report::SCHEMA.to_owned(),
            task: task(options, now),
            request: BTreeMap::new(),
            allocation: BTreeMap::new(),
            host: report::Host::default(),
            start: String::new(),
            end: String::new(),
            exit: report::Exit {
                kind: report::ExitType::Running,
                code: None,
                status: None,
                signal: None,
                cause: None,
                evidence: Vec::new(),
            },
            limits: Vec::new(),
            exceeded: Vec::new(),
            usage: report::Usage::default(),
            monitor: report::Monitor::default(),
        };
        Ok(Self {
            report,
            start: Nanos(now),
            real_offset,
            notes_dropped: 0,
        })
    }

    /// The task is about to execute.
    pub(crate) fn started(&mut self, _task: &Task) {
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

    /// The command never ran: reports that and returns the status.
    pub(crate) fn not_started(
        &mut self,
        _options: &RunOptions,
        status: Status,
        cause: &str,
    ) -> Status {
        super::warn(cause);
        status
    }
}

fn task(options: &RunOptions, now: u64) -> report::Task {
    let lossy = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
    let uid = process::real_uid();
    let made = || {
        format!(
            "{:x}-{:x}",
            clock::now(Clock::Real),
            u64::from(std::process::id()) ^ now
        )
    };
    report::Task {
        id: options.id.clone().unwrap_or_else(made),
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
