//! How a task ended, in one sentence, and the evidence for it.

use super::assemble::Outcome;
use super::ending::Reason;
use super::facts::{Facts, in_unit};
use super::hold::{Broken, Hold};
use crate::cmd::Status;
use crate::view::style;
use record::identity::Ending;
use record::limit::Resource;
use record::quantity;
use record::report::{Evidence, Exit, ExitType, serde_free::Scalar};
use record::unit::Nanos;
use source::group::Killed;
use source::root::Root;

/// Characters of a command line in a sentence.
const COMMAND_WIDTH: usize = 120;

/// The number of the signal that the OOM killer sends.
const SIGKILL: i32 = 9;

/// How the task ended, why, and what speaks for that.
pub(super) fn exit(
    facts: &Facts,
    hold: &Hold,
    enforced: Option<&Broken>,
    outcome: &Outcome,
    status: Status,
) -> Exit {
    let (kind, code, signal) = match outcome.end.ending {
        Ending::Code(code) => (ExitType::Normal, Some(i32::from(code)), None),
        Ending::Signal(signal) => (ExitType::Signal, None, Some(i32::from(signal))),
    };
    let kind = if enforced.is_some() {
        ExitType::Limit
    } else {
        kind
    };
    let mut evidence = facts.report.exit.evidence.clone();
    if let Some(broken) = enforced
        && broken.verdict.limit.resource == Resource::Memory
        && broken.source.contains("OOM")
    {
        evidence.push(Evidence {
            kind: "oom_kill".to_owned(),
            value: Scalar::Whole(1),
            source: broken.source.to_owned(),
        });
    }
    let starved = starved(facts, hold, outcome);
    evidence.extend(starved.as_ref().map(Starved::evidence));
    evidence.extend(throttled(facts, hold));
    evidence.extend(outcome.unended.evidence());
    // Where a process is known to have killed it, the kernel ended somebody else.
    let is_known = evidence.iter().any(|one| one.kind == "killed_by");
    let by_kernel = starved.as_ref().filter(|_| !is_known);
    let cause = enforced
        .map(limit_cause)
        .or_else(|| not_ended(hold, outcome))
        .or_else(|| reason_cause(outcome, signal, by_kernel))
        .or_else(|| starved.as_ref().map(Starved::words));
    Exit {
        kind,
        code,
        status: Some(i32::from(status)),
        signal,
        cause,
        evidence,
    }
}

/// A CPU quota held the task back: one of its own group, or of a group above, where others may be.
fn throttled(facts: &Facts, hold: &Hold) -> Option<Evidence> {
    let told = |times: Option<u64>, time: Nanos, source: String| {
        let times = times.map_or(String::new(), |times| format!("{times} times, "));
        Evidence {
            kind: "throttled".to_owned(),
            value: Scalar::Text(format!("{times}{}", quantity::show_time(time.0))),
            source,
        }
    };
    let group = hold.last_group;
    let own = group.and_then(|group| {
        let time = group.throttled_time.filter(|time| time.0 > 0)?;
        Some(told(group.throttled, time, "cgroup cpu.stat".to_owned()))
    });
    own.or_else(|| {
        let above = facts.throttles.found()?;
        let source = above.source.display().to_string();
        Some(told(Some(above.times), above.time, source))
    })
}

fn limit_cause(broken: &Broken) -> String {
    let verdict = &broken.verdict;
    let (limit, unit) = in_unit(&verdict.limit);
    let who = match (&verdict.process, verdict.pid) {
        (Some(name), Some(pid)) => format!(", most of it by {} (pid {pid})", short(name)),
        _ => String::new(),
    };
    let over = verdict.value - limit.as_f64();
    let how = if over > 0.0 {
        format!("exceeded by {}", quantity::show(over, unit))
    } else {
        "reached".to_owned()
    };
    format!(
        "the limit on {} of {} was {how}{who}",
        verdict.limit.resource.name(),
        quantity::show(limit.as_f64(), unit),
    )
}

/// A limit for which the command could not be ended.
fn not_ended(hold: &Hold, outcome: &Outcome) -> Option<String> {
    let who = outcome.unended.words()?;
    let broken = hold.broken.first()?;
    let cause = limit_cause(broken);
    Some(format!(
        "{cause}; {who} is another user's and could not be ended"
    ))
}

