//! Which files a process may use, whoever it is (`landlock(7)`, Linux 5.13).

use super::failed;
use crate::error::Error;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, path_beneath_rules,
};
use std::path::Path;

/// Files by what may be done with them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Files<'a> {
    /// What is below these folders may be read, written, made and removed.
    pub written: &'a [&'a Path],
    /// What is below these may be read.
    pub read: &'a [&'a Path],
}

/// How far a process is held to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// To the rules as they are.
    Wholly,
    /// To a part of them: the kernel knows no more.
    InPart,
    /// Not at all: the kernel has nothing for it.
    NotAtAll,
    /// Nobody asked.
    NotAsked,
}

/// The newest rules that are asked for: those of Linux 6.10.
const NEWEST: ABI = ABI::V5;

/// Holds this thread to `files`, and to no TCP.
pub(super) fn hold(files: &Files<'_>) -> Result<Held, Error> {
    let status = restrict(files).map_err(|error| refused(&error))?;
    Ok(match status {
        RulesetStatus::FullyEnforced => Held::Wholly,
        RulesetStatus::PartiallyEnforced => Held::InPart,
        RulesetStatus::NotEnforced => Held::NotAtAll,
    })
}

fn restrict(files: &Files<'_>) -> Result<RulesetStatus, RulesetError> {
    let (all, read) = (
        AccessFs::from_all(NEWEST),
        AccessFs::ReadFile | AccessFs::ReadDir,
    );
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .create()?
        .add_rules(path_beneath_rules(files.written, all))?
        .add_rules(path_beneath_rules(files.read, read))?
        .restrict_self()?;
    Ok(status.ruleset)
}

fn refused(error: &RulesetError) -> Error {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(one) = cause {
        let errno = one.downcast_ref::<std::io::Error>();
        if let Some(errno) = errno.and_then(std::io::Error::raw_os_error) {
            return failed("landlock_restrict_self", errno);
        }
        cause = one.source();
    }
    failed("landlock_restrict_self", libc::EINVAL)
}
