//! A signal from outside: who sent it, where Plimsoll was told.

use super::case::words;
use super::signals::{self, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::report::Evidence;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "signal",
    description: "a signal from outside ended it",
    end: Some(end),
    beside: Some(beside),
};

/// Of a signal to `plimsoll run`, and of the one that the command ended by.
const KIND: &str = "signal_sender";
pub(super) const KILLER: &str = "killed_by";

/// What `exit.cause` says where Plimsoll's own first process was killed.
const FRONT_KILLED: &str = "plimsoll's first process was killed";

/// Signals that ask for an end.
const ASKS: &[i32] = &[SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Programs that send signals on behalf of others: what a signal from one means.
const SENDERS: &[(&str, &str)] = &[
    ("slurmstepd", "Slurm's daemon of the step"),
    ("slurmd", "Slurm's daemon of the machine"),
    ("srun", "Slurm's srun"),
    ("condor_starter", "HTCondor's daemon of the job"),
    ("condor_startd", "HTCondor's daemon of the machine"),
    ("pbs_mom", "the daemon of PBS"),
    ("sge_shepherd", "Grid Engine's daemon of the job"),
    ("sge_execd", "Grid Engine's daemon of the machine"),
    ("sbatchd", "LSF's daemon of the machine"),
    ("res", "LSF's daemon of the job"),
    ("kubelet", "Kubernetes' daemon of the machine"),
    ("containerd-shim", "the container's daemon"),
    ("conmon", "the container's daemon"),
    ("systemd", "systemd"),
    ("systemd-oomd", "systemd's guard against want of memory"),
    ("earlyoom", "a guard against want of memory"),
    ("timeout", "timeout(1)"),
];

/// Who sent a signal to `plimsoll run`.
#[derive(Debug)]
pub(super) struct Sent {
    /// Its name.
    pub(super) signal: String,
    /// Whoever sent it, for a sentence.
    pub(super) by: String,
    /// The daemon of a scheduler sent it, or a guard.
    pub(super) is_daemon: bool,
    /// The process that ended by it did.
    pub(super) is_itself: bool,
    /// The kernel did, for something of this name that the process did.
    pub(super) fault: Option<String>,
}

/// The first signal that asked for the end, and who sent it.
pub(super) fn sent(case: &Case<'_>) -> Option<Sent> {
    let mut all = case.evidence(KIND).filter_map(|one| told_by(case, one));
    all.find(|sent| ASKS.iter().any(|ask| signals::name(*ask) == sent.signal))
}

/// Who sent the command itself the signal that it ended by.
pub(super) fn killer(case: &Case<'_>) -> Option<Sent> {
    case.evidence(KILLER).find_map(|one| told_by(case, one))
}

/// What one piece of evidence says of a signal.
fn told_by(case: &Case<'_>, one: &Evidence) -> Option<Sent> {
    let text = words(one);
    let (signal, by) = text.split_once(" from ")?;
    Some(who(case, signal, by))
}

/// `pid 7 of uid 0 (slurmstepd)` in words. Anybody may give a program any name, so that of a daemon
/// is believed only where its user is not the task's, or is root.
fn who(case: &Case<'_>, signal: &str, by: &str) -> Sent {
    let (process, name) = match by.split_once(" (") {
        Some((process, rest)) => (process, rest.strip_suffix(')')),
        None => (by, None),
    };
    let uid = process.split_once(" of uid ").map(|(_, uid)| uid);
    let own = case.report.task.uid.to_string();
    let is_own = uid == Some(own.as_str());
    let is_known = |sender: &&(&str, &str)| {
        // The kernel keeps 15 bytes of a name.
        name == Some(sender.0.get(..15).unwrap_or(sender.0))
    };
    let daemon = SENDERS.iter().find(is_known);
    let daemon = daemon.filter(|_| !is_own || uid == Some("0"));
    let by = match (daemon, name) {
        (Some((_, meaning)), Some(name)) => format!("{meaning} ({name}, {process})"),
        (_, Some(name)) if is_own => format!("{name} ({process}, the task's own user)"),
        (_, Some(name)) => format!("{name} ({process})"),
        (_, None) if is_own => format!("{process}, the task's own user"),
        (_, None) => process.to_owned(),
    };
    let is_itself = process == ITSELF;
    let fault = name.filter(|_| process == KERNEL).map(str::to_owned);
    Sent {
        signal: signal.to_owned(),
        by,
        is_daemon: daemon.is_some(),
        is_itself,
        fault,
    }
}

fn end(case: &Case<'_>) -> Option<Verdict> {
    if case.ended_well() {
        return None;
    }
    front_killed(case)
        .or_else(|| sent_to_us(case))
        .or_else(|| to_the_command(case))
}

/// Plimsoll's first process was killed, most likely by SIGKILL, of which the sender is never told.
fn front_killed(case: &Case<'_>) -> Option<Verdict> {
    let told = case.exit().cause.as_deref()?;
    if !told.starts_with(FRONT_KILLED) {
        return None;
    }
    let sentence = format!(
        "The first process of `plimsoll run` was killed{}, and Plimsoll ended the task for that: \
         who killed it is not known.",
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told_cause())
        .told_all([case.told_exit()]);
    Some(verdict.advise(ask_the_scheduler(case)))
}

/// A signal that reached `plimsoll run` and was passed on.
fn sent_to_us(case: &Case<'_>) -> Option<Verdict> {
    let Sent {
        signal,
        by,
        is_daemon,
        ..
    } = sent(case)?;
    let (code, killed) = (case.exit().code, case.exit().signal);
    let is_own = killed.is_some_and(|number| signals::name(number) == signal);
    let (certainty, what) = if is_own {
        (Certainty::Known, "and the command ended by it".to_owned())
    } else if killed == Some(SIGKILL) {
        let what = "and as the command did not end by it, SIGKILL, which Plimsoll sends after its \
                    grace";
        (Certainty::Known, what.to_owned())
    } else {
        let as_shell = code.and_then(signals::of_status);
        let number = as_shell.filter(|number| signals::name(*number) == signal);
        let reason = match number {
            Some(number) => format!(" (128 + {number}, as shells return it)"),
            None => String::new(),
        };
        let what = format!("upon which the command {}{reason}", case.ending());
        (Certainty::Likely, what)
    };
    let likely = match certainty {
        Certainty::Likely => "likely ",
        _ => "",
    };
    let sentence = format!(
        "The task was {likely}ended from outside{}: {signal} came to `plimsoll run` from {by}, \
         {what}.",
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, certainty, sentence)
        .told_all(case.told(KIND))
        .told_all([case.told_exit()]);
    Some(match is_daemon {
        true => verdict.advise(ask_the_scheduler(case)),
        false => verdict.advise(ASK_SENDER),
    })
}

/// A signal that went to the command itself: who sent it is told where the kernel was watched.
fn to_the_command(case: &Case<'_>) -> Option<Verdict> {
    let signal = case.exit().signal?;
    if let Some(verdict) = from_a_process(case, signal) {
        return Some(verdict);
    }
    if signals::crash(signal).is_some() {
        return None;
    }
    let mut doubt = "who sent it is not known, for it did not come to `plimsoll run`".to_owned();
    if signal == SIGKILL {
        doubt.push_str(", and the report has no kill for want of memory");
    }
    let sentence = format!(
        "The command was killed by {}{}: {doubt}.",
        signals::name(signal),
        case.after()
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Unknown, sentence)
        .told_all([case.told_exit()])
        .told("oom kill", "none", "exit.evidence");
    Some(verdict.advise(ask_the_scheduler(case)))
}

/// A process sent it, as the kernel tells.
fn from_a_process(case: &Case<'_>, signal: i32) -> Option<Verdict> {
    let sent = killer(case)?;
    if sent.fault.is_some() || sent.is_itself && signals::crash(signal).is_some() {
        // It brought it upon itself, or sent it as abort(3) does.
        return None;
    }
    let by = match sent.is_itself {
        true => "it sent it to itself".to_owned(),
        false => format!("it came from {}", sent.by),
    };
    let advice = match (sent.is_itself, sent.is_daemon) {
        (true, _) => "Look into the program, or the script: it ends itself so.".to_owned(),
        (false, true) => ask_the_scheduler(case),
        (false, false) => ASK_SENDER.to_owned(),
    };
    let name = signals::name(signal);
    let sentence = format!("The command was killed by {name}{}: {by}.", case.after());
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told(KILLER))
        .told_all([case.told_exit()]);
    Some(verdict.advise(advice))
}

