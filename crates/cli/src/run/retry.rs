//! How a task is run once, or in several attempts (`--retry`).
//!
//! Only a limit that `--limits auto` set makes another attempt.

use super::ending::Ending;
use super::start::{self, Ended};
use crate::cmd::Status;
use crate::cmd::run::RunOptions;
use anyhow::Result;
use record::limit::LIMITS;
use record::report::{ExitType, Report};

/// Runs the task, again where that is asked for; the exit status of the last attempt.
pub(crate) fn run(options: &RunOptions) -> Result<Status> {
    #[cfg(feature = "archive")]
    if options.limits_auto {
        return super::attempts::run(options.clone());
    }
    match start::run(options)? {
        Ended::Status(status) => Ok(status),
        // Said of limits alone that something follows, and nothing does here.
        Ended::Short(_) | Ended::Asked(_) => Ok(options.own_failure()),
    }
}

/// The place in the table of limits of the one that ended the task, if it is to run again.
pub(super) fn short_of(report: &Report, ending: &Ending, options: &RunOptions) -> Option<u32> {
    let by_limit = report.exit.kind == ExitType::Limit;
    let enforced = report.exceeded.iter().find(|one| one.enforced)?;
    let place = LIMITS
        .iter()
        .position(|kind| kind.name == enforced.resource)?;
    let climbs = LIMITS
        .get(place)
        .is_some_and(|kind| options.climbs.contains(&kind.resource));
    let place = u32::try_from(place).ok();
    place.filter(|_| by_limit && climbs && !ending.is_final())
}
