//! System calls that a process may not make.

use super::failed;
use crate::error::Error;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::collections::BTreeMap;

/// Calls that belong together. What is forbidden fails with `EPERM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forbidden {
    /// To start or to change another process, or to look into its memory.
    Processes,
    /// To make a socket.
    Sockets,
    /// To change a file system, or to open a file but to read it.
    Writing,
    /// To change the machine: mounts, modules, clocks, name spaces, other users' keys.
    Machine,
    /// To load programs into the kernel, and to count events of the processor.
    Programs,
}

/// What of the second or third argument of an open says that it is to write: `O_WRONLY`, `O_RDWR`,
/// `O_CREAT`, `O_TRUNC`.
const WRITING: &[i32] = &[libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC];

const PROCESSES: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];
const SOCKETS: &[i64] = &[libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect];
const WRITES: &[i64] = &[
    libc::SYS_openat2,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];
const MACHINE: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_personality,
];
const PROGRAMS: &[i64] = &[libc::SYS_bpf, libc::SYS_perf_event_open];

/// Forbids these to this thread.
pub(super) fn forbid(forbidden: &[Forbidden]) -> Result<(), Error> {
    if forbidden.is_empty() {
        return Ok(());
    }
    let program = program(forbidden).map_err(|_| failed("a filter of calls", libc::ENOSYS))?;
    seccompiler::apply_filter(&program).map_err(|error| {
        let errno = match &error {
            seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                error.raw_os_error()
            }
            _ => None,
        };
        failed("seccomp", errno.unwrap_or(libc::EINVAL))
    })
}

fn program(forbidden: &[Forbidden]) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for one in forbidden {
        let calls = match one {
            Forbidden::Processes => PROCESSES,
            Forbidden::Sockets => SOCKETS,
            Forbidden::Writing => WRITES,
            Forbidden::Machine => MACHINE,
            Forbidden::Programs => PROGRAMS,
        };
        // No rule: whatever the arguments.
        rules.extend(calls.iter().map(|call| (*call, Vec::new())));
        if *one == Forbidden::Writing {
            rules.insert(libc::SYS_openat, opens(2)?);
            #[cfg(target_arch = "x86_64")]
            rules.insert(libc::SYS_open, opens(1)?);
        }
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let machine = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, machine)?.try_into()
}

/// An open whose flags, the argument with that number, say that it is to write.
fn opens(argument: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let rule = |flag: &i32| {
        let flag = *flag as u64;
        let has = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, has, flag)?;
        SeccompRule::new(vec![condition])
    };
    WRITING.iter().map(rule).collect()
}