/// A command line for a sentence: on one line, and not for ever.
pub(super) fn short(command: &str) -> String {
    let words: Vec<_> = command.split_whitespace().collect();
    style::cut(&words.join(" "), COMMAND_WIDTH)
}

fn reason_cause(
    outcome: &Outcome,
    signal: Option<i32>,
    starved: Option<&Starved>,
) -> Option<String> {
    let name = crate::view::headline::signal_name;
    match (outcome.reason, signal) {
        (Some(Reason::Signal(sent)), _) => {
            Some(format!("{} was sent to plimsoll and passed on", name(sent)))
        }
        (Some(Reason::FrontDied), _) => {
            Some("plimsoll's first process was killed, so the task was ended".to_owned())
        }
        (Some(Reason::Descendants | Reason::Limit), None) | (None, None) => None,
        (reason, Some(signal)) => {
            let killed = format!("killed by signal {signal} ({})", name(signal));
            Some(match starved {
                Some(why) if signal == SIGKILL && reason.is_none() => {
                    format!("{killed} while {}", why.words())
                }
                _ => killed,
            })
        }
    }
}

/// The kernel ended processes for want of memory, and not by a limit of ours.
struct Starved {
    killed: Killed,
    whose: Whose,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The task's: its own group counted them.
    Task,
    /// Perhaps the task's, some of which was killed: a group below its own, gone since, may have
    /// counted them.
    Perhaps,
    /// That is not known.
    Anyone,
}

/// What the task's own group counted tells of the task alone; without one there is only what was
/// counted around it, which says nothing of a task that ended well, unless a process of it was
/// killed and the group that it was started in counted one.
fn starved(facts: &Facts, hold: &Hold, outcome: &Outcome) -> Option<Starved> {
    let ending = outcome.end.ending;
    let around = || facts.oom.found(&Root::default());
    let is_likely =
        |killed: &Killed| ending != Ending::Code(0) || hold.has_killed() && killed.among.is_some();
    match hold.killed_by_others() {
        None => around().filter(is_likely).map(|killed| Starved {
            killed,
            whose: Whose::Anyone,
        }),
        // Where we ended the task it was killed by us.
        Some(0) if outcome.reason.is_none() && hold.may_lack_kills(ending) => {
            let anywhere = facts.oom.anywhere(&Root::default());
            anywhere.map(|killed| Starved {
                killed,
                whose: Whose::Perhaps,
            })
        }
        Some(0) => None,
        Some(count) => Some(Starved {
            killed: Killed {
                count,
                source: "oom_kill of the task's control group".to_owned(),
                among: None,
                limit_of: around().and_then(|around| around.limit_of),
            },
            whose: Whose::Task,
        }),
    }
}

impl Starved {
    fn evidence(&self) -> Evidence {
        Evidence {
            kind: "oom_kill".to_owned(),
            value: Scalar::Whole(self.killed.count),
            source: self.killed.source.clone(),
        }
    }

    /// What the kernel did. No more is claimed than what is known: where somebody was killed,
    /// whether it was the same process is not told.
    fn words(&self) -> String {
        let killed = &self.killed;
        let many = match killed.count {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        let whose = match (&killed.among, self.whose) {
            (_, Whose::Task) => "of the task".to_owned(),
            (_, Whose::Perhaps) => "of this machine, perhaps of the task,".to_owned(),
            (Some(group), Whose::Anyone) => format!("of the control group {}", group.display()),
            (None, Whose::Anyone) => "of this machine".to_owned(),
        };
        let limit = killed.limit_of.as_ref();
        let limit = limit.map_or_else(String::new, |dir| {
            format!(", at the limit of {}", dir.display())
        });
        format!("the kernel ended {many} {whose} for want of memory{limit}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_command_of_many_lines_is_a_few_words_of_one() {
        assert_eq!(
            short("python3 -c import time\n\tx=1\n"),
            "python3 -c import time x=1"
        );
        assert_eq!(short(&"word ".repeat(100)).chars().count(), 120);
    }
}
