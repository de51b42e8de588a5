//! A scheduler's limit on time: it warns by SIGTERM and then ends by SIGKILL, and tells the task no
//! more than that.

use super::amounts::rung_of;
use super::case::told_claim;
use super::signal::{Sent, killer, sent};
use super::signals::{SIGKILL, SIGTERM, SIGXCPU, name};
use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::unit::Unit;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "time_limit",
    description: "the scheduler's limit on time had come",
    end: Some(end),
    beside: Some(beside),
};

/// From which share of the time asked for on an end by a signal is likely for that.
const NEAR: f64 = 0.95;

/// How much later than asked for the end may be: schedulers look once a minute and wait for the
/// task to end by itself.
const LATE_SHARE: f64 = 1.05;
const LATE_NS: f64 = 120e9;

fn end(case: &Case<'_>) -> Option<Verdict> {
    let asked = case.asked("wall")?;
    let (wall, limit) = (case.wall()?, asked.value.as_f64());
    let late = (limit * LATE_SHARE).max(limit + LATE_NS);
    if case.ended_well() || wall < limit * NEAR || wall > late {
        return None;
    }
    let by = ended_by(case)?;
    let sentence = format!(
        "The task likely ran into the scheduler's limit on time: {by} ended it{}, where {} had \
         been asked for.",
        case.after(),
        quantity::show(limit, asked.unit)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all(case.told_metric("wall_time"))
        .told_all([told_claim("wall time asked for", asked)])
        .told_all(case.told("signal_sender"))
        .told_all([case.told_exit()]);
    let verdict = verdict.advise(
        "Ask for more time, or have the program save its state and go on from there: how long it \
         would have taken is not known.",
    );
    Some(verdict.ask([rung_of("wall", asked)]))
}

/// Whether that was the cause of the end.
pub(super) fn is_end(case: &Case<'_>) -> bool {
    end(case).is_some()
}

/// The signal by which a scheduler may have ended it, and who sent it where that is known.
fn ended_by(case: &Case<'_>) -> Option<String> {
    if let Some(Sent { signal, by, .. }) = sent(case) {
        let is_end = signal == name(SIGTERM) || signal == name(SIGXCPU);
        return is_end.then(|| format!("{signal} from {by}"));
    }
    if killer(case).is_some_and(|killer| !killer.is_daemon) {
        return None;
    }
    let signal = case.exit().signal?;
    let is_end = [SIGTERM, SIGKILL, SIGXCPU].contains(&signal);
    is_end.then(|| name(signal))
}

/// It came near the limit and ended by itself.
fn beside(case: &Case<'_>) -> Option<Verdict> {
    let asked = case.asked("wall")?;
    let share = case.wall()? / asked.value.as_f64();
    if share < NEAR {
        return None;
    }
    let sentence = format!(
        "It ran for {:.0} % of the {} that were asked for.",
        share * 100.0,
        quantity::show(asked.value.as_f64(), Unit::Nanoseconds)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, sentence)
        .told_all(case.told_metric("wall_time"))
        .told_all([told_claim("wall time asked for", asked)]);
    Some(verdict.advise("Ask for more time: the next one may not make it."))
}
