//! What can go wrong between us and the kernel.

use std::io;

/// A failed kernel call, with the call's name and its object.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{call}: {source}")]
    Call {
        /// The call, and what it was about.
        call: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The other side of a channel spoke words that we do not know.
    #[error("the launcher sent {0} bytes that are no message")]
    BadMessage(usize),
    /// The in-kernel programs cannot be had here.
    #[error(transparent)]
    Unavailable(#[from] crate::bpf::Unavailable),
    /// All run slots of the node are taken, or a process is in 8 runs already.
    #[error("too many runs at once")]
    TooManyRuns,
    /// The agent that lends its programs does not, or no longer.
    #[error("{0}")]
    Agent(&'static str),
}

impl Error {
    /// The error number that the kernel gave, if it was the kernel.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::Call { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}

/// Turns the -1 of a C call into an error that names the call.
pub(crate) fn check(call: &'static str, result: i64) -> Result<i64, Error> {
    if result == -1 {
        return Err(Error::Call {
            call,
            source: io::Error::last_os_error(),
        });
    }
    Ok(result)
}
