//! Trials of what can stand between a task and the kernel, and of running a program from memory.

use super::call::{check, check_int, own};
use super::child::{IdleChild, in_child};
use libc::{c_ulong, sock_filter, sock_fprog};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Tries `PTRACE_SEIZE` with the options for forks and execs on a child, which is then ended.
pub fn ptrace_seize() -> io::Result<()> {
    let child = IdleChild::start()?;
    let options = libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESYSGOOD;
    let options = libc::c_ulong::from(options.unsigned_abs());
    // SAFETY: seizes our own child; the address is unused and the data are option bits.
    let result = unsafe { libc::ptrace(libc::PTRACE_SEIZE, child.raw_pid(), 0usize, options) };
    check(result).map(drop)
}

/// A filter that lets every system call pass.
const ALLOW_ALL: sock_filter = sock_filter {
    code: (libc::BPF_RET | libc::BPF_K) as u16,
    jt: 0,
    jf: 0,
    k: libc::SECCOMP_RET_ALLOW,
};

/// Tries, in a child, a seccomp filter with a descriptor that is told of calls.
pub fn seccomp_notification() -> io::Result<()> {
    action_available(libc::SECCOMP_RET_USER_NOTIF)?;
    in_child(|| {
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        own(install_filter(flags)?).map(drop)
    })
}

/// Tries, in a child, a seccomp filter as `SECCOMP_RET_TRACE` needs it.
pub fn seccomp_trace() -> io::Result<()> {
    action_available(libc::SECCOMP_RET_TRACE)?;
    in_child(|| check(install_filter(0)?).map(drop))
}

fn action_available(action: u32) -> io::Result<()> {
    // SAFETY: the last argument points to a live number that the kernel only reads.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    check(result).map(drop)
}

/// Gives up new privileges and installs [`ALLOW_ALL`]: for a child that ends soon.
fn install_filter(flags: c_ulong) -> io::Result<libc::c_long> {
    // SAFETY: sets a flag of this process; all arguments are plain numbers.
    check_int(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    let mut filter = [ALLOW_ALL];
    let program = sock_fprog {
        len: 1,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: `program` and the filter it points to are live; the kernel copies them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    Ok(result)
}

/// A file in memory; kernels before 6.3 know no flag for an executable one, and need none.
fn executable_memory() -> io::Result<OwnedFd> {
    const MFD_EXEC: libc::c_uint = 0x10;
    let create = |flags| {
        // SAFETY: the name is a C string; the result is a new descriptor or -1.
        let fd = unsafe { libc::memfd_create(c"plimsoll-probe".as_ptr(), flags) };
        own(libc::c_long::from(fd))
    };
    match create(libc::MFD_CLOEXEC | MFD_EXEC) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => create(libc::MFD_CLOEXEC),
        result => result,
    }
}

/// Tries to execute a file that lives in memory alone: one that is no program, so that the only
/// success is the kernel's word that it is none, given after every check of permission.
pub fn memfd_exec() -> io::Result<()> {
    in_child(|| {
        let file = executable_memory()?;
        // Letters: for other bytes the kernel would look for a module that knows the format.
        let text = b"no program\n";
        // SAFETY: the buffer is live and as long as said.
        let written = unsafe { libc::write(file.as_raw_fd(), text.as_ptr().cast(), text.len()) };
        check(written as libc::c_long)?;
        let arguments: [*const libc::c_char; 2] = [c"probe".as_ptr(), std::ptr::null()];
        let environment: [*const libc::c_char; 1] = [std::ptr::null()];
        // SAFETY: the path is a C string, arguments and environment are arrays ended by null.
        let result = unsafe {
            libc::syscall(
                libc::SYS_execveat,
                file.as_raw_fd(),
                c"".as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
                libc::AT_EMPTY_PATH,
            )
        };
        match check(result) {
            Err(error) if error.raw_os_error() == Some(libc::ENOEXEC) => Ok(()),
            other => other.map(drop),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_end_and_leave_this_process_as_it_is() {
        for trial in [
            ptrace_seize,
            seccomp_notification,
            seccomp_trace,
            memfd_exec,
        ] {
            // Whether it works is the kernel's to say; here, that it says anything.
            if let Err(error) = trial() {
                println!("not here: {error}");
            }
        }
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        assert!(status.contains("NoNewPrivs:\t0") || status.contains("Seccomp:\t2"));
    }
}
