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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_becomes_idle() {
        // The class is of a thread: this one ends with the test.
        become_idle().unwrap();
        // SAFETY: takes no pointers.
        let class = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        assert_eq!(class, i64::from(libc::SCHED_IDLE));
    }
}
