//! Trials of tracing, on children that are made for it.

use super::{Options, Stop, decode, entered, resume, resume_to_return, returned, seize, wait};
use crate::descriptor;
use crate::error::{Error, check};
use crate::seccomp;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Tries to trace a child that is made for it and waits to be killed.
pub fn probe() -> Result<(), Error> {
    // SAFETY: the child of this fork only makes calls that are safe after fork in a process with
    // threads.
    let pid = unsafe { libc::fork() };
    check("fork", i64::from(pid))?;
    if pid == 0 {
        loop {
            // SAFETY: takes nothing; waits for the signal that ends this process.
            unsafe { libc::pause() };
        }
    }
    let options = Options {
        kill_with_us: true,
        ..Options::default()
    };
    let tried = seize(pid.unsigned_abs(), options);
    kill(pid);
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let got = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
        if got == pid && libc::WIFSTOPPED(status) {
            // A stop on the way to its end. If this fails it has gone on by itself.
            let _ = resume(pid.unsigned_abs(), 0);
        } else if got == pid || io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return tried;
        }
    }
}

/// Tries to stop a child at a call that the filter of [`crate::seccomp`] picks, and at its end.
///
/// # Errors
/// The kernel's; `ENOSYS` where there is no filter for this architecture or where the kernel does
/// not tell which call it is (before Linux 5.3).
pub fn probe_calls() -> Result<(), Error> {
    let mut filter = seccomp::filter();
    if filter.is_empty() {
        return Err(unknown());
    }
    let program = libc::sock_fprog {
        len: (filter.len() / 8) as u16,
        filter: filter.as_mut_ptr().cast(),
    };
    let (ours, theirs) = descriptor::channel()?;
    // SAFETY: as above.
    let pid = unsafe { libc::fork() };
    check("fork", i64::from(pid))?;
    if pid == 0 {
        closes_nothing(theirs.as_raw_fd(), &program);
    }
    let options = Options {
        kill_with_us: true,
        calls: true,
    };
    let tried = seize(pid.unsigned_abs(), options)
        .and_then(|()| descriptor::send(std::os::fd::AsFd::as_fd(&ours), b"G"));
    if tried.is_err() {
        kill(pid);
    }
    let seen = watch(pid)?;
    tried.and_then(|()| if seen { Ok(()) } else { Err(unknown()) })
}

/// Sees a child through; whether its call was told at its begin and at its end.
fn watch(pid: libc::pid_t) -> Result<bool, Error> {
    let tid = pid.unsigned_abs();
    let (mut begun, mut over) = (false, false);
    loop {
        let stop = wait(pid, 0)?.and_then(|waited| decode(&waited));
        // If one of these fails the child was killed meanwhile: its end comes next.
        let _ = match stop {
            None => Ok(()),
            Some(Stop::Gone { .. }) => return Ok(begun && over),
            Some(Stop::Call) => {
                begun = entered(tid).is_some();
                resume_to_return(tid)
            }
            Some(Stop::Return) => {
                over = returned(tid) == Some(i64::from(-libc::EBADF));
                resume(tid, 0)
            }
            Some(Stop::Signal(signal)) => resume(tid, signal),
            Some(_) => resume(tid, 0),
        };
    }
}

/// In a child: waits for a word, filters itself, closes what is not open, and ends.
fn closes_nothing(word: RawFd, program: &libc::sock_fprog) -> ! {
    let mut byte = 0u8;
    // SAFETY: `byte` lives through the call.
    let got = unsafe { libc::recv(word, (&raw mut byte).cast(), 1, 0) };
    if got == 1 {
        // SAFETY: takes plain numbers.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: the program is live; the kernel copies it.
        unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                std::ptr::from_ref(program),
            )
        };
        // SAFETY: a number that is no descriptor.
        unsafe { libc::close(-1) };
    }
    crate::process::exit_now(0)
}

fn kill(pid: libc::pid_t) {
    // SAFETY: takes no pointers; `pid` is our child and not waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

fn unknown() -> Error {
    Error::Call {
        call: "ptrace(PTRACE_GET_SYSCALL_INFO)",
        source: io::Error::from_raw_os_error(libc::ENOSYS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_seen_at_its_begin_and_at_its_end() {
        match probe().and_then(|()| probe_calls()) {
            Ok(()) => {}
            // Where it does not work, the kernel says why.
            Err(error) => {
                assert!(error.errno().is_some());
                println!("skipped: {error}");
            }
        }
    }
}
