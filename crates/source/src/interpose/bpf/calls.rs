//! The system calls of one task, the kernel's numbers turned into names.

use super::NAME;
use crate::error::Error;
use record::call::{CallCounts, CallUse};
use record::unit::Nanos;
use sys::bpf::{CallRow, FollowedCalls};
use syscalls::Sysno;

/// The system calls of one task.
#[derive(Debug)]
pub struct Calls(Box<dyn FollowedCalls>);

impl Calls {
    pub(crate) fn new(calls: Box<dyn FollowedCalls>) -> Self {
        Self(calls)
    }

    /// Gives all that was counted so far to `take`, that of living threads included; whether that
    /// is all, as an agent tells nothing of what was called as another user.
    ///
    /// # Errors
    /// The kernel's, or the agent's.
    pub fn read(&self, take: &mut dyn FnMut(CallUse)) -> Result<bool, Error> {
        let read = self.0.read(&mut |row| take(used(&row)));
        read.map_err(|source| Error::Kernel {
            mechanism: NAME,
            source,
        })
    }
}

fn used(row: &CallRow) -> CallUse {
    CallUse {
        pid: row.pid,
        name: name(row.number, row.compat),
        counts: CallCounts {
            calls: row.calls,
            errors: row.errors,
            time_ns: Nanos(row.time_ns),
        },
    }
}

fn name(number: u32, compat: bool) -> String {
    if compat {
        return format!("ia32_{number}");
    }
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    // No call has a number below zero, but a task may ask for one.
    let unknown = || format!("call_{}", number.cast_signed());
    known.map_or_else(unknown, |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_names_where_they_are_known() {
        assert_eq!(name(Sysno::openat as u32, false), "openat");
        assert_eq!(name(1000, false), "call_1000");
        assert_eq!(name(5, true), "ia32_5");
        assert_eq!(name(u32::MAX, false), "call_-1");
    }
}
