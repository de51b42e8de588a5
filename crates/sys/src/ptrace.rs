//! Tracing processes with `ptrace(2)`, by `PTRACE_SEIZE` only: tracees are never stopped by the
//! attachment itself.
//!
//! Every call must come from the thread that seized; [`next`] hears only tracees of the calling
//! thread, and leaves other children of the process alone.

use crate::error::{Error, check};
use crate::process::{self, Usage, Waited};
use std::io;
use std::ptr;

mod call;
mod trial;
mod untraced;

pub use call::{Entered, entered, memory, returned};
pub use trial::{probe, probe_calls};
pub use untraced::{trace_clone, trace_clone3};

/// What the kernel shall stop a tracee for. Forks of every kind, exec and exit always.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

/// What `PTRACE_O_TRACESYSGOOD` adds to the signal of a stop at a call's end.
const RETURN: i32 = 0x80;

/// Why a tracee was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It made the thread or process with this id, which is traced too.
    Fork(u32),
    /// It runs a new program; [`former`] tells which thread called exec.
    Exec,
    /// It is about to end, its memory still there.
    Exit,
    /// A new tracee's first stop, or the end of a group stop.
    Event,
    /// A stop signal stopped its process: leave it so with [`listen`].
    Group,
    /// It is about to receive this signal.
    Signal(i32),
    /// It is about to make a system call that a filter picked ([`crate::seccomp`]); [`entered`]
    /// tells which, [`resume_to_return`] stops it once more when the call is over.
    Call,
    /// A system call is over; [`returned`] tells what came of it.
    Return,
    /// It is gone. Before the main thread, every other thread is told.
    Gone {
        /// Its wait status.
        status: u32,
        /// What its process used, the children that it waited for included.
        usage: Usage,
    },
}

/// How a task is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The kernel kills it when the calling thread ends.
    pub kill_with_us: bool,
    /// It stops at the system calls that its filter picks.
    pub calls: bool,
}

/// Starts to trace `pid` and all that it will make.
///
/// # Errors
/// `EPERM` if it is not ours to trace, is traced already, or a security module forbids it.
pub fn seize(pid: u32, options: Options) -> Result<(), Error> {
    let mut bits = OPTIONS;
    if options.kill_with_us {
        bits |= libc::PTRACE_O_EXITKILL;
    }
    if options.calls {
        bits |= libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACESYSGOOD;
    }
    let options = ptr::without_provenance_mut(bits as usize);
    request("ptrace(PTRACE_SEIZE)", libc::PTRACE_SEIZE, pid, options)
}

/// Lets a stopped tracee run on, with `signal` delivered to it (0 for none).
pub fn resume(tid: u32, signal: i32) -> Result<(), Error> {
    let data = ptr::without_provenance_mut(signal.unsigned_abs() as usize);
    request("ptrace(PTRACE_CONT)", libc::PTRACE_CONT, tid, data)
}

/// Lets a tracee that stopped with [`Stop::Call`] run to the end of that call.
pub fn resume_to_return(tid: u32) -> Result<(), Error> {
    let none = ptr::null_mut();
    request("ptrace(PTRACE_SYSCALL)", libc::PTRACE_SYSCALL, tid, none)
}

/// Leaves a tracee in its group stop until a `SIGCONT` comes.
pub fn listen(tid: u32) -> Result<(), Error> {
    let none = ptr::null_mut();
    request("ptrace(PTRACE_LISTEN)", libc::PTRACE_LISTEN, tid, none)
}

/// The id that the thread had before the exec that it is stopped after.
pub fn former(tid: u32) -> Result<u32, Error> {
    message(tid)
}

/// The kernel's word on the last event of a stopped tracee.
fn message(tid: u32) -> Result<u32, Error> {
    let mut value: libc::c_ulong = 0;
    let call = "ptrace(PTRACE_GETEVENTMSG)";
    let data = (&raw mut value).cast();
    request(call, libc::PTRACE_GETEVENTMSG, tid, data)?;
    Ok(value as u32)
}

/// Waits for the next report of a tracee of this thread; the tracee's own thread id beside it.
/// `None` once there is no tracee left.
pub fn next() -> Result<Option<(u32, Stop)>, Error> {
    loop {
        let waited = match wait(-1, 0) {
            Err(error) if error.errno() == Some(libc::ECHILD) => return Ok(None),
            other => other?,
        };
        if let Some(waited) = waited
            && let Some(stop) = decode(&waited)
        {
            return Ok(Some((waited.pid, stop)));
        }
    }
}

