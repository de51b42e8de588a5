//! Children for trials: one that waits to be looked at, one that tries something by itself.

use super::call::check_int;
use libc::{c_int, pid_t};
use std::io;
use std::thread::sleep;
use std::time::Duration;

/// A trial in a child takes a millisecond; after this many of them it hangs.
const TRIAL_STEPS_MAX: u32 = 1000;

/// A child that does nothing until it is dropped, which ends it.
#[derive(Debug)]
pub struct IdleChild {
    pid: pid_t,
}

impl IdleChild {
    /// Forks the child. It dies with this process.
    pub fn start() -> io::Result<Self> {
        match fork()? {
            0 => loop {
                // SAFETY: `pause` takes no argument and only waits for a signal.
                unsafe { libc::pause() };
            },
            pid => Ok(Self { pid }),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    pub(super) fn raw_pid(&self) -> pid_t {
        self.pid
    }
}

impl Drop for IdleChild {
    fn drop(&mut self) {
        end(self.pid);
    }
}

/// Forks; the child, which gets 0, is killed when its parent dies.
fn fork() -> io::Result<pid_t> {
    // SAFETY: the child calls system calls alone until it ends, so that no lock held by another
    // thread of the parent can matter to it.
    let pid = check_int(unsafe { libc::fork() })?;
    if pid == 0 {
        // SAFETY: sets a property of this process; all arguments are plain numbers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
    }
    Ok(pid)
}

/// Kills and reaps a child. One that cannot be reaped is left to the init of its pid namespace.
fn end(pid: pid_t) {
    // SAFETY: `pid` is our unreaped child, so the number cannot name another process.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    // It was told to end; there is nothing more to do if it does not.
    let _ = wait(pid);
}

/// The wait status of a child that ends soon.
fn wait(pid: pid_t) -> io::Result<c_int> {
    for _ in 0..TRIAL_STEPS_MAX {
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `status` and `usage` are live variables that the kernel fills.
        let got = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
        let got = check_int(got)?;
        if got == pid {
            return Ok(status);
        }
        sleep(Duration::from_millis(1));
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "the trial did not end",
    ))
}

/// Runs `trial` in a child, so that what it changes dies with the child; the child's result.
pub(super) fn in_child(trial: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let pid = fork()?;
    if pid == 0 {
        let code = trial().map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0);
        // SAFETY: ends this process at once; nothing of the parent's is run down.
        unsafe { libc::_exit(code) };
    }
    let status = wait(pid);
    if status.is_err() {
        end(pid);
    }
    decode(status?)
}

/// A child that ends at once: for trials that want to hear of its end. Its pid.
pub(super) fn short_lived() -> io::Result<u32> {
    let pid = fork()?;
    if pid == 0 {
        // SAFETY: ends this process at once; nothing of the parent's is run down.
        unsafe { libc::_exit(0) };
    }
    wait(pid)?;
    Ok(pid.unsigned_abs())
}

fn decode(status: c_int) -> io::Result<()> {
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return Err(io::Error::other(format!(
            "the trial was killed by signal {signal}"
        )));
    }
    match libc::WEXITSTATUS(status) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_in_a_child_gives_its_error_or_its_signal() {
        assert!(in_child(|| Ok(())).is_ok());
        let failed = in_child(|| Err(io::Error::from_raw_os_error(libc::EPERM)));
        assert_eq!(failed.unwrap_err().raw_os_error(), Some(libc::EPERM));
        let killed = in_child(|| {
            // SAFETY: ends this child with a signal.
            unsafe { libc::raise(libc::SIGKILL) };
            Ok(())
        });
        assert!(killed.unwrap_err().to_string().contains("signal 9"));
    }

    #[test]
    fn an_idle_child_lives_until_it_is_dropped() {
        let child = IdleChild::start().unwrap();
        let pid = child.raw_pid();
        // SAFETY: signal 0 only asks whether the process is there.
        assert_eq!(unsafe { libc::kill(pid, 0) }, 0);
        drop(child);
        let mut status = 0;
        // SAFETY: `status` is a live variable.
        let gone = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
        assert_eq!(gone, -1);
    }
}
