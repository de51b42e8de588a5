//! Memory that was swapped out, or had to be read again.

use super::verdict::{Certainty, Verdict};
use super::{Case, Cause};
use record::quantity;
use record::unit::Unit;

/// Its row of the table of causes.
pub(super) const CAUSE: Cause = Cause {
    name: "swap",
    description: "some of its memory was swapped out",
    end: None,
    beside: Some(beside),
};

/// Less is of no account.
const LEAST_BYTES: f64 = (64u64 << 20) as f64;

fn beside(case: &Case<'_>) -> Option<Verdict> {
    let swapped = case.amount("swap_peak")?;
    if swapped.value < LEAST_BYTES {
        return None;
    }
    let faults = case.amount("faults_major").map_or_else(String::new, |it| {
        format!(", and {:.0} page faults waited for storage", it.value)
    });
    let sentence = format!(
        "Up to {} of its memory were swapped out{faults}: it likely waited for that, for memory \
         that is used is read back from storage.",
        quantity::show(swapped.value, Unit::Bytes)
    );
    let verdict = Verdict::new(CAUSE.name, Certainty::Likely, sentence)
        .told_all(case.told_metric("swap_peak"))
        .told_all(case.told_metric("faults_major"));
    Some(verdict.advise("Ask for more memory, so that nothing has to be swapped."))
}
