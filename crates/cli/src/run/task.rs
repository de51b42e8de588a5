//! The task's processes as the monitor holds them: through the launcher, or, when that is gone, as
//! their adopting parent itself.

use super::facts::Facts;
use crate::view::amount;
use anyhow::{Context, Result, bail};
use record::identity::Ending;
use record::sample::{Counters, MainEnd, WaitTotals};
use record::unit::{Bytes, Nanos};
use source::query::proc_pid_stat::{self, Stat};
use source::query::proc_pid_status;
use source::root::Root;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use sys::launcher::{Launcher, Message, Plan, Totals};
use sys::process::{self, Usage};
use sys::rlimit;

/// Totals are asked for no more often than this.
const TOTALS_PERIOD: Nanos = Nanos::from_millis(10);

/// The error number of a process that is gone.
const ESRCH: i32 = 3;

/// The error number of a file that would be too large.
const EFBIG: i32 = 27;

/// What happened to the task's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    /// The command was stopped by this signal.
    Stopped(i32),
    /// The command goes on.
    Continued,
    /// The command ended.
    Ended(MainEnd),
    /// No descendant is left.
    Empty,
    /// The launcher was ended from outside; the monitor has adopted the tree.
    Adopted,
}

/// The task.
#[derive(Debug)]
pub(crate) struct Task {
    launcher: Launcher,
    launcher_gone: bool,
    /// A thread of ours traces the task, and waits for it.
    traced: bool,
    pid: u32,
    /// Names the command's process when its id is another's; not before Linux 5.3.
    process: Option<OwnedFd>,
    ended: bool,
    totals: Totals,
    totals_final: bool,
    /// Questions for totals that have no answer yet.
    asked: u32,
    asked_at: Nanos,
    /// What the launcher had waited for before the last question, as far as `/proc` tells.
    asked_of: Option<Reaped>,
    /// Whether somebody may have ended between the last two passes.
    could_differ: bool,
}

/// What the kernel adds up for the launcher whenever that waits for a child: its page faults, and
/// its CPU time in ticks. An orphan without any, a child of vfork(2) that did nothing but end, is
/// told with the next that has some, or at the end.
type Reaped = [u64; 4];

impl Task {
    /// Starts the launcher, with the command's process waiting for [`Task::go`].
    pub(crate) fn start(plan: &Plan<'_>, facts: &mut Facts) -> Result<Self> {
        let launcher = Launcher::start(plan).context("cannot start the launcher")?;
        if let Some(error) = launcher.without_memfd() {
            let size = rlimit::file_size_max().filter(|_| error.errno() == Some(EFBIG));
            let why = size.map_or(error.to_string(), amount::file_size_limit);
            facts.note(format!(
                "the launcher is no small program in memory, and peaks of little processes may be \
                 its: {why}"
            ));
        }
        match launcher
            .message(true)
            .context("the launcher said nothing")?
        {
            Some(Message::Ready { pid }) => Ok(Self {
                launcher,
                launcher_gone: false,
                traced: false,
                pid,
                process: process::pidfd(pid).ok(),
                ended: false,
                totals: Totals::default(),
                totals_final: false,
                asked: 0,
                asked_at: Nanos(0),
                asked_of: None,
                could_differ: true,
            }),
            Some(Message::Failed(errno)) => {
                bail!("fork: {}", std::io::Error::from_raw_os_error(errno))
            }
            other => bail!("the launcher said {other:?} first"),
        }
    }

    /// The command's pid.
    pub(crate) const fn pid(&self) -> u32 {
        self.pid
    }

    /// The process that adopts the command's orphans.
    pub(crate) fn adopter(&self) -> u32 {
        if self.launcher_gone {
            std::process::id()
        } else {
            self.launcher.pid()
        }
    }

    /// Whether the launcher is gone and its children are ours.
    pub(crate) const fn is_adopted(&self) -> bool {
        self.launcher_gone
    }

