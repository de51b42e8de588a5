//! Processes: fork, kill, wait, pidfd, resource usage (`fork(2)`, `kill(2)`, `wait4(2)`,
//! `prctl(2)`).

use crate::error::{Error, check};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Which side of a fork we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// The one that called; the pid of the new process.
    Parent(u32),
    /// The new process.
    Child,
}

/// Forks. Only from a process with one thread: another thread's locks would stay locked in the
/// child for ever, so with more threads it fails with `EDEADLK`.
pub fn fork() -> Result<Fork, Error> {
    let threads = std::fs::read_dir("/proc/self/task")
        .map(|tasks| tasks.count())
        .unwrap_or(1);
    if threads > 1 {
        let source = io::Error::from_raw_os_error(libc::EDEADLK);
        return Err(Error::Call {
            call: "fork with several threads",
            source,
        });
    }
    // SAFETY: one thread only (checked above; without /proc the caller's promise), so the child's
    // memory is as consistent as the parent's.
    let pid = check("fork", i64::from(unsafe { libc::fork() }))?;
    Ok(if pid == 0 {
        Fork::Child
    } else {
        Fork::Parent(pid as u32)
    })
}

/// Sends `signal` to the process `pid`; `ESRCH` if it is gone.
pub fn kill(pid: u32, signal: i32) -> Result<(), Error> {
    if pid == 0 || pid > i32::MAX as u32 {
        let source = io::Error::from_raw_os_error(libc::ESRCH);
        return Err(Error::Call {
            call: "kill",
            source,
        });
    }
    // SAFETY: kill has no memory effects; the pid is a single process.
    check("kill", i64::from(unsafe { libc::kill(pid as i32, signal) })).map(drop)
}

/// Whether there is a process, or one that ended and was not waited for, of this id.
pub fn exists(pid: u32) -> bool {
    !kill(pid, 0).is_err_and(|error| error.errno() == Some(libc::ESRCH))
}

/// Sends `signal` to the calling process.
pub fn raise(signal: i32) {
    // SAFETY: raise has no memory effects.
    unsafe { libc::raise(signal) };
}

/// A descriptor that names the process `pid` for as long as it is open (`pidfd_open(2)`, Linux
/// 5.3).
pub fn pidfd(pid: u32) -> Result<OwnedFd, Error> {
    // SAFETY: integers only.
    let fd = check("pidfd_open", unsafe {
        libc::syscall(libc::SYS_pidfd_open, pid, 0)
    })?;
    // SAFETY: the kernel just returned this descriptor and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Sends `signal` to the process that `pidfd` names: to no other that has its id by now
/// (`pidfd_send_signal(2)`, Linux 5.1).
pub fn kill_by(pidfd: BorrowedFd<'_>, signal: i32) -> Result<(), Error> {
    let (call, fd) = (libc::SYS_pidfd_send_signal, pidfd.as_raw_fd());
    let default = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open; the null pointer asks for what kill(2) tells.
    check("pidfd_send_signal", unsafe {
        libc::syscall(call, fd, signal, default, 0)
    })
    .map(drop)
}

/// Whether this process is in the first pid namespace, whose pids device drivers tell
/// (`/proc/self/ns/pid`, whose number is fixed since Linux 3.8). True where nobody can tell.
pub fn in_first_pid_namespace() -> bool {
    const FIRST: &str = "pid:[4026531836]";
    let ours = std::fs::read_link("/proc/self/ns/pid");
    ours.map_or(true, |name| name.as_os_str() == FIRST)
}

/// Makes this process the one that adopts its orphaned descendants (`PR_SET_CHILD_SUBREAPER`).
pub fn become_subreaper() -> Result<(), Error> {
    set_subreaper(1)
}

/// Undoes [`become_subreaper`], which an exec would keep.
pub fn give_up_subreaper() -> Result<(), Error> {
    set_subreaper(0)
}

fn set_subreaper(on: libc::c_ulong) -> Result<(), Error> {
    // SAFETY: integers only.
    let result = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, on, 0, 0, 0) };
    check("prctl(PR_SET_CHILD_SUBREAPER)", i64::from(result)).map(drop)
}

/// Ends this process at once, without running destructors or flushing anything (`_exit(2)`).
pub fn exit_now(status: i32) -> ! {
    // SAFETY: never returns; nothing of this process is used afterwards.
    unsafe { libc::_exit(status) }
}

/// Becomes the program `path` with `arguments`, the name first; returns only if the kernel refuses.
pub fn execute(path: &std::path::Path, arguments: &[std::ffi::OsString]) -> io::Error {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(path);
    if let Some((name, rest)) = arguments.split_first() {
        command.arg0(name).args(rest);
    }
    command.exec()
}

/// Our parent's pid.
pub fn parent() -> u32 {
    // SAFETY: no arguments, never fails.
    (unsafe { libc::getppid() }) as u32
}

/// The process group of the process `pid` (`getpgid(2)`); `None` if it is gone.
pub fn group(pid: u32) -> Option<u32> {
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    // SAFETY: integers only.
    u32::try_from(unsafe { libc::getpgid(pid) }).ok()
}

/// Our effective user id.
pub fn effective_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::geteuid() }
}

/// Our real user id.
pub fn real_uid() -> u32 {
    // SAFETY: no arguments, never fails.
    unsafe { libc::getuid() }
}

/// Size of a page in bytes, if the system tells.
pub fn page_bytes() -> Option<u64> {
    // SAFETY: takes a number, gives a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| *size > 0)
}

