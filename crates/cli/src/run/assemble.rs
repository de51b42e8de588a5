//! From what was seen to the report.

use super::ending::Reason;
use super::eyes::Eyes;
use super::facts::Facts;
use super::hold::Hold;
use crate::cmd::run::RunOptions;
use record::sample::{MainEnd, WaitTotals};
use record::unit::Nanos;
use sys::process::Usage;
use sys::signal::Arrived;

/// How it all ended.
pub(crate) struct Outcome {
    pub(crate) end: MainEnd,
    pub(crate) waited: Option<WaitTotals>,
    pub(crate) survivors: Vec<u32>,
    pub(crate) reason: Option<Reason>,
}

impl Facts {
    pub(crate) fn running_state(&mut self, _now: Nanos, _e: &mut Eyes, _h: &Hold) {}
    pub(crate) fn next(&self) -> Option<Nanos> {
        None
    }
    pub(crate) fn signal(&mut self, _a: &Arrived) {}
    pub(crate) fn launcher_cost(&mut self, _u: Usage) {}
    pub(crate) fn write(&mut self, _o: &RunOptions, _e: Eyes, _h: &Hold, outcome: Outcome) -> u8 {
        super::warn(&format!(
            "{:?} {:?} {:?} {:?} {:?}",
            outcome.end,
            outcome.waited,
            outcome.survivors,
            outcome.reason,
            self.report.monitor.notes
        ));
        outcome.end.ending.shell_status() as u8
    }
}
