//! Why the in-kernel programs cannot be had, before and after trying (`/proc/self/status`,
//! `CapEff`).

use std::io;

/// The reason why there are no in-kernel programs here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// This program was built without them.
    #[error("built without in-kernel programs")]
    NotBuilt,
    /// This user may not load them.
    #[error("not permitted: {missing}")]
    NoPermission {
        /// What is missing, in words.
        missing: String,
    },
    /// This kernel cannot run them.
    #[error("this kernel lacks {what}")]
    NoKernelSupport {
        /// What it lacks, in words.
        what: String,
    },
}

/// Tries to load the programs, and lets them go again. Whether they stay in the kernel for the
/// next run: that is root's to do, and where nothing can be pinned each run loads its own copy.
///
/// # Errors
/// The reason why they cannot be had; whatever else goes wrong counts as missing in the kernel.
pub fn probe() -> Result<bool, Unavailable> {
    #[cfg(not(feature = "bpf"))]
    return Err(Unavailable::NotBuilt);
    #[cfg(feature = "bpf")]
    match super::TaskPrograms::open() {
        Ok(programs) => Ok(programs.is_shared()),
        Err(crate::Error::Unavailable(reason)) => Err(reason),
        Err(error) => Err(Unavailable::NoKernelSupport {
            what: error.to_string(),
        }),
    }
}

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;
/// `PROC_PID_INIT_INO`: the inode of the initial pid namespace.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What can be said without loading anything: capabilities, pid namespace, type information.
#[cfg_attr(
    not(feature = "bpf"),
    allow(dead_code, reason = "only the loader asks")
)]
pub(super) fn check_beforehand() -> Result<(), Unavailable> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(missing) = effective_capabilities(&status).and_then(missing_capabilities) {
        return Err(Unavailable::NoPermission {
            missing: missing.to_owned(),
        });
    }
    if std::fs::read_link("/proc/self/ns/pid")
        .is_ok_and(|is| is.as_os_str() != INITIAL_PID_NAMESPACE)
    {
        return Err(Unavailable::NoPermission {
            missing: "a pid namespace of our own hides the pids that the kernel reports".to_owned(),
        });
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Unavailable::NoKernelSupport {
            what: "type information (/sys/kernel/btf/vmlinux)".to_owned(),
        });
    }
    Ok(())
}

/// Sorts a failed load: what the kernel refuses, and what it does not know.
#[cfg_attr(
    not(feature = "bpf"),
    allow(dead_code, reason = "only the loader asks")
)]
pub(super) fn after_trying(kind: io::ErrorKind, words: String) -> Unavailable {
    match kind {
        io::ErrorKind::PermissionDenied => Unavailable::NoPermission {
            missing: format!("the kernel refuses (lockdown, or a container's profile): {words}"),
        },
        _ => Unavailable::NoKernelSupport { what: words },
    }
}

fn effective_capabilities(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn missing_capabilities(have: u64) -> Option<&'static str> {
    if have & CAP_SYS_ADMIN != 0 {
        return None;
    }
    match (have & CAP_BPF != 0, have & CAP_PERFMON != 0) {
        (true, true) => None,
        (true, false) => Some("CAP_PERFMON"),
        (false, true) => Some("CAP_BPF"),
        (false, false) => Some("CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_capability_is_named() {
        let status = "Name:\tx\nCapEff:\t000000c000000000\nCapBnd:\t0\n";
        let both = effective_capabilities(status).unwrap();
        assert_eq!(both, CAP_BPF | CAP_PERFMON);
        assert_eq!(missing_capabilities(both), None);
        assert_eq!(missing_capabilities(CAP_SYS_ADMIN), None);
        assert_eq!(missing_capabilities(CAP_BPF), Some("CAP_PERFMON"));
        assert_eq!(missing_capabilities(CAP_PERFMON), Some("CAP_BPF"));
        assert!(missing_capabilities(0).unwrap().contains("CAP_SYS_ADMIN"));
        assert_eq!(effective_capabilities("CapEff:\tzz\n"), None);
    }

    #[test]
    fn a_refusal_is_told_from_a_lack() {
        assert!(matches!(
            after_trying(io::ErrorKind::PermissionDenied, "load".into()),
            Unavailable::NoPermission { .. }
        ));
        assert!(matches!(
            after_trying(io::ErrorKind::InvalidInput, "load".into()),
            Unavailable::NoKernelSupport { .. }
        ));
    }
}
