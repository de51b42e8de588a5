//! The kernel ended processes for want of memory, and not by a limit of ours.

use super::amounts::rung_of;
use super::case::{told_claim, words};
use super::signal;
use super::signals::{self, SIGKILL};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::report::{Claim, Evidence};
use record::value::Method;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "memory_kill",
    description: "the kernel ended processes for want of memory",
    end: Some(end),
    beside: Some(beside),
};

const KIND: &str = "oom_kill";

/// What a shell returns of a command that SIGKILL ended.
const STATUS_KILLED: i32 = 128 + SIGKILL;

/// From which share of what was allowed on that is what ran out.
const NEAR: f64 = 0.75;

/// Whose processes were ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The task's: its own control group counted them.
    Task,
    /// Those of the group that it was started in, its job's or container's: others may be in there.
    Group,
    /// Anybody's on this machine.
    Machine,
}

fn whose(evidence: &Evidence) -> Whose {
    if evidence.source.starts_with("/proc/vmstat") {
        Whose::Machine
    } else if evidence.source.starts_with('/') {
        Whose::Group
    } else {
        Whose::Task
    }
}

fn end(case: &Case<'_>) -> Option<Verdict> {
    let first = case.evidence(KIND).next()?;
    let whose = whose(first);
    let killed = case.exit().signal == Some(SIGKILL);
    let as_killed = killed || case.exit().code == Some(STATUS_KILLED);
    if case.ended_well() || whose != Whose::Task && !as_killed {
        return None;
    }
    // The command itself was killed by a process that is known: whom the kernel ended is another.
    if killed && signal::killer(case).is_some_and(|sent| sent.signal == signals::name(SIGKILL)) {
        return None;
    }
    let alone = case
        .value("processes_total")
        .is_some_and(|total| total.method == Method::Exact && total.value.as_f64() == 1.0);
    let certainty = match (whose, killed && alone) {
        (Whose::Task, true) => Certainty::Known,
        _ => Certainty::Likely,
    };
    let sentence = match certainty {
        Certainty::Known => format!(
            "The kernel ended the task for want of memory{}{}.",
            case.after(),
            at_limit(case)
        ),
        _ => format!(
            "The task likely ended for want of memory: the kernel ended {}, and the command \
             {}{}{}.",
            counted(case, first, whose),
            case.ending(),
            case.after(),
            doubt(case, whose)
        ),
    };
    let verdict = Verdict::new(CAUSE.name, certainty, sentence)
        .told_all(case.told(KIND))
        .told_all([case.told_exit()])
        .told_all(case.told_cause());
    Some(with_limit(case, verdict, whose))
}

/// Some were ended, and the task ended well or for something else.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    if case.enforced().is_some_and(|one| one.resource == "memory") {
        // It is part of that.
        return None;
    }
    let first = case.evidence(KIND).next()?;
    let whose = whose(first);
    let (certainty, doubt) = match whose {
        Whose::Task => (Certainty::Known, ""),
        _ => (
            Certainty::Unknown,
            ": whether it was the task's is not known",
        ),
    };
    let sentence = format!(
        "The kernel ended {} for want of memory while the task ran{doubt}.",
        counted(case, first, whose)
    );
    let verdict = Verdict::new(CAUSE.name, certainty, sentence).told_all(case.told(KIND));
    Some(with_limit(case, verdict, whose))
}

/// How many, and whose.
fn counted(case: &Case<'_>, evidence: &Evidence, whose: Whose) -> String {
    let many = match words(evidence).as_str() {
        "1" => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    match whose {
        Whose::Task => format!("{many} of the task{}", at_limit(case)),
        Whose::Group => format!("{many} of the task's job or container{}", at_limit(case)),
        Whose::Machine => format!("{many} of this machine"),
    }
}

/// The limit above, where there is one.
fn at_limit(case: &Case<'_>) -> String {
    case.memory_of_group().map_or_else(String::new, |claim| {
        let limit = quantity::show(claim.value.as_f64(), claim.unit);
        format!(" (in a control group that allows {limit})")
    })
}

/// Why it is not known for sure.
fn doubt(case: &Case<'_>, whose: Whose) -> &'static str {
    match whose {
        Whose::Task if case.exit().signal == Some(SIGKILL) => {
            "; which of its processes that was is not told"
        }
        Whose::Task => "; whether it ended for that is not told",
        _ => "; whether that process was the task's is not told",
    }
}

fn with_limit(case: &Case<'_>, verdict: Verdict, whose: Whose) -> Verdict {
    let memory = case
        .memory()
        .and_then(|(metric, _)| case.told_metric(metric));
    let verdict = verdict.told_all(memory);
    let claim = case.memory_allowed();
    let verdict = verdict.told_all(claim.map(|claim| told_claim("memory allowed", claim)));
    let Some(claim) = claim.filter(|claim| is_near(case, claim)) else {
        return verdict.advise(match whose {
            Whose::Task if claim.is_none() => {
                "Ask for more memory: how much it would have needed is not known."
            }
            _ => {
                "The memory of the machine itself, or of a control group above, may have run out: \
                 run fewer tasks at once there, or ask its scheduler for memory, so that nobody \
                 else gets it."
            }
        });
    };
    verdict
        .advise(
            "Ask for more memory, or have the program hold less at once: how much it would have \
             needed is not known, for it was ended on the way.",
        )
        .ask([rung_of("memory", claim)])
}

/// Whether its memory came near to what was allowed; what is not known may have.
fn is_near(case: &Case<'_>, claim: &Claim) -> bool {
    let peaks = ["memory_peak", "cgroup_peak", "rss_peak"];
    let mut peaks = peaks
        .into_iter()
        .filter_map(|metric| case.amount(metric))
        .peekable();
    let allowed = claim.value.as_f64();
    peaks.peek().is_none() || peaks.any(|peak| peak.safe() >= allowed * NEAR)
}
