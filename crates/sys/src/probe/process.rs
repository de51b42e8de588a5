//! Trials of what a parent may know and hold of its children.

use super::call::{check_int, own};
use super::child::IdleChild;
use std::io;

/// The effective user id.
pub fn effective_uid() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { libc::geteuid() }
}

/// Tries `pidfd_open(2)` on a child.
pub fn pidfd() -> io::Result<()> {
    let child = IdleChild::start()?;
    // SAFETY: both arguments are numbers; the result is a new descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.raw_pid(), 0) };
    own(fd).map(drop)
}

/// Tries `wait4(2)` on a child that ends.
pub fn wait4() -> io::Result<()> {
    super::child::short_lived().map(drop)
}

/// Tries `getrusage(2)` for the children that were waited for.
pub fn getrusage() -> io::Result<()> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` is live and large enough for the structure that the kernel fills.
    check_int(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) }).map(drop)
}

/// Tries `PR_SET_CHILD_SUBREAPER` and sets it back.
pub fn subreaper() -> io::Result<()> {
    let mut before: libc::c_int = 0;
    // SAFETY: the second argument points to a live int that the kernel fills.
    let got = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut before, 0, 0, 0) };
    check_int(got)?;
    set_subreaper(1)?;
    set_subreaper(before)
}

fn set_subreaper(on: libc::c_int) -> io::Result<()> {
    let on = libc::c_ulong::from(on != 0);
    // SAFETY: sets a flag of this process; all arguments are plain numbers.
    check_int(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, on, 0, 0, 0) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_can_be_waited_for_and_adopted() {
        wait4().unwrap();
        getrusage().unwrap();
        subreaper().unwrap();
    }
}