    /// A thread of ours traces the task. Should its processes become our children, that thread
    /// alone may wait for them: a wait of another thread would take the stops that the tracer is
    /// owed.
    pub(crate) fn trace(&mut self) {
        self.traced = true;
    }

    /// Whether a thread of ours traces it.
    pub(crate) const fn is_traced(&self) -> bool {
        self.traced
    }

    /// Installs a filter of system calls in the command's process, which is traced and waits;
    /// whether it had to give up new privileges for that.
    pub(crate) fn filter(&self, filter: &[u8]) -> Result<bool> {
        Ok(self.launcher.filter(filter)?)
    }

    /// Executes the command, with the library of the plan if `with_library`; an error number if its
    /// program cannot be executed.
    pub(crate) fn go(&mut self, with_library: bool) -> Result<Option<i32>> {
        self.launcher
            .go(with_library)
            .context("the launcher is gone")
    }

    /// Whether the command's process ignores `signal` now; not where nobody tells.
    pub(crate) fn ignores(&self, signal: i32) -> bool {
        let status = proc_pid_status::read(&Root::default(), Some(self.pid()));
        status.is_ok_and(|status| status.ignores(signal) == Some(true))
    }

    /// Sends `signal` to the command's process. It may have ended and nobody heard of it yet, and
    /// its id may be another's.
    pub(crate) fn signal(&self, signal: i32) {
        let process = self.process.as_ref();
        let done = match process.map(|process| process::kill_by(process.as_fd(), signal)) {
            Some(Ok(())) => true,
            Some(Err(error)) => error.errno() == Some(ESRCH),
            None => false,
        };
        // A filter of system calls may know only the older one; the id of one that is there is its.
        if !done {
            // There may be nobody to tell.
            drop(process::kill(self.pid, signal));
        }
    }

