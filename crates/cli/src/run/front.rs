//! The front: the process that the user or the workflow system started.
//!
//! It passes signals to the monitor, stops when the command stops, and exits with the status that
//! the monitor decides. If the monitor dies it adopts what is left and takes the status from the
//! launcher.

use super::ending::{ENDING, SIGCONT};
use super::reader::below;
use super::stopped::is_stopped;
use super::words::{MESSAGE_BYTES, ToFront, ToMonitor};
use super::{hold, live, paper};
use crate::cmd::run::{MonitorDeath, RunOptions};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use sys::descriptor::{self, Received, Waiting};
use sys::process;
use sys::signal::{self, Arrived, Signals};

/// Signals that a process may send us and that we pass on. The rest keeps its default action.
const PASSED_ON: &[i32] = &[
    1, 2, 3, 10, 12, 14, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
];
const SIGCHLD: i32 = 17;
const SIGKILL: i32 = 9;
/// A monitor that cannot start the command (a file system does not answer) is given up this long
/// after such a signal.
const PATIENCE_NS: u64 = 1_000_000_000;
/// One that is given up is waited for so often, and so long each time: it may hang in the kernel.
const GIVEN_UP_WAITS_MAX: u32 = 500;
const GIVEN_UP_WAIT: std::time::Duration = std::time::Duration::from_micros(200);
/// For the end of a monitor that has told the exit status we wait no longer than this.
const FAREWELL_NS: u64 = 2_000_000_000;

/// Rounds of SIGKILL for what nobody else ends, and the pause between two.
const ROUNDS_MAX: u32 = 2000;
const ROUND: std::time::Duration = std::time::Duration::from_millis(5);
/// What the launcher calls itself (`launcher.c`).
const LAUNCHER: &[u8] = b"plim-launcher\n";

/// How the front's work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// With this exit status.
    Status(u8),
    /// By the limit at this place in the table of limits: it is to run again.
    Short(u32),
    /// The same, but this signal asked for the end of everything meanwhile.
    Asked(i32),
    /// The command is not started, and nobody can watch it.
    Bare,
}

/// Serves as the front until the end. `inherited` are the descriptors we were started with;
/// `options` say what a monitor that dies leaves.
pub(crate) fn serve(
    monitor: OwnedFd,
    monitor_pid: u32,
    inherited: &[RawFd],
    options: &RunOptions,
) -> Served {
    // Without this an orphan is adopted by init when the monitor dies; nothing else is lost.
    drop(process::become_subreaper());
    signal::set_default(SIGCHLD);
    let caught = PASSED_ON
        .iter()
        .filter(|number| !signal::is_ignored(**number))
        .fold(signal::bit(SIGCHLD), |mask, number| {
            mask | signal::bit(*number)
        });
    let mask = signal::set_mask(u64::MAX);
    let served = match Signals::open(caught) {
        Ok(signals) => listen_until_end(&monitor, monitor_pid, &signals, inherited, options),
        // A filter of system calls: what is sent to us meanwhile does what it does to anybody.
        Err(_) => {
            signal::set_mask(mask);
            let (mut before, mut row_taken) = (Before::Nothing, false);
            let heard = listen(&monitor, &mut before, &mut row_taken, true);
            let heard = heard.unwrap_or(Heard::End);
            end(heard, (&monitor, monitor_pid), (before, row_taken), options)
        }
    };
    match served {
        Served::Bare => {
            drop(monitor);
            // The monitor, and a launcher that came too late: the command has no children at its
            // start.
            while let Ok(Some(_)) = process::wait_any(true) {}
            signal::set_mask(mask);
            Served::Bare
        }
        status => status,
    }
}

