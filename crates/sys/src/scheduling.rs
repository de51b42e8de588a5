//! When a process gets a CPU (`sched(7)`).

use crate::error::{Error, check};

/// From now on the calling process, and what it starts, gets a CPU where nobody else wants one
/// (`SCHED_IDLE`).
///
/// # Errors
/// If the kernel has no such class.
pub fn become_idle() -> Result<(), Error> {
    let priority = 0_i32;
    // SAFETY: a `sched_param` is one integer, which the kernel only reads. The system call, not the
    // C library's function, which some of them leave out.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_IDLE,
            &raw const priority,
        )
    };
    check("sched_setscheduler", done).map(drop)
}

/// From now on the calling thread gets no more of a CPU than before, but sooner: in slices of so
/// many nanoseconds, 100 000 at least (`sched_setattr(2)`, since Linux 6.12). Before that, and
/// where it is of no usual class, nothing changes.
///
/// # Errors
/// If the kernel refuses.
pub fn take_slices(ns: u64) -> Result<(), Error> {
    let mut how = attributes()?;
    let is_usual = [libc::SCHED_OTHER, libc::SCHED_BATCH].map(|policy| policy as u32);
    if !is_usual.contains(&how.sched_policy) {
        return Ok(());
    }
    how.sched_runtime = ns;
    // SAFETY: the kernel reads as many bytes as `size` says.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const how, 0) };
    check("sched_setattr", done).map(drop)
}

/// How the calling thread is scheduled.
fn attributes() -> Result<libc::sched_attr, Error> {
    let size = size_of::<libc::sched_attr>() as u32;
    let mut how = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel writes as many bytes as it is told that there is room for.
    let done = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut how, size, 0) };
    check("sched_getattr", done)?;
    Ok(how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_change_nothing_else() {
        // SAFETY: takes no pointers; the priority is of this thread, which ends with the test.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 3) };
        let before = attributes().unwrap();
        take_slices(100_000).unwrap();
        let after = attributes().unwrap();
        assert_eq!((before.sched_nice, after.sched_nice), (3, 3));
        assert_eq!(before.sched_policy, after.sched_policy);
        // Kernels before 6.12 tell of no slice.
        assert!([0, 100_000].contains(&after.sched_runtime));
    }

    #[test]
    fn a_thread_becomes_idle() {
        // The class is of a thread: this one ends with the test.
        become_idle().unwrap();
        // SAFETY: takes no pointers.
        let class = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        assert_eq!(class, i64::from(libc::SCHED_IDLE));
    }
}
