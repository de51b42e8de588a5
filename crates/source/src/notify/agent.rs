//! The in-kernel programs of an agent (`plimsoll agent --socket`), lent to a user who may not load
//! his own: what [`bpf`](super::bpf) tells, for his own tasks.

#[cfg(feature = "bpf")]
use super::bpf::Bpf;
use super::{Mechanism, Unusable};
#[cfg(feature = "bpf")]
use crate::error::Error;
use record::value::Absent;
#[cfg(feature = "bpf")]
use std::path::Path;

/// Where an agent listens, unless told otherwise.
pub const SOCKET: &str = "/run/plimsoll/agent.sock";

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 2,
    by_default: true,
    probe,
    gives: "what bpf gives, by the programs of a node's agent, for every user",
};

const NAME: &str = "agent";

/// Starts a run of the agent at its usual place, and ends it.
///
/// # Errors
/// Nobody listens there, or he refuses.
#[cfg(feature = "bpf")]
pub fn probe() -> Result<(), Unusable> {
    match open(Path::new(SOCKET)) {
        Ok(_) => Ok(()),
        Err(error) => Err((Absent::NotApplicable, error.to_string())),
    }
}

/// It needs the layout of the programs.
///
/// # Errors
/// Always.
#[cfg(not(feature = "bpf"))]
pub fn probe() -> Result<(), Unusable> {
    let why = "built without in-kernel programs: build with the feature `bpf`";
    Err((Absent::NotApplicable, why.to_owned()))
}

/// A run of the programs of the agent that listens at `path`.
///
/// # Errors
/// Nobody listens there, or not somebody to be trusted, or he refuses.
#[cfg(feature = "bpf")]
pub fn open(path: &Path) -> Result<Bpf, Error> {
    let run = sys::bpf::borrow(path).map_err(|source| Error::Mechanism {
        mechanism: NAME,
        why: match source.errno() {
            // ENOENT, ECONNREFUSED.
            Some(2 | 111) => format!("no agent listens at {}", path.display()),
            _ => format!("{}: {source}", path.display()),
        },
    })?;
    Ok(Bpf::of(run, NAME))
}
