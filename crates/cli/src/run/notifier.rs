//! The mechanism that tells what happens to the task's processes, and how it is chosen.

use super::facts::Facts;
use super::task::Task;
use crate::cmd::run::{Level, Mechanism, RunOptions};
use anyhow::{Context, Result, bail};
use record::event::Event;
use record::unit::Nanos;
use reduce::settings::KernelCounts;
use source::notify::Notify;
use source::notify::connector::Connector;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The mechanism of one run.
pub(crate) enum Notifier {
    /// None: `/proc` is read now and then.
    Procfs,
    /// The kernel's process events.
    Connector(Box<Connector>),
}

impl Notifier {
    /// The best that this kernel and this user allow and that leaves the task as it is, or the one asked for
    /// by name.
    pub(crate) fn choose(options: &RunOptions, facts: &mut Facts) -> Result<Self> {
        match (options.level, options.mechanism) {
            (_, Some(Mechanism::Procfs)) | (Some(Level::Query), None) => Ok(Notifier::Procfs),
            (_, Some(Mechanism::Connector)) => Self::connector(),
            (_, Some(Mechanism::Bpf)) => bail!("--mechanism bpf: this build has no in-kernel programs"),
            (_, Some(Mechanism::Ptrace)) => bail!("--mechanism ptrace: not available"),
            (_, None) => match Self::connector() {
                Ok(notifier) => Ok(notifier),
                Err(error) => {
                    facts.note(format!("no process events, so /proc is read: {error:#}"));
                    Ok(Notifier::Procfs)
                }
            },
        }
    }

    fn connector() -> Result<Self> {
        let connector = Connector::open(Path::new("/proc")).context("--mechanism connector")?;
        Ok(Notifier::Connector(Box::new(connector)))
    }

    /// Its name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Notifier::Procfs => "procfs",
            Notifier::Connector(_) => "connector",
        }
    }

    /// What the reducer may expect of it.
    pub(crate) fn kind(&self) -> reduce::settings::Mechanism {
        match self {
            Notifier::Procfs => reduce::settings::Mechanism::Procfs,
            Notifier::Connector(_) => reduce::settings::Mechanism::Connector,
        }
    }

    /// Follows the command's process, which waits for its exec.
    pub(crate) fn follow(&mut self, task: &Task) -> Result<()> {
        match self {
            Notifier::Procfs => {}
            Notifier::Connector(connector) => connector.follow(task.pid(), task.adopter()),
        }
        Ok(())
    }

    /// Takes what happened.
    pub(crate) fn read(&mut self, sink: &mut Vec<Event>) -> Result<()> {
        match self {
            Notifier::Procfs => Ok(()),
            Notifier::Connector(connector) => Ok(connector.read(sink)?),
        }
    }

    /// The counts that the mechanism kept itself.
    pub(crate) fn counts(&self) -> Option<KernelCounts> {
        match self {
            Notifier::Procfs => None,
            Notifier::Connector(connector) => {
                let counts = connector.counts();
                Some(KernelCounts {
                    processes_total: Some(counts.processes_total),
                    processes_alive: Some(counts.processes_alive),
                    processes_peak: Some(counts.processes_peak),
                    threads_alive: Some(counts.threads_alive),
                    threads_peak: Some(counts.threads_peak),
                    events_lost: 0,
                    exact: counts.exact,
                })
            }
        }
    }

    /// The descriptor to wait on, if it wakes us.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Notifier::Procfs => None,
            Notifier::Connector(connector) => Some(connector.fd()),
        }
    }

    /// How often to look where nothing wakes us.
    pub(crate) fn period(&self) -> Option<Nanos> {
        None
    }
}
