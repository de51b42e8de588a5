//! Calls that open files.

use super::look::WORKING_FOLDER;
use super::watch::{Watch, What};
use record::unit::Nanos;
use sys::ptrace;
use sys::seccomp::FileCall;

const O_ACCESS: u64 = 3;
const O_WRONLY: u64 = 1;
const O_CREAT: u64 = 0o100;
const O_EXCL: u64 = 0o200;
const O_TRUNC: u64 = 0o1000;
const O_APPEND: u64 = 0o2000;
#[cfg(target_arch = "aarch64")]
const O_DIRECT: u64 = 0o200_000;
#[cfg(not(target_arch = "aarch64"))]
const O_DIRECT: u64 = 0o40000;
const O_PATH: u64 = 0o10_000_000;
/// What `O_TMPFILE` has beside `O_DIRECTORY`.
const O_TMPFILE: u64 = 0o20_000_000;

/// An open under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opening {
    how: u64,
    /// It creates the file, if it succeeds.
    creates: bool,
    /// How large the file is that it cuts.
    before: Option<u64>,
}

impl Watch {
    /// Before an open; nothing if it cannot succeed.
    pub(super) fn open(&mut self, tid: u32, call: FileCall, arguments: &[u64; 6]) -> Option<What> {
        let [first, second, third, ..] = *arguments;
        let (folder, address, how) = match call {
            FileCall::Open => (WORKING_FOLDER, first, second),
            FileCall::Create => (WORKING_FOLDER, first, O_CREAT | O_WRONLY | O_TRUNC),
            FileCall::OpenAt => (first as i32, second, third),
            _ => {
                let mut how = [0; 8];
                // What cannot be read the kernel does not take either.
                ptrace::memory(tid, third, &mut how).ok()?;
                (first as i32, second, u64::from_ne_bytes(how))
            }
        };
        let may_create = how & (O_CREAT | O_TMPFILE) != 0;
        let sure = how & (O_EXCL | O_TMPFILE) != 0;
        let looks = (may_create && !sure) || how & O_TRUNC != 0;
        let found = looks.then(|| self.look.size_at(tid, folder, address));
        let found = found.flatten();
        Some(What::Open(Opening {
            how,
            creates: may_create && (sure || found == Some(None)),
            before: found.flatten().filter(|_| how & O_TRUNC != 0),
        }))
    }

    /// An open led to a descriptor.
    pub(super) fn opened(
        &mut self,
        pid: u32,
        fd: (u32, i32),
        Opening {
            how,
            creates,
            before,
        }: Opening,
        (at, time): (Nanos, Nanos),
    ) {
        let process = self.processes.entry(pid).or_default();
        let is_new = creates && self.names.moved;
        let Some(slot) = process.opened(&mut self.look, &mut self.rest, fd, is_new, at) else {
            return;
        };
        if let Some(row) = process.row(slot) {
            // The first use of the file cut it.
            if let Some(before) = before
                && row.first == at
                && row.counts.is_empty()
            {
                row.size_first = before;
            }
            let flags = &mut row.flags;
            flags.created |= creates;
            if how & O_PATH == 0 {
                flags.opened_to_read |= how & O_ACCESS != O_WRONLY;
                flags.opened_to_write |= how & O_ACCESS != 0;
                flags.truncated |= how & O_TRUNC != 0;
                flags.appended |= how & O_APPEND != 0;
                flags.direct |= how & O_DIRECT != 0;
            }
        }
        self.used(pid, slot, at, time, |counts| counts.opens += 1);
    }
}