/// In the place of a process, where it is the receiver.
const ITSELF: &str = "itself";
const KERNEL: &str = "the kernel";

/// Where no scheduler did it.
const ASK_SENDER: &str = "Ask whoever sent it; another attempt may well end by itself.";

/// Asked to end, it ended well, or for something else.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    if super::time_limit::is_end(case) {
        // It is part of that.
        return None;
    }
    let Sent { signal, by, .. } = sent(case)?;
    let sentence = format!("{signal} came to `plimsoll run` from {by}.");
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence);
    Some(verdict.told_all(case.told(KIND)))
}

/// Where more is known.
fn ask_the_scheduler(case: &Case<'_>) -> String {
    let job = &case.report.task.job;
    let id = job.id.as_deref().unwrap_or("JOB");
    match job.scheduler.as_deref() {
        Some("slurm") => {
            format!("Ask Slurm how it ended: `sacct -j {id} -o State,ExitCode,Comment`.")
        }
        Some("htcondor") => format!("Ask HTCondor how it ended: `condor_history -long {id}`."),
        Some("pbs") => format!("Ask PBS how it ended: `qstat -xf {id}`."),
        Some("lsf") => format!("Ask LSF how it ended: `bhist -l {id}`."),
        Some("gridengine") => format!("Ask Grid Engine how it ended: `qacct -j {id}`."),
        Some("kubernetes") => {
            format!("Ask Kubernetes how it ended: `kubectl describe pod {id}`.")
        }
        _ => "Look into the kernel's log of that time (`journalctl -k`), and ask whoever may end \
              processes there; a hard limit on CPU time (`ulimit -H -t`) ends by SIGKILL too."
            .to_owned(),
    }
}
