//! Where we are: host facts and what this process may use of the machine.

use super::{proc_cpuinfo, proc_meminfo, proc_pid_status, proc_stat, sys_cpu, sys_kernel};
use crate::root::Root;
use record::report::{Claim, Host};
use record::unit::Unit;
use record::value::Absent;
use std::collections::BTreeMap;

/// The facts of the host, and the names of those that could not be read (their fields are empty or
/// 0).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// What is known.
    pub host: Host,
    /// Field and reason of each that is not known.
    pub absent: Vec<(&'static str, Absent)>,
}

/// Reads the facts of the host; without /proc every field is absent but the architecture.
pub fn facts(root: &Root) -> Facts {
    let mut facts = Facts::default();
    facts.host.name = facts.known("name", sys_kernel::read(root, "hostname"));
    facts.host.kernel = facts.known("kernel", sys_kernel::read(root, "osrelease"));
    facts.host.boot_id = facts.known("boot_id", sys_kernel::read(root, "random/boot_id"));
    facts.host.cpus = facts.known("cpus", online_cpus(root));
    facts.host.memory_bytes = facts.known("memory_bytes", memory(root));
    // The processor's name is an ornament: not every architecture has one.
    facts.host.cpu_model = proc_cpuinfo::read(root).ok().and_then(|info| info.model);
    facts.host.architecture = Some(std::env::consts::ARCH.to_owned());
    facts
}

impl Facts {
    fn known<T: Default>(&mut self, field: &'static str, read: Result<T, Absent>) -> T {
        read.unwrap_or_else(|absent| {
            self.absent.push((field, absent));
            T::default()
        })
    }
}

/// Online CPUs by /sys, or where that is not mounted by /proc/stat.
fn online_cpus(root: &Root) -> Result<u64, Absent> {
    sys_cpu::read_online(root).or_else(|absent| match proc_stat::read(root) {
        Ok(stat) if stat.cpus > 0 => Ok(stat.cpus),
        _ => Err(absent),
    })
}

/// Physical memory in bytes.
fn memory(root: &Root) -> Result<u64, Absent> {
    let total = proc_meminfo::read(root)?.total;
    total.map(|bytes| bytes.0).ok_or(Absent::NoKernelSupport)
}

/// What this process may use, by resource name: `cores` by affinity (a cpuset narrows it too) and
/// `memory` as the machine has it. A control group's limits are nearer: who knows them replaces
/// these.
pub fn allocation(root: &Root) -> BTreeMap<String, Claim> {
    let affinity = proc_pid_status::read(root, None)
        .ok()
        .and_then(|status| sys_cpu::parse(&status.cpus_allowed?));
    let cores = affinity.map(|cpus| (cpus, "/proc/self/status Cpus_allowed_list"));
    // Neither is an error: what cannot be read is not claimed.
    let cores = cores.or_else(|| Some((online_cpus(root).ok()?, "CPUs online")));
    let memory = memory(root).ok();
    let mut claims = BTreeMap::new();
    if let Some((cpus, source)) = cores {
        claims.insert("cores".to_owned(), Claim::whole(cpus, Unit::Cores, source));
    }
    if let Some(bytes) = memory {
        let source = "/proc/meminfo MemTotal";
        claims.insert(
            "memory".to_owned(),
            Claim::whole(bytes, Unit::Bytes, source),
        );
    }
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn this_machine_is_known() {
        let facts = facts(&Root::default());
        assert_eq!(facts.absent, []);
        assert_eq!(facts.host.boot_id.len(), 36);
        assert!(facts.host.cpus > 0 && facts.host.memory_bytes > 1 << 20);
        let allocation = allocation(&Root::default());
        assert_eq!(allocation["cores"].unit, Unit::Cores);
        assert!(allocation["cores"].value.as_f64() <= facts.host.cpus as f64);
        assert!(allocation["memory"].value.as_f64() > 0.0);
    }

    #[test]
    fn without_proc_nothing_is_claimed() {
        let nowhere = Root::at(Path::new("/nowhere"));
        let fields: Vec<_> = facts(&nowhere).absent.iter().map(|fact| fact.0).collect();
        assert_eq!(
            fields,
            ["name", "kernel", "boot_id", "cpus", "memory_bytes"]
        );
        assert!(allocation(&nowhere).is_empty());
    }
}