/// Resource usage in the words of `getrusage(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// User CPU time, nanoseconds (microsecond steps).
    pub user_ns: u64,
    /// System CPU time, nanoseconds (microsecond steps).
    pub system_ns: u64,
    /// Largest resident set of any one process, bytes.
    pub rss_peak_bytes: u64,
    /// Page faults without I/O.
    pub faults_minor_total: u64,
    /// Page faults with I/O.
    pub faults_major_total: u64,
    /// 512-byte blocks read from storage, as bytes.
    pub disk_read_bytes: u64,
    /// 512-byte blocks written to storage, as bytes.
    pub disk_written_bytes: u64,
    /// Context switches by waiting.
    pub switches_voluntary_total: u64,
    /// Context switches by preemption.
    pub switches_involuntary_total: u64,
}

impl Usage {
    /// Reads the 18 words of the kernel's `struct rusage`: 2 timevals, then 14 longs.
    pub fn from_words(words: &[i64; 18]) -> Self {
        let [
            us,
            uus,
            ss,
            sus,
            maxrss,
            _,
            _,
            _,
            minflt,
            majflt,
            _,
            inblock,
            oublock,
            _,
            _,
            _,
            nvcsw,
            nivcsw,
        ] = *words;
        let time = |s: i64, us: i64| (s as u64).saturating_mul(1_000_000_000) + (us as u64) * 1000;
        Self {
            user_ns: time(us, uus),
            system_ns: time(ss, sus),
            rss_peak_bytes: (maxrss as u64).saturating_mul(1024),
            faults_minor_total: minflt as u64,
            faults_major_total: majflt as u64,
            disk_read_bytes: (inblock as u64).saturating_mul(512),
            disk_written_bytes: (oublock as u64).saturating_mul(512),
            switches_voluntary_total: nvcsw as u64,
            switches_involuntary_total: nivcsw as u64,
        }
    }

    fn from_libc(usage: &libc::rusage) -> Self {
        Self::from_words(&[
            usage.ru_utime.tv_sec,
            usage.ru_utime.tv_usec,
            usage.ru_stime.tv_sec,
            usage.ru_stime.tv_usec,
            usage.ru_maxrss,
            0,
            0,
            0,
            usage.ru_minflt,
            usage.ru_majflt,
            0,
            usage.ru_inblock,
            usage.ru_oublock,
            0,
            0,
            0,
            usage.ru_nvcsw,
            usage.ru_nivcsw,
        ])
    }
}

/// Whose usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This process, all threads.
    Own,
    /// The descendants that were waited for.
    Children,
}

/// Resource usage so far (`getrusage(2)`).
pub fn usage(whose: Whose) -> Usage {
    let who = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is a valid place for the result.
    unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid rusage, and the kernel filled it.
    Usage::from_libc(&unsafe { usage.assume_init() })
}

/// What a wait found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waited {
    /// The child.
    pub pid: u32,
    /// Its wait status: ended, stopped (low byte 0x7f) or continued (0xffff).
    pub status: u32,
    /// What it and the descendants it waited for used; zero unless it ended.
    pub usage: Usage,
}

/// Waits for any child of the calling thread that ended, stopped or continued (`wait4(2)`); `None`
/// if nothing happened, and `ECHILD` as an error if there is no child.
pub fn wait_any(block: bool) -> Result<Option<Waited>, Error> {
    // Without __WNOTHREAD the kernel would hand us the stops that a tracing thread of this process
    // waits for.
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WUNTRACED | libc::WCONTINUED;
    wait(-1, if block { flags } else { flags | libc::WNOHANG })
}

/// Waits for the end of one child of ours; `None` if it has not ended and is not to `block`.
///
/// # Errors
/// Of `wait4(2)`: it is no child of ours.
pub fn wait_end(pid: u32, block: bool) -> Result<Option<Waited>, Error> {
    let flags = if block { 0 } else { libc::WNOHANG };
    wait(pid.cast_signed(), libc::__WALL | flags)
}

/// `wait4(2)`; `None` if nothing happened.
pub(crate) fn wait(who: i32, flags: i32) -> Result<Option<Waited>, Error> {
    loop {
        let mut status = 0;
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: both pointers are to valid places for the results.
        let pid = unsafe { libc::wait4(who, &mut status, flags, usage.as_mut_ptr()) };
        match check("wait4", i64::from(pid)) {
            Err(error) if error.errno() == Some(libc::EINTR) => continue,
            Err(error) => return Err(error),
            Ok(0) => return Ok(None),
            Ok(pid) => {
                // SAFETY: all-zero bytes are a valid rusage, and the kernel may have filled it.
                let usage = Usage::from_libc(&unsafe { usage.assume_init() });
                return Ok(Some(Waited {
                    pid: pid as u32,
                    status: status as u32,
                    usage,
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_words_are_in_the_kernels_order() {
        let mut words = [0; 18];
        words[0] = 1;
        words[3] = 5;
        words[4] = 7;
        words[17] = 9;
        let usage = Usage::from_words(&words);
        assert_eq!((usage.user_ns, usage.system_ns), (1_000_000_000, 5000));
        assert_eq!(
            (usage.rss_peak_bytes, usage.switches_involuntary_total),
            (7168, 9)
        );
    }

    #[test]
    fn a_process_has_a_group_and_nobody_has_none() {
        assert!(group(std::process::id()).is_some_and(|group| group > 0));
        assert_eq!((group(0), group(u32::MAX)), (None, None));
    }

    #[test]
    fn killing_nobody_is_an_error_and_never_a_group() {
        for pid in [0, u32::MAX] {
            assert_eq!(kill(pid, 0).unwrap_err().errno(), Some(libc::ESRCH));
        }
        kill(std::process::id(), 0).unwrap();
    }
}