/// As [`next`], but calls `before_gone` with the id of a thread that has ended while it can still
/// be read: twice the calls.
pub fn next_readable(mut before_gone: impl FnMut(u32)) -> Result<Option<(u32, Stop)>, Error> {
    loop {
        let Some((tid, ended)) = peek()? else {
            return Ok(None);
        };
        if ended {
            before_gone(tid);
        }
        // Nothing: SIGKILL took the tracee out of its stop meanwhile; it comes again.
        if let Some(waited) = wait(tid as libc::pid_t, libc::WNOHANG)?
            && let Some(stop) = decode(&waited)
        {
            return Ok(Some((tid, stop)));
        }
    }
}

/// `wait4(2)` for tracees of this thread; `ECHILD` if there is none.
fn wait(pid: i32, flags: i32) -> Result<Option<Waited>, Error> {
    process::wait(pid, flags | libc::__WALL | libc::__WNOTHREAD)
}

/// The next tracee with something to report, left as it is, and whether it has ended.
fn peek() -> Result<Option<(u32, bool)>, Error> {
    loop {
        // SAFETY: siginfo_t is plain data, for which all zero bits are a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        let flags = flags | libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: `info` outlives the call.
        let result = unsafe { libc::waitid(libc::P_ALL, 0, &mut info, flags) };
        if let Err(error) = check("waitid", i64::from(result)) {
            match error.errno() {
                Some(libc::EINTR) => continue,
                Some(libc::ECHILD) => return Ok(None),
                _ => return Err(error),
            }
        }
        // SAFETY: waitid filled the fields of a child's state change.
        let pid = unsafe { info.si_pid() };
        let ended = matches!(
            info.si_code,
            libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
        );
        return Ok(Some((pid.unsigned_abs(), ended)));
    }
}

/// What a wait status means; `None` if the tracee is gone before it could be asked (its end comes
/// next).
fn decode(waited: &Waited) -> Option<Stop> {
    let (tid, status) = (waited.pid, waited.status.cast_signed());
    if !libc::WIFSTOPPED(status) {
        return Some(Stop::Gone {
            status: waited.status,
            usage: waited.usage,
        });
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 if signal == libc::SIGTRAP | RETURN => Some(Stop::Return),
        0 => Some(Stop::Signal(signal)),
        libc::PTRACE_EVENT_SECCOMP => Some(Stop::Call),
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
            message(tid).ok().map(Stop::Fork)
        }
        libc::PTRACE_EVENT_EXEC => Some(Stop::Exec),
        libc::PTRACE_EVENT_EXIT => Some(Stop::Exit),
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => Some(Stop::Group),
        _ => Some(Stop::Event),
    }
}

/// Whether the thread `tid` is of the process `process`.
pub fn is_thread_of(process: u32, tid: u32) -> bool {
    // SAFETY: signal 0 is only a question; takes no pointers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, tid, 0) };
    let denied = io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
    result == 0 || denied
}

fn request(
    call: &'static str,
    request: libc::c_uint,
    pid: u32,
    data: *mut libc::c_void,
) -> Result<(), Error> {
    let pid = pid as libc::pid_t;
    let address = ptr::null_mut::<libc::c_void>();
    // SAFETY: each request above either takes `data` as a number or writes one word to it, which is
    // live.
    let result = unsafe { libc::ptrace(request, pid, address, data) };
    check(call, result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_traced_child_tells_its_life_and_keeps_its_status() {
        if let Err(error) = probe() {
            return println!("skipped: {error}");
        }
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read go; /bin/true; exit 3"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        seize(child.id(), Options::default()).unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"go\n").unwrap();
        let (mut forks, mut execs, mut gone) = (0, 0, Vec::new());
        while let Some((tid, stop)) = next().unwrap() {
            match stop {
                Stop::Gone { status, usage } => {
                    assert!(usage.faults_minor_total > 0);
                    gone.push((tid == child.id(), status));
                }
                Stop::Fork(_) => forks += 1,
                Stop::Exec => execs += 1,
                _ => {}
            }
            let signal = match stop {
                Stop::Gone { .. } => continue,
                Stop::Signal(signal) => signal,
                _ => 0,
            };
            resume(tid, signal).unwrap();
        }
        // The exec of the shell itself may come after the seizure.
        assert!(forks == 1 && (1..=2).contains(&execs));
        assert_eq!(gone, [(false, 0), (true, 3 << 8)]);
        // A tracer that is the parent too has waited for it by this.
        assert!(child.wait().is_err());
    }

    #[test]
    fn nobody_traces_the_first_process_of_the_machine_without_right() {
        assert!(!is_thread_of(std::process::id(), 1));
        assert!(is_thread_of(std::process::id(), std::process::id()));
    }
}
