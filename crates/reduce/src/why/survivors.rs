//! Processes that outlived the command.

use super::case::short;
use super::verdict::{Certainty, Told, Verdict};
use super::{Case, Cause};
use record::report::{Fate, Survivor};

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "survivors",
    description: "processes of it outlived the command",
    end: None,
    beside: Some(beside),
};

/// Survivors that the evidence names.
const NAMED_MAX: usize = 5;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    // Who could not be ended has a cause of its own.
    let is_told = case.evidence("not_ended").next().is_some();
    let all = case.report.survivors.iter();
    let all: Vec<_> = all
        .filter(|one| !(is_told && one.fate == Fate::Refused))
        .collect();
    let first = all.first()?;
    // Where it was ended as a whole the end of one is told a little later than that of another.
    let left = all.iter().filter(|one| one.fate != Fate::Ended).count();
    if case.enforced().is_some() && left == 0 {
        return None;
    }
    let who = match all.len() {
        1 => format!(
            "{} outlived the command and {}",
            named(first),
            fate(first.fate)
        ),
        many => format!("{many} processes outlived the command, {left} of them were not ended"),
    };
    let verdict = Verdict::new(CAUSE.name, Certainty::Known, format!("{who}."));
    let told = all.iter().take(NAMED_MAX).map(|one| Told {
        what: "survivor".to_owned(),
        value: format!("{}: {}", named(one), fate(one.fate)),
        source: "survivors".to_owned(),
    });
    let verdict = verdict.told_all(told);
    Some(match left {
        0 => verdict,
        _ => verdict.advise(
            "Have the command wait for what it starts, or run it with `--wait-descendants` or \
             `--kill-descendants`.",
        ),
    })
}

fn named(one: &Survivor) -> String {
    match short(&one.command).as_str() {
        "" => format!("pid {}", one.pid),
        command => format!("{command} (pid {})", one.pid),
    }
}

const fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::LeftRunning => "was left running",
        Fate::Ended => "was ended by Plimsoll",
        Fate::Refused => "could not be ended, for it is another user's",
    }
}
