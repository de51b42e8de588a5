//! Probes of what a parent may know and hold of its children.

use super::{Outcome, Probe};
use record::value::Absent;
use sys::clock;
use sys::probe::{self, IdleChild};

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
        name: "CPU clocks of processes",
        gives: "CPU time of any process in nanoseconds, without a file; whether it has run since",
        allow: "a container profile that lets clock_gettime pass",
        needs: "Linux 2.6.12",
        attempt: |_| cpu_clock(),
    },
    Probe {
        name: "memfd launcher",
        gives: "a start that does not blow up the task's peak memory",
        allow: "sysctl vm.memfd_noexec below 2",
        needs: "Linux 3.19",
        attempt: |_| Outcome::of(probe::memfd_exec()),
    },
];

fn cpu_clock() -> Outcome {
    let child = match IdleChild::start() {
        Ok(child) => child,
        Err(error) => return Outcome::of(Err(error)),
    };
    match clock::cpu_time(child.pid()) {
        Some(_) => Outcome::usable(),
        None => Outcome::not(Absent::NoKernelSupport, "the clock of a child is not told"),
    }
}