fn listen_until_end(
    monitor: &OwnedFd,
    monitor_pid: u32,
    signals: &Signals,
    inherited: &[RawFd],
    options: &RunOptions,
) -> Served {
    let mut before = Before::Nothing;
    let mut row_taken = false;
    let mut asked = None;
    loop {
        let fds = [
            Waiting {
                fd: Some(signals.as_fd()),
                exceptional: false,
            },
            Waiting {
                fd: Some(monitor.as_fd()),
                exceptional: false,
            },
        ];
        if descriptor::poll(&fds, before.timeout()).is_err() {
            return Served::Status(wait_for(monitor_pid, before, options));
        }
        if before.is_over() {
            return Served::Status(give_up(before, monitor_pid));
        }
        while let Some(arrived) = signals.next() {
            if !is_ours(&arrived, monitor_pid) {
                before.signal(arrived.signal);
                if arrived.signal == SIGCONT && is_stopped(monitor_pid) {
                    // It was stopped with its group, and has to hear this.
                    drop(process::kill(monitor_pid, SIGCONT));
                }
                asked = asked.or(Some(arrived.signal).filter(|one| ENDING.contains(one)));
                // A monitor that is gone is noticed below.
                drop(descriptor::send(
                    monitor.as_fd(),
                    &ToMonitor::Signal(arrived).encode(),
                ));
            }
        }
        let waiting = !before.is_started();
        if let Some(heard) = listen(monitor, &mut before, &mut row_taken, false) {
            let ended = end(heard, (monitor, monitor_pid), (before, row_taken), options);
            return match (ended, asked) {
                (Served::Short(_), Some(signal)) => Served::Asked(signal),
                (served, _) => served,
            };
        }
        // What the next attempt is to have stays.
        if waiting && before.is_started() && options.climbs.is_empty() {
            // A reader of our caller's pipe must see its end when the command closes it.
            let unneeded: Vec<RawFd> = inherited.iter().copied().filter(|fd| *fd != 2).collect();
            descriptor::close_inherited(&unneeded);
        }
    }
}

/// Whether a signal is for us alone: of a child, and what the monitor continues us with, which
/// comes again where we were not quick to show that we go on.
fn is_ours(arrived: &Arrived, monitor_pid: u32) -> bool {
    arrived.signal == SIGCHLD || arrived.signal == SIGCONT && arrived.pid == monitor_pid
}

/// What was asked of us before the command started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// To end, by this signal; until then the monitor has time.
    Signal(i32, u64),
    /// It started: the monitor sees to everything.
    Started {
        launcher: u32,
    },
}

impl Before {
    fn signal(&mut self, number: i32) {
        if *self == Before::Nothing && ENDING.contains(&number) {
            *self = Before::Signal(number, sys::clock::boot().saturating_add(PATIENCE_NS));
        }
    }

    fn timeout(self) -> Option<u64> {
        match self {
            Before::Signal(_, until) => Some(until.saturating_sub(sys::clock::boot())),
            Before::Nothing | Before::Started { .. } => None,
        }
    }

    fn is_over(self) -> bool {
        self.timeout() == Some(0)
    }

    fn is_started(self) -> bool {
        matches!(self, Before::Started { .. })
    }

    /// Whether the process `pid` is our launcher. One that nobody told us of goes by its name: the
    /// command, below which other runs may have launchers of theirs, has not started then.
    fn is_launcher(self, pid: u32) -> bool {
        let told = match self {
            Before::Started { launcher } => launcher == pid,
            Before::Nothing | Before::Signal(..) => true,
        };
        let comm = || std::fs::read(format!("/proc/{pid}/comm"));
        told && comm().is_ok_and(|comm| comm == LAUNCHER)
    }
}

/// The monitor cannot start the command and we are asked to end: as any program would.
fn give_up(before: Before, monitor_pid: u32) -> u8 {
    // Its launcher, if there is one yet, ends the waiting process of the command.
    drop(process::kill(monitor_pid, SIGKILL));
    for _ in 0..GIVEN_UP_WAITS_MAX {
        match process::wait_any(false) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::sleep(GIVEN_UP_WAIT),
            Err(_) => break,
        }
    }
    super::warn("ended by a signal while the command could not be started yet");
    let Before::Signal(signal, _) = before else {
        return crate::cmd::run::STATUS_OWN_FAILURE;
    };
    end_by(signal);
    crate::cmd::run::STATUS_OWN_FAILURE
}

/// Ends this process by the signal that asked for it, as it would any program.
pub(super) fn end_by(signal: i32) {
    signal::set_default(signal);
    process::raise(signal);
    signal::set_mask(0);
}

/// What the monitor says last.
enum Heard {
    /// All is over.
    Last(Served),
    /// Nothing: it is gone.
    End,
}

/// Sees to what is left when the monitor has said its last word, or is gone.
fn end(
    heard: Heard,
    (monitor, monitor_pid): (&OwnedFd, u32),
    (before, row_taken): (Before, bool),
    options: &RunOptions,
) -> Served {
    match heard {
        Heard::Last(served) => {
            see_off(monitor, monitor_pid);
            served
        }
        Heard::End => {
            if row_taken {
                live::give_back_for_another();
            }
            Served::Status(wait_for(monitor_pid, before, options))
        }
    }
}

