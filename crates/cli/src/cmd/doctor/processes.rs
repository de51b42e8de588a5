//! Probes of what a parent may know and hold of its children.

use super::{Outcome, Probe};
use sys::probe;

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "wait4",
        gives: "how a child ended",
        allow: "",
        needs: "any Linux",
        attempt: |_| Outcome::of(probe::wait4()),
    },
    Probe {
        name: "getrusage",
        gives: "exact totals of all children that were waited for",
        allow: "",
        needs: "any Linux",
        attempt: |_| Outcome::of(probe::getrusage()),
    },
    Probe {
        name: "child subreaper",
        gives: "orphans of the task stay ours: daemons are in the totals",
        allow: "a container profile that lets prctl pass",
        needs: "Linux 3.4",
        attempt: |_| Outcome::of(probe::subreaper()),
    },
    Probe {
        name: "pidfd",
        gives: "signals that reach the right process; ends without polling",
        allow: "a container profile that lets pidfd_open pass",
        needs: "Linux 5.3",
        attempt: |_| Outcome::of(probe::pidfd()),
    },
    Probe {
        name: "memfd launcher",
        gives: "a start that does not blow up the task's peak memory",
        allow: "sysctl vm.memfd_noexec below 2",
        needs: "Linux 3.19",
        attempt: |_| Outcome::of(probe::memfd_exec()),
    },
];