    /// The descriptor to wait on for [`Task::next`]; none when the launcher is gone.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.launcher.fd().filter(|_| !self.launcher_gone)
    }

    /// The next thing that happened, if any.
    pub(crate) fn next(&mut self) -> Option<Happened> {
        if self.launcher_gone {
            return self.next_adopted();
        }
        match self.launcher.message(false) {
            Ok(None) => None,
            Ok(Some(message)) => self.heard(message),
            Err(_) => {
                self.launcher_gone = true;
                Some(Happened::Adopted)
            }
        }
    }

    fn heard(&mut self, message: Message) -> Option<Happened> {
        match message {
            Message::Stopped(signal) => Some(Happened::Stopped(signal)),
            Message::Continued => Some(Happened::Continued),
            Message::Ended {
                status,
                faults,
                totals,
            } => {
                self.ended = true;
                self.totals = *totals;
                let ending = Ending::from_wait_status(status);
                Some(Happened::Ended(MainEnd {
                    at: Nanos(totals.at_ns),
                    ending,
                    faults,
                }))
            }
            Message::Empty(totals) => {
                self.totals = *totals;
                self.totals_final = true;
                Some(Happened::Empty)
            }
            Message::Totals { totals, .. } => {
                self.totals = *totals;
                self.asked = self.asked.saturating_sub(1);
                None
            }
            Message::Ready { .. } | Message::Failed(_) => None,
        }
    }

    fn next_adopted(&mut self) -> Option<Happened> {
        if self.traced {
            // Whoever asks looks for himself whether anybody is left.
            return Some(Happened::Empty);
        }
        loop {
            match process::wait_any(false) {
                Ok(None) => return None,
                Err(_) => return Some(Happened::Empty),
                Ok(Some(waited)) if waited.pid != self.pid => continue,
                Ok(Some(waited)) if waited.status & 0xff == 0x7f => {
                    return Some(Happened::Stopped((waited.status >> 8 & 0xff) as i32));
                }
                Ok(Some(waited)) if waited.status == 0xffff => return Some(Happened::Continued),
                Ok(Some(waited)) => {
                    self.ended = true;
                    let ending = Ending::from_wait_status(waited.status);
                    return Some(Happened::Ended(MainEnd {
                        at: Nanos(sys::clock::boot()),
                        ending,
                        faults: None,
                    }));
                }
            }
        }
    }

    /// Asks for fresh totals, unless they were asked for just before or the launcher has waited for
    /// nobody since: each answer wakes the launcher and us. They arrive with a later
    /// [`Task::next`]. `may_differ`: somebody may have ended since the last pass; the launcher
    /// waits for him a moment later, maybe not before this one.
    pub(crate) fn refresh_totals(&mut self, now: Nanos, may_differ: bool) {
        let could_differ = std::mem::replace(&mut self.could_differ, may_differ);
        let is_known = !(may_differ || could_differ);
        if is_known || self.launcher_gone || now.since(self.asked_at) < TOTALS_PERIOD {
            return;
        }
        let reaped = self.reaped();
        if reaped.is_none() || reaped != self.asked_of {
            (self.asked_at, self.asked_of) = (now, reaped);
            self.ask_totals();
        }
    }

    /// What the launcher has waited for by now; `None` where `/proc` does not tell.
    fn reaped(&self) -> Option<Reaped> {
        let pid = self.launcher.pid();
        let of = |stat: &Stat<'_>| {
            [
                stat.faults_minor_children,
                stat.faults_major_children,
                stat.user_children.0,
                stat.system_children.0,
            ]
        };
        proc_pid_stat::read(&Root::default(), Some(pid), of).ok()
    }

    fn ask_totals(&mut self) {
        // A launcher that is gone is noticed by the next message.
        if !self.launcher_gone && self.launcher.ask_totals().is_ok() {
            self.asked += 1;
        }
    }

    /// Everything waited for so far, as last told. `None` after the launcher was ended from
    /// outside: what the kernel had summed up there is incomplete.
    pub(crate) fn waited(&self) -> Option<WaitTotals> {
        (!self.launcher_gone).then(|| wait_totals(&self.totals))
    }

    /// Asks for totals and waits for them: those of this instant. At most a few milliseconds.
    pub(crate) fn waited_now(&mut self) -> Option<WaitTotals> {
        if self.totals_final || self.launcher_gone {
            return self.waited();
        }
        self.ask_totals();
        // Answers come in the order of the questions: the last is the one to this.
        while self.asked > 0 {
            match self.launcher.message(true) {
                Ok(Some(message)) => drop(self.heard(message)),
                Ok(None) => {}
                Err(_) => {
                    self.launcher_gone = true;
                    return None;
                }
            }
        }
        self.waited()
    }

    /// What the launcher itself cost.
    pub(crate) const fn launcher_usage(&self) -> Usage {
        self.totals.own
    }

    /// Lets the launcher go; what is left of the tree becomes ours.
    pub(crate) fn dismiss(&self) {
        if !self.launcher_gone {
            // Gone already is as good.
            drop(self.launcher.dismiss());
        }
    }
}

fn wait_totals(totals: &Totals) -> WaitTotals {
    let usage = &totals.children;
    let io = |index: usize| totals.io.and_then(|io| io.get(index).copied());
    WaitTotals {
        counters: Counters {
            cpu: Some(Nanos(usage.user_ns + usage.system_ns)),
            cpu_user: Some(Nanos(usage.user_ns)),
            cpu_system: Some(Nanos(usage.system_ns)),
            cpu_guest: None,
            cpu_wait: None,
            io_wait: None,
            faults_minor: Some(usage.faults_minor_total),
            faults_major: Some(usage.faults_major_total),
            switches_voluntary: Some(usage.switches_voluntary_total),
            switches_involuntary: Some(usage.switches_involuntary_total),
            bytes_read: io(0).map(Bytes),
            bytes_written: io(1).map(Bytes),
            reads: io(2),
            writes: io(3),
            disk_read: io(4).map(Bytes),
            disk_written: io(5).map(Bytes),
            disk_cancelled: io(6).map(Bytes),
        },
        rss_peak_process: Some(Bytes(usage.rss_peak_bytes)),
        reaped: totals.reaped_total,
    }
}
