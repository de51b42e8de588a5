//! Who a process is, and what of root's privileges it keeps.

use crate::error::{Error, check};

/// A privilege of root's (`capabilities(7)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// To read any file and folder.
    DacReadSearch,
    /// To hear what threads used at their ends.
    NetAdmin,
    /// To read what another user's process keeps for itself.
    SysPtrace,
    /// To read the kernel's log.
    Syslog,
    /// To use programs in the kernel.
    Bpf,
    /// Of these, those that look at all of it.
    Perfmon,
}

impl Capability {
    /// Its number.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::DacReadSearch => 2,
            Self::NetAdmin => 12,
            Self::SysPtrace => 19,
            Self::Syslog => 34,
            Self::Perfmon => 38,
            Self::Bpf => 39,
        }
    }
}

/// A user and his group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// User id.
    pub uid: u32,
    /// Group id; he is in no other.
    pub gid: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;
/// More than any kernel has: those behind the last one are refused.
const CAPABILITIES_MAX: u32 = 64;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// One half of the privileges.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Becomes `user`, with the privileges `keep` of those that there are, and can get no other.
pub(super) fn give_up(user: Option<User>, keep: &[Capability]) -> Result<(), Error> {
    let had = privileges()?;
    if had == 0 && user.is_none() {
        return Ok(());
    }
    // Nobody can get them back by an exec; where that may not be said there is nothing to get.
    for number in 0..CAPABILITIES_MAX {
        prctl(libc::PR_CAPBSET_DROP, u64::from(number));
    }
    if let Some(user) = user {
        prctl(libc::PR_SET_KEEPCAPS, 1);
        become_user(user)?;
    }
    let kept = keep.iter().fold(0u64, |set, one| set | 1 << one.number());
    set_privileges(kept & had)
}

/// What it tells is not needed: the privileges are set afterwards, and that is.
fn prctl(option: i32, argument: u64) {
    // SAFETY: no pointers.
    unsafe { libc::prctl(option, argument, 0, 0, 0) };
}

fn become_user(user: User) -> Result<(), Error> {
    // The system calls, not the C library's functions: this is of one thread.
    // SAFETY: an empty list is not read.
    let groups = unsafe { libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<u32>()) };
    check("setgroups", groups)?;
    // SAFETY: no pointers.
    let group = unsafe { libc::syscall(libc::SYS_setresgid, user.gid, user.gid, user.gid) };
    check("setresgid", group)?;
    // SAFETY: no pointers.
    let result = unsafe { libc::syscall(libc::SYS_setresuid, user.uid, user.uid, user.uid) };
    check("setresuid", result).map(drop)
}

/// Those that are permitted now, a bit each.
fn privileges() -> Result<u64, Error> {
    let (header, mut halves) = (own_header(), [Half::default(); 2]);
    // SAFETY: the header, and of this version two halves.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw const header, halves.as_mut_ptr()) };
    check("capget", result)?;
    let [low, high] = halves;
    Ok(u64::from(low.permitted) | u64::from(high.permitted) << 32)
}

fn set_privileges(set: u64) -> Result<(), Error> {
    let half = |bits: u64| {
        let bits = (bits & u64::from(u32::MAX)) as u32;
        Half {
            effective: bits,
            permitted: bits,
            inheritable: 0,
        }
    };
    let (header, halves) = (own_header(), [half(set), half(set >> 32)]);
    // SAFETY: the header, and of this version two halves.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) };
    check("capset", result).map(drop)
}

const fn own_header() -> Header {
    Header {
        version: VERSION,
        pid: 0,
    }
}
