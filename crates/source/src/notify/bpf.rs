//! The in-kernel programs: the exact tree of the task and what each process used, told as it ends.
//!
//! Membership is inherited in the kernel before a new process runs, so nothing is missed; the
//! counts of processes and threads are kept there too. While events come nothing wakes the reader:
//! read every [`Bpf::period`]. When they cease it sleeps until the next one.

use super::{Mechanism, Unusable};
use record::value::Absent;
use sys::bpf::Unavailable;

#[cfg(feature = "bpf")]
mod everyone;
#[cfg(feature = "bpf")]
mod groups;
#[cfg(feature = "bpf")]
mod parts;
#[cfg(feature = "bpf")]
mod task;

#[cfg(feature = "bpf")]
pub use everyone::Everyone;
#[cfg(feature = "bpf")]
pub use task::Bpf;

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 2,
    by_default: true,
    probe,
    gives: "the exact process tree and the exact final values of every process",
};

const NAME: &str = "bpf";

/// Loads the programs, or finds them loaded, and lets them go.
///
/// # Errors
/// What is missing: a capability, a kernel feature, or the programs in this build.
pub fn probe() -> Result<(), Unusable> {
    sys::bpf::probe().map(drop).map_err(unusable)
}

fn unusable(why: Unavailable) -> Unusable {
    match why {
        Unavailable::NotBuilt => (
            Absent::NotApplicable,
            "built without in-kernel programs: build with the feature `bpf`".to_owned(),
        ),
        Unavailable::NoPermission { .. } => (
            Absent::NoPermission,
            format!("{why}: run as root, or with the capabilities named"),
        ),
        Unavailable::NoKernelSupport { .. } => (Absent::NoKernelSupport, why.to_string()),
    }
}
