//! Probes of what tells of forks, execs and ends.

use super::outcome::words;
use super::{Outcome, Probe};
use record::value::Absent;
use std::fs;
use std::io;
use sys::probe;

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "proc connector",
        gives: "every fork, exec and end: the exact tree",
        allow: "CAP_NET_ADMIN, or Linux 6.6",
        needs: "CONFIG_PROC_EVENTS, and the first network and pid namespace",
        attempt: |_| silent(probe::proc_connector()),
    },
    Probe {
        name: "taskstats query",
        gives: "nanoseconds of CPU and delays of a living process",
        allow: "CAP_NET_ADMIN",
        needs: "a kernel with CONFIG_TASKSTATS",
        attempt: |_| silent(probe::taskstats_query()),
    },
    Probe {
        name: "taskstats exit listener",
        gives: "final values of every process at its end",
        allow: "CAP_NET_ADMIN",
        needs: "a kernel with CONFIG_TASKSTATS, and the first network namespace",
        attempt: |_| taskstats_listener(),
    },
    Probe {
        name: "ptrace",
        gives: "--mechanism ptrace: the exact tree; changes the task without root; its five stops \
                for a short process cost a tenth to nearly half of that, nothing read yet",
        allow: "sysctl kernel.yama.ptrace_scope=1; CAP_SYS_PTRACE where it is 2",
        needs: "Linux 3.4",
        attempt: |_| ptrace(),
    },
];

/// A subscription that was accepted and then told nothing is one without effect.
fn silent(result: io::Result<()>) -> Outcome {
    match result {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Outcome::not(
            Absent::NoPermission,
            "accepted, but the end of a child was not told",
        ),
        result => Outcome::of(result),
    }
}

fn taskstats_listener() -> Outcome {
    match fs::read_to_string("/sys/devices/system/cpu/possible") {
        Ok(cpus) => silent(probe::taskstats_exit_listener(&cpus)),
        Err(error) => Outcome::not(
            Absent::NoKernelSupport,
            format!("/sys/devices/system/cpu/possible: {}", words(&error)),
        ),
    }
}

fn ptrace() -> Outcome {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.map_or("without yama".to_owned(), |text| {
        format!("yama.ptrace_scope {}", text.trim())
    });
    match Outcome::of(probe::ptrace_seize()) {
        Outcome::Usable(_) => Outcome::with(scope),
        Outcome::Unusable { reason, why, .. } => Outcome::not(reason, format!("{why}; {scope}")),
    }
}
