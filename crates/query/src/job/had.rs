//! What a job had, as far as it may be held against what is told of it here: all of it where all of
//! its machines are told of, else what those that are had of it.

use super::{Facts, Host, Job};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What a host says that the job had there, and what its control group was charged in one boot.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub(crate) struct Granted {
    /// Which.
    pub(crate) host: String,
    boot_id: String,
    /// CPUs.
    pub(crate) cpus: Option<i64>,
    /// Memory, bytes.
    pub(crate) memory: Option<i64>,
    gpus: Option<i64>,
    cgroup_peak: Option<i64>,
    cgroup_cpu_time: Option<i64>,
}

/// What all of these hosts had together, each by its name.
pub(crate) fn had<'a>(
    facts: Option<&Facts>,
    whole: fn(&Facts) -> Option<i64>,
    hosts: impl Iterator<Item = (&'a str, Option<i64>)>,
) -> Option<i64> {
    let facts = facts?;
    let hosts: BTreeMap<&str, Option<i64>> = hosts.collect();
    let all = whole(facts).filter(|_| untold(facts, hosts.len()) == 0);
    let of_hosts = || hosts.values().copied().sum::<Option<i64>>();
    all.or_else(of_hosts).filter(|had| *had > 0)
}

/// Machines that it had beside those; of a job that accounting alone knows none is missing.
fn untold(facts: &Facts, hosts: usize) -> i64 {
    let hosts = i64::try_from(hosts).unwrap_or(i64::MAX);
    let nodes = facts.nodes.filter(|_| hosts > 0);
    nodes.map_or(0, |nodes| (nodes - hosts).max(0))
}

impl Facts {
    /// CPUs that it had, all machines together.
    pub fn cpus(&self) -> Option<i64> {
        self.cpus_allocated.or(self.cpus_requested)
    }

    /// GPUs that it had, all machines together.
    pub fn gpus(&self) -> Option<i64> {
        self.gpus_allocated.or(self.gpus_requested)
    }

    /// Memory that it was given or asked for, all machines together, bytes.
    pub fn memory(&self) -> Option<i64> {
        self.memory_allocated.or(self.memory_requested)
    }
}

impl Job {
    /// CPUs that it had on the hosts that are told of.
    pub fn cpus(&self) -> Option<i64> {
        self.had(Facts::cpus, |host| host.cpus_had)
    }

    /// GPUs that it had there, if it had any.
    pub fn gpus_had(&self) -> Option<i64> {
        self.had(Facts::gpus, |host| host.gpus_had)
    }

    /// Memory that it had there, bytes.
    pub fn memory(&self) -> Option<i64> {
        self.had(Facts::memory, |host| host.memory_had)
    }

    /// Its machines of which nothing is told, and how many it has.
    pub fn untold(&self) -> Option<(i64, i64)> {
        let facts = self.facts.as_ref()?;
        let untold = untold(facts, self.names().len());
        facts.nodes.filter(|_| untold > 0).map(|all| (untold, all))
    }

    fn had(
        &self,
        whole: fn(&Facts) -> Option<i64>,
        of_host: fn(&Host) -> Option<i64>,
    ) -> Option<i64> {
        let hosts = self.hosts.iter();
        let hosts = hosts.map(|host| (host.host.as_str(), of_host(host)));
        had(self.facts.as_ref(), whole, hosts)
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.hosts.iter().map(|host| host.host.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Tells each host what it had; the only one had all of it.
    pub(super) fn grant(&mut self, granted: &[Granted]) {
        for host in &mut self.hosts {
            for granted in granted.iter().filter(|it| it.host == host.host) {
                (host.cpus_had, host.memory_had) = (granted.cpus, granted.memory);
                host.gpus_had = granted.gpus;
                if granted.boot_id == host.boot_id {
                    host.cgroup_peak = granted.cgroup_peak;
                    host.cgroup_cpu_time = granted.cgroup_cpu_time;
                }
            }
        }
        if self.names().len() == 1 && self.untold().is_none() {
            let all = [self.cpus(), self.memory(), self.gpus_had()];
            for host in &mut self.hosts {
                [host.cpus_had, host.memory_had, host.gpus_had] = all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    fn granted(host: &str, cpus: i64) -> Granted {
        Granted {
            host: host.to_owned(),
            cpus: Some(cpus),
            memory: Some(cpus * GIB),
            gpus: Some(0),
            ..Granted::default()
        }
    }

    fn job(nodes: i64, cpus: i64, hosts: &[&str]) -> Job {
        let host = |name: &&str| Host {
            host: (*name).to_owned(),
            ..Host::default()
        };
        Job {
            facts: Some(Facts {
                nodes: Some(nodes),
                cpus_allocated: Some(cpus),
                memory_allocated: Some(cpus * GIB),
                ..Facts::default()
            }),
            hosts: hosts.iter().map(host).collect(),
            ..Job::default()
        }
    }

    #[test]
    fn a_part_of_the_hosts_is_held_against_what_these_had() {
        let mut all = job(2, 12, &["n1", "n2"]);
        all.grant(&[granted("n1", 4), granted("n2", 8)]);
        assert_eq!((all.cpus(), all.memory()), (Some(12), Some(12 * GIB)));
        assert_eq!((all.gpus_had(), all.untold()), (None, None));
        assert_eq!(all.hosts[1].cpus_had, Some(8));
        let mut part = job(3, 20, &["n1", "n2"]);
        part.grant(&[granted("n1", 4), granted("n2", 8)]);
        assert_eq!((part.cpus(), part.untold()), (Some(12), Some((1, 3))));
        // The one that is told of does not say what it had.
        let mut dumb = job(2, 12, &["n3"]);
        dumb.grant(&[granted("n1", 4)]);
        assert_eq!((dumb.cpus(), dumb.memory()), (None, None));
        let told = job(2, 12, &[]);
        assert_eq!((told.cpus(), told.untold()), (Some(12), None));
    }

    #[test]
    fn the_only_host_had_all_of_it_whatever_it_was_told() {
        let mut one = job(1, 8, &["n1", "n1"]);
        one.grant(&[granted("n1", 4)]);
        assert_eq!(one.cpus(), Some(8));
        assert!(one.hosts.iter().all(|host| host.cpus_had == Some(8)));
    }
}
