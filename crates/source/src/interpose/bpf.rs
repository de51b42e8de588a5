//! Files of a task, counted by programs in the kernel as system calls return.
//!
//! Goes with [`crate::notify::bpf`], which says who belongs to the task. Attached while a run on
//! the node asks for files.

use crate::notify::{Mechanism, Unusable};

#[cfg(feature = "bpf")]
mod calls;
#[cfg(feature = "bpf")]
mod files;
#[cfg(feature = "bpf")]
mod kind;

#[cfg(feature = "bpf")]
pub use calls::Calls;
#[cfg(feature = "bpf")]
pub use files::Files;
#[cfg(feature = "bpf")]
pub(crate) use files::ROWS_MAX;

const NAME: &str = "bpf";

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 3,
    by_default: true,
    probe,
    gives: "calls, bytes and sizes of transfers by file, for every process",
};

/// Loads the programs, attaches them to a run without processes, and lets them go.
///
/// # Errors
/// What is missing: a capability, a kernel feature, or the programs in this build.
pub fn probe() -> Result<(), Unusable> {
    #[cfg(feature = "bpf")]
    {
        use record::value::Absent;
        crate::notify::bpf::probe()?;
        let files = crate::notify::bpf::Bpf::open().and_then(|bpf| bpf.follow_files(false));
        files
            .map(drop)
            .map_err(|error| (Absent::NoKernelSupport, error.to_string()))
    }
    #[cfg(not(feature = "bpf"))]
    crate::notify::bpf::probe()
}
