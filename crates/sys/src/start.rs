//! What this program was started with, read before `main`: the Rust runtime ignores `SIGPIPE` and
//! opens `/dev/null` for closed standard descriptors, and forgets what was.

use crate::signal;
use std::sync::atomic::{AtomicU32, Ordering};

/// `SIGCHLD` was ignored.
pub const CHILD_IGNORED: u32 = 1;
/// `SIGPIPE` was ignored.
pub const PIPE_IGNORED: u32 = 2;
/// Descriptor 0 was closed; 1 and 2 are the next two bits.
pub const STDIN_CLOSED: u32 = 4;

static STARTED_WITH: AtomicU32 = AtomicU32::new(0);

#[used]
#[unsafe(link_section = ".init_array")]
static READ: extern "C" fn() = read;

extern "C" fn read() {
    let mut facts = 0;
    for (number, fact) in [
        (libc::SIGCHLD, CHILD_IGNORED),
        (libc::SIGPIPE, PIPE_IGNORED),
    ] {
        if signal::is_ignored(number) {
            facts |= fact;
        }
    }
    for fd in 0..3 {
        // SAFETY: F_GETFD only reads a flag, and fails on a closed descriptor.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
            facts |= STDIN_CLOSED << fd;
        }
    }
    STARTED_WITH.store(facts, Ordering::Relaxed);
}

/// The facts of our start: an or of [`CHILD_IGNORED`], [`PIPE_IGNORED`] and the closed descriptors
/// [`STDIN_CLOSED`], its double and its quadruple.
pub fn facts() -> u32 {
    STARTED_WITH.load(Ordering::Relaxed)
}

/// Gives the signals that the Rust runtime changes back as they were, before an exec.
pub fn restore_signals() {
    let facts = facts();
    for (number, fact) in [
        (libc::SIGCHLD, CHILD_IGNORED),
        (libc::SIGPIPE, PIPE_IGNORED),
    ] {
        if facts & fact != 0 {
            signal::set_ignored(number)
        } else {
            signal::set_default(number)
        }
    }
}
