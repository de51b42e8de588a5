//! Who a process is: never a pid alone.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A tick of the identity clock: `/proc` gives start times in 10 ms steps.
pub const START_STEP: Nanos = Nanos(10_000_000);

/// A process within one boot: its pid and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    /// Process id (thread group id) in the root pid namespace where known.
    pub pid: u32,
    /// Start since boot, cut to [`START_STEP`] so that all sources agree.
    pub start_ns: Nanos,
}

impl ProcessId {
    /// The identity of `pid` started at `start` since boot.
    pub const fn new(pid: u32, start: Nanos) -> Self {
        Self {
            pid,
            start_ns: Nanos(start.0 - start.0 % START_STEP.0),
        }
    }
}

/// How a process ended, from its wait status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It exited with this code.
    Code(u8),
    /// This signal killed it.
    Signal(u8),
}

impl Ending {
    /// Decodes the status word of `wait(2)` (low 7 bits: signal, bits 8-15: code).
    pub const fn from_wait_status(status: u32) -> Self {
        match (status & 0x7f) as u8 {
            0 => Ending::Code(((status >> 8) & 0xff) as u8),
            signal => Ending::Signal(signal),
        }
    }

    /// The exit status a shell shows: the code, or 128 + signal.
    pub const fn shell_status(self) -> i32 {
        match self {
            Ending::Code(code) => code as i32,
            Ending::Signal(signal) => 128 + signal as i32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_cut_to_the_step_of_proc() {
        assert_eq!(
            ProcessId::new(1, Nanos(19_999_999)).start_ns,
            Nanos(10_000_000)
        );
    }

    #[test]
    fn wait_status_is_decoded_as_the_shell_does() {
        assert_eq!(Ending::from_wait_status(3 << 8).shell_status(), 3);
        assert_eq!(Ending::from_wait_status(9 | 0x80), Ending::Signal(9));
        assert_eq!(Ending::Signal(15).shell_status(), 143);
    }
}
