//! Why a task ended as it did: from its report to one sentence with its evidence. One file a cause.
//!
//! No more is said than the report has. What is likely only says what makes it so.

mod amounts;
mod answer;
mod case;
mod cores;
mod crash;
mod disk;
mod elsewhere;
mod exit_code;
mod fault;
mod limit;
mod memory;
mod memory_kill;
mod missing;
mod named;
mod not_ended;
mod not_started;
mod running;
mod shell_signal;
mod signal;
mod signals;
mod success;
mod survivors;
mod swap;
mod throttled;
mod time_limit;
mod unknown;
mod verdict;
mod waits;

pub use answer::{Answer, Whose, answer};
pub use case::Case;
pub use fault::name as fault_name;
pub use verdict::{Certainty, Change, SCHEMA, Told, Verdict, Why};

use record::report::Report;

/// How one cause is found in a report, if it is there.
pub type Find = fn(&Case<'_>) -> Option<Verdict>;

/// One cause.
#[derive(Debug)]
pub struct Cause {
    /// Its name in files.
    pub name: &'static str,
    /// What it is, for people.
    pub description: &'static str,
    /// Finds it as the cause of the end.
    pub end: Option<Find>,
    /// Finds what is to be said where the end has another cause.
    pub beside: Option<Find>,
}

/// Every cause: the first that is found is that of the end, so what says more comes first. What was
/// seen beside it is told in the same order.
pub const CAUSES: &[&Cause] = &[
    &running::CAUSE,
    &not_started::CAUSE,
    &limit::CAUSE,
    &not_ended::CAUSE,
    &memory_kill::CAUSE,
    &time_limit::CAUSE,
    &signal::CAUSE,
    &crash::CAUSE,
    &disk::CAUSE,
    &missing::CAUSE,
    &shell_signal::CAUSE,
    &exit_code::CAUSE,
    &named::CAUSE,
    &elsewhere::CAUSE,
    &memory::CAUSE,
    &swap::CAUSE,
    &waits::CAUSE,
    &throttled::CAUSE,
    &cores::CAUSE,
    &survivors::CAUSE,
    &success::CAUSE,
    &unknown::CAUSE,
];

/// Why the task of this report ended as it did.
pub fn judge(report: &Report) -> Why {
    let case = Case::new(report);
    let found = CAUSES
        .iter()
        .find_map(|cause| cause.end.and_then(|end| end(&case)));
    let main = found.unwrap_or_else(|| unknown::verdict(&case));
    let others = CAUSES.iter().filter(|cause| cause.name != main.cause);
    let also = match case.has_ended() {
        true => others
            .filter_map(|cause| cause.beside.and_then(|beside| beside(&case)))
            .collect(),
        false => Vec::new(),
    };
    Why { main, also }
}
