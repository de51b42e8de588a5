//! Files of a task, counted as its calls stop for the thread that traces it.
//!
//! For any user and any program, but only when asked for by name: it changes the task as
//! [`crate::notify::ptrace`] does, and more. A filter of system calls, which every process of the
//! task has from the command's exec on, stops its calls on files, and without a tracer those calls
//! fail: so the kernel kills what is left of the task when Plimsoll ends. Without `CAP_SYS_ADMIN`
//! the filter also costs the task the right to new privileges (`no_new_privs`).
//!
//! The tracing thread counts ([`Watch`]); the monitor takes what ended processes had ([`Files`]).

use crate::notify::{Mechanism, Unusable};
use record::value::Absent;

mod ahead;
mod execution;
mod files;
mod look;
mod messages;
mod names;
mod opens;
mod process;
mod row;
mod single;
mod watch;

pub use files::Files;
pub(crate) use files::lock;
pub use watch::Watch;

const NAME: &str = "ptrace";

/// The line of the table of mechanisms.
pub const MECHANISM: Mechanism = Mechanism {
    name: NAME,
    level: 3,
    by_default: false,
    probe,
    gives: "calls, bytes and sizes of transfers by file, for any program; it ends with Plimsoll",
};

/// Stops a child that is made for it at a call.
///
/// # Errors
/// What is missing: the right to trace, or Linux 5.3.
pub fn probe() -> Result<(), Unusable> {
    crate::notify::ptrace::probe()?;
    sys::ptrace::probe_calls().map_err(|error| {
        let why = format!(
            "{error}: calls cannot be stopped by a filter here; it needs Linux 5.3 and seccomp"
        );
        (Absent::NoKernelSupport, why)
    })
}
