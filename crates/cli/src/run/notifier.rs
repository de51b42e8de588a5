//! The mechanism that tells what happens to the task's processes, and how it is chosen.

use super::facts::Facts;
use super::files::Files;
use super::task::Task;
use crate::cmd::run::{Level, Mechanism, RunOptions};
use anyhow::{Context, Result, anyhow, bail};
use record::event::Event;
use record::unit::Nanos;
use reduce::settings::KernelCounts;
use source::follow::tree::Counts;
use source::notify::Notify;
#[cfg(feature = "bpf")]
use source::notify::agent;
#[cfg(feature = "bpf")]
use source::notify::bpf::Bpf;
use source::notify::connector::Connector;
use source::notify::ptrace::{self, Tracer};
use source::notify::taskstats::ExitValues;
use std::os::fd::BorrowedFd;
use std::path::Path;
#[cfg(feature = "bpf")]
use std::thread::JoinHandle;

/// What the reader of a report by ptrace must know.
const PTRACE_CHANGES: &str = "traced with ptrace as asked: for a user without privilege setuid \
    programs run without theirs, and debuggers, strace and leak checkers do not work \
    within the task";
const PTRACE_STOPS: &str = "the stops of the traced threads are left out of switches_voluntary; \
    where the task waits longer because of them it may switch more often";

#[cfg(feature = "bpf")]
const AGENT: &str = agent::MECHANISM.name;

/// The mechanism of one run.
pub(crate) enum Notifier {
    /// None: `/proc` is read now and then.
    Procfs,
    /// The kernel's process events; with the right to it, taskstats for what each process used.
    Connector(Box<Connector>),
    /// Programs in the kernel, ours or those of an agent.
    #[cfg(feature = "bpf")]
    Bpf(Box<Bpf>),
    /// Stops at every fork, exec and exit.
    Ptrace(Tracer),
}

/// The programs in the kernel while they are being opened in a thread: most of that is waiting for
/// the kernel, as is most of making a control group.
pub(crate) struct Opening {
    #[cfg(feature = "bpf")]
    thread: Option<JoinHandle<Result<Bpf, source::Error>>>,
}

impl Opening {
    /// Begins, if they may be what these options choose.
    #[cfg(feature = "bpf")]
    pub(crate) fn begin(options: &RunOptions) -> Self {
        let wanted = match options.mechanism {
            None => options.level != Some(Level::Query),
            named => matches!(named, Some(Mechanism::Bpf | Mechanism::Preload)),
        };
        let builder = std::thread::Builder::new().name("bpf".to_owned());
        // Without a thread they are opened when they are needed.
        let thread = wanted.then(|| builder.spawn(Bpf::open).ok()).flatten();
        Self { thread }
    }

    /// Begins, if they may be what these options choose.
    #[cfg(not(feature = "bpf"))]
    pub(crate) fn begin(_: &RunOptions) -> Self {
        Self {}
    }

    #[cfg(feature = "bpf")]
    fn finish(self) -> Result<Bpf> {
        match self.thread.map(JoinHandle::join) {
            Some(Ok(opened)) => Ok(opened?),
            Some(Err(_)) => bail!("the thread that opens the in-kernel programs panicked"),
            None => Ok(Bpf::open()?),
        }
    }
}

impl Notifier {
    /// Follows the command's process, which waits for its exec, with the mechanism asked for by
    /// name, else with the best that this kernel and this user allow and that leaves the task as
    /// it is.
    pub(crate) fn choose(
        options: &RunOptions,
        facts: &mut Facts,
        task: &Task,
        opening: Opening,
        files: &Files,
    ) -> Result<Self> {
        match (options.level, options.mechanism) {
            (Some(Level::Io), Some(Mechanism::Bpf)) => {
                Self::bpf(task, opening).context("--level io")
            }
            (_, Some(Mechanism::Bpf)) if options.syscalls => {
                Self::bpf(task, opening).context("--syscalls")
            }
            _ if options.syscalls => Self::counting(options, task, opening).context("--syscalls"),
            (_, Some(Mechanism::Procfs)) | (Some(Level::Query), None) => Ok(Notifier::Procfs),
            (_, Some(Mechanism::Connector)) => {
                Self::connector(task).context("--mechanism connector")
            }
            (_, Some(Mechanism::Bpf)) => Self::bpf(task, opening).context("--mechanism bpf"),
            (_, Some(Mechanism::Agent)) => Self::agent(options, task).context("--mechanism agent"),
            (_, Some(Mechanism::Ptrace)) => {
                Self::ptrace(facts, task, files).context("--mechanism ptrace")
            }
            (Some(Level::Events), None) => Self::best(options, task, opening)
                .context("--level events (--mechanism ptrace may do here, but changes the task)"),
            (None | Some(Level::Io), None) | (_, Some(Mechanism::Preload)) => {
                Ok(Self::best(options, task, opening).unwrap_or_else(|error| {
                    let why = super::chain(&error);
                    facts.note(format!("no process events, so /proc is read: {why}"));
                    Notifier::Procfs
                }))
            }
        }
    }