/// Hears what the monitor says, and waits for that if it is to; what it said last.
fn listen(
    monitor: &OwnedFd,
    before: &mut Before,
    row_taken: &mut bool,
    waits: bool,
) -> Option<Heard> {
    let mut bytes = [0; MESSAGE_BYTES];
    loop {
        match descriptor::receive(monitor.as_fd(), &mut bytes, waits) {
            Ok(Received::Nothing) => return None,
            Ok(Received::Bytes(count)) => match bytes.get(..count).and_then(ToFront::decode) {
                Some(ToFront::Started(launcher)) => *before = Before::Started { launcher },
                Some(ToFront::Done(status)) => {
                    return Some(Heard::Last(Served::Status(status)));
                }
                Some(ToFront::Short(place)) => return Some(Heard::Last(Served::Short(place))),
                Some(ToFront::Bare) => return Some(Heard::Last(Served::Bare)),
                Some(ToFront::Stopped(signal)) => stop_with(signal),
                Some(ToFront::Row(taken)) => *row_taken = taken,
                None => {}
            },
            Ok(Received::End) | Err(_) => return Some(Heard::End),
        }
    }
}

/// Stops as the command did, so that the shell sees the job stopped; returns when continued. The
/// `SIGCONT` waits to be read, for who sent it to us alone means the command.
fn stop_with(signal: i32) {
    signal::set_default(signal);
    process::raise(signal);
    // Unblocking delivers it: we stop in this call, and block again when continued.
    let mask = signal::set_mask(!signal::bit(signal));
    signal::set_mask(mask);
}

/// Waits for the end of the monitor, which has nothing left to do but to give back what it was lent
/// by the kernel: in a container nobody else may wait for it.
fn see_off(monitor: &OwnedFd, monitor_pid: u32) {
    // It continues us until it knows that it was heard; one that is gone does not.
    drop(descriptor::send_end(monitor.as_fd()));
    let gone = [Waiting {
        fd: Some(monitor.as_fd()),
        exceptional: false,
    }];
    let until = sys::clock::boot().saturating_add(FAREWELL_NS);
    let mut bytes = [0; MESSAGE_BYTES];
    loop {
        let left = until.saturating_sub(sys::clock::boot());
        if left == 0 || descriptor::poll(&gone, Some(left)).is_err() {
            return;
        }
        match descriptor::receive(monitor.as_fd(), &mut bytes, false) {
            Ok(Received::End) | Err(_) => break,
            Ok(_) => {}
        }
    }
    // Nothing is left of it but what its parent is to take.
    drop(process::wait_end(monitor_pid, true));
}

/// The monitor is gone: waits for what is left of our processes. The launcher, now our child, exits
/// with the command's status; the monitor itself only if it ended in order.
fn wait_for(monitor_pid: u32, before: Before, options: &RunOptions) -> u8 {
    let mut status = None;
    let ends = options.on_monitor_death == MonitorDeath::Kill;
    if ends && end_what_nobody_ends(before) {
        status = Some(128 + SIGKILL);
    }
    while let Ok(Some(waited)) = process::wait_any(true) {
        let stopped = waited.status & 0xff == 0x7f || waited.status == 0xffff;
        if !stopped {
            let shell = record::identity::Ending::from_wait_status(waited.status).shell_status();
            if waited.pid != monitor_pid || status.is_none() {
                status = Some(shell);
            }
            if waited.pid != monitor_pid {
                break;
            }
            // The task goes on, free of a limit that nobody would tell of.
            if options.on_monitor_death == MonitorDeath::Leave {
                hold::sweep();
            }
        }
    }
    // The launcher may have been ended before it was done.
    if ends {
        end_what_nobody_ends(before);
    }
    // What it held open it holds no more.
    let left = paper::clear_after_death(options, monitor_pid);
    let state = left.map_or(String::new(), |path| {
        format!("; what was known by then is in {}", path.display())
    });
    super::warn(&format!(
        "the monitor was ended from outside; no report was written{state}"
    ));
    #[cfg(feature = "bpf")]
    sys::bpf::clear_after_death();
    u8::try_from(status.unwrap_or(125)).unwrap_or(125)
}

/// Ends the tree where its launcher is gone too: all of it is below us then. Whether it did.
fn end_what_nobody_ends(before: Before) -> bool {
    let mut ended = false;
    for _ in 0..ROUNDS_MAX {
        let left: Vec<u32> = below(std::process::id()).map(|one| one.pid).collect();
        if left.is_empty() || left.iter().any(|pid| before.is_launcher(*pid)) {
            break;
        }
        for pid in left {
            // One that is gone by now, or may not be ended, is met again or not.
            ended |= process::kill(pid, SIGKILL).is_ok();
        }
        while let Ok(Some(_)) = process::wait_any(false) {}
        std::thread::sleep(ROUND);
    }
    ended
}