    /// Programs in the kernel, where they may be loaded or an agent lends his.
    fn counting(options: &RunOptions, task: &Task, opening: Opening) -> Result<Self> {
        let own = match options.mechanism {
            Some(Mechanism::Agent) => None,
            _ => match Self::bpf(task, opening) {
                Ok(own) => return Ok(own),
                Err(error) => Some(error),
            },
        };
        Self::agent(options, task).map_err(|lent| match own {
            Some(own) => anyhow!("{}; {}", super::chain(&own), super::chain(&lent)),
            None => lent,
        })
    }

    /// Programs in the kernel where they may be loaded or an agent lends his, else process events.
    fn best(options: &RunOptions, task: &Task, opening: Opening) -> Result<Self> {
        // Tried, not guessed from the user: capabilities suffice. Without them nothing is loaded.
        Self::bpf(task, opening).or_else(|bpf| {
            if let Ok(lent) = Self::agent(options, task) {
                return Ok(lent);
            }
            let both = |connector| anyhow!("{}; {}", super::chain(&bpf), super::chain(&connector));
            Self::connector(task).map_err(both)
        })
    }

    #[cfg(feature = "bpf")]
    fn agent(options: &RunOptions, task: &Task) -> Result<Self> {
        let mut lent = agent::open(&options.agent_socket)?;
        lent.follow(task.pid(), task.adopter())?;
        Ok(Notifier::Bpf(Box::new(lent)))
    }

    #[cfg(not(feature = "bpf"))]
    fn agent(_: &RunOptions, _: &Task) -> Result<Self> {
        bail!("this build does not know in-kernel programs (feature `bpf`)")
    }

    #[cfg(feature = "bpf")]
    fn bpf(task: &Task, opening: Opening) -> Result<Self> {
        let mut bpf = opening.finish()?;
        bpf.follow(task.pid(), task.adopter())?;
        Ok(Notifier::Bpf(Box::new(bpf)))
    }

    #[cfg(not(feature = "bpf"))]
    fn bpf(_: &Task, _: Opening) -> Result<Self> {
        bail!("this build has no in-kernel programs (feature `bpf`)")
    }

    fn connector(task: &Task) -> Result<Self> {
        let mut connector = Connector::open(Path::new("/proc"))?;
        // Not every user may have them; doctor says why not.
        if let Ok(values) = ExitValues::open() {
            connector.add_values(values);
        }
        connector.follow(task.pid(), task.adopter());
        Ok(Notifier::Connector(Box::new(connector)))
    }

    fn ptrace(facts: &mut Facts, task: &Task, files: &Files) -> Result<Self> {
        if let Err((_, why)) = ptrace::probe() {
            bail!("{why}");
        }
        facts.note(PTRACE_CHANGES);
        facts.note(PTRACE_STOPS);
        let options = ptrace::Options {
            watch: files.watch(),
            ..ptrace::Options::default()
        };
        let tracer = Tracer::start(Path::new("/proc"), task.pid(), task.adopter(), options)?;
        Ok(Notifier::Ptrace(tracer))
    }

    /// Its name in reports, where a library counts the files.
    pub(crate) fn name_beside_library(&self) -> &'static str {
        match self {
            Notifier::Procfs => "preload+procfs",
            Notifier::Connector(connector) if connector.has_values() => "preload+taskstats",
            Notifier::Connector(_) => "preload+connector",
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) if bpf.name() == AGENT => "preload+agent",
            #[cfg(feature = "bpf")]
            Notifier::Bpf(_) => "preload+bpf",
            Notifier::Ptrace(_) => "preload+ptrace",
        }
    }

    /// Its name in reports.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Notifier::Procfs => "procfs",
            Notifier::Connector(connector) => connector.name(),
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) => bpf.name(),
            Notifier::Ptrace(_) => "ptrace",
        }
    }

    /// What the reducer may expect of it.
    pub(crate) fn kind(&self) -> reduce::settings::Mechanism {
        match self {
            Notifier::Procfs => reduce::settings::Mechanism::Procfs,
            Notifier::Connector(connector) if connector.has_values() => {
                reduce::settings::Mechanism::Taskstats
            }
            Notifier::Connector(_) => reduce::settings::Mechanism::Connector,
            #[cfg(feature = "bpf")]
            Notifier::Bpf(_) => reduce::settings::Mechanism::Bpf,
            Notifier::Ptrace(_) => reduce::settings::Mechanism::Ptrace,
        }
    }

    /// Takes what happened.
    pub(crate) fn read(&mut self, sink: &mut Vec<Event>) -> Result<()> {
        match self {
            Notifier::Procfs => Ok(()),
            Notifier::Connector(connector) => Ok(connector.read(sink)?),
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) => Ok(bpf.read(sink)?),
            Notifier::Ptrace(tracer) => Ok(tracer.read(sink)?),
        }
    }

    /// The counts that the mechanism kept itself.
    pub(crate) fn counts(&mut self) -> Option<KernelCounts> {
        match self {
            Notifier::Procfs => None,
            Notifier::Connector(connector) => Some(KernelCounts {
                values_lost: connector.values_lost(),
                ..kernel_counts(&connector.counts())
            }),
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) => Some(KernelCounts {
                io_uring_tasks: Some(bpf.io_uring_tasks()),
                auto_reaped: Some(bpf.totals().auto_reaped),
                events_lost: bpf.totals().events_lost,
                ..kernel_counts(&bpf.counts())
            }),
            Notifier::Ptrace(tracer) => Some(KernelCounts {
                io_uring_tasks: Some(tracer.io_uring_tasks()),
                untraced: tracer.has_untraced(),
                stops: tracer.stops().0,
                stops_living: tracer.stops().1,
                ..kernel_counts(&tracer.counts())
            }),
        }
    }

    /// The same, where they are not at hand as they are at the end of the task; and who ended it.
    #[cfg_attr(
        not(feature = "bpf"),
        expect(unused_variables, reason = "only programs in the kernel tell it")
    )]
    pub(crate) fn last_counts(&mut self, facts: &mut Facts) -> Option<KernelCounts> {
        #[cfg(feature = "bpf")]
        if let Notifier::Bpf(bpf) = self {
            if let Some(sender) = bpf.sender() {
                facts.killed_by(sender);
            }
            bpf.count();
            return self.counts();
        }
        None
    }

    /// The descriptor to wait on, if it wakes us.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Notifier::Procfs => None,
            Notifier::Connector(connector) => Some(connector.fd()),
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) => bpf.fd(),
            Notifier::Ptrace(tracer) => Some(tracer.fd()),
        }
    }

    /// Whether the last reading took all that had happened before it.
    pub(crate) fn caught_up(&self) -> bool {
        match self {
            Notifier::Connector(connector) => connector.caught_up(),
            _ => false,
        }
    }

    /// How often to look while nothing wakes us.
    pub(crate) fn period(&self) -> Option<Nanos> {
        match self {
            #[cfg(feature = "bpf")]
            Notifier::Bpf(bpf) => bpf.period(),
            _ => None,
        }
    }
}

fn kernel_counts(counts: &Counts) -> KernelCounts {
    KernelCounts {
        processes_total: Some(counts.processes_total),
        processes_alive: Some(counts.processes_alive),
        processes_peak: Some(counts.processes_peak),
        processes_peak_least: Some(counts.processes_peak_least),
        threads_alive: Some(counts.threads_alive),
        threads_peak: Some(counts.threads_peak),
        threads_at_most: counts.threads_at_most,
        io_uring_tasks: None,
        untraced: false,
        stops: 0,
        stops_living: 0,
        auto_reaped: None,
        events_lost: 0,
        values_lost: 0,
        exact: counts.exact,
    }
}
