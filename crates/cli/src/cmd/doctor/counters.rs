//! Probes of performance counters, tracepoints and dynamic probes.

use super::outcome::{reason, words};
use super::{Outcome, Probe};
use record::value::Absent;
use std::fs;
use std::io;
use sys::probe::{PerfEvent, perf_event};

const PARANOID: &str = "sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON";
const PERFMON: &str = "root, or CAP_PERFMON with read access to tracefs";

/// Where the tracing file system may be mounted.
const TRACEFS: &[&str] = &["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "perf hardware counters",
        gives: "cycles, instructions, cache misses (not used by run)",
        allow: PARANOID,
        needs: "a processor, or a hypervisor, that offers its counters",
        attempt: |_| hardware(),
    },
    Probe {
        name: "perf software events",
        gives: "task clock, faults, switches of the tree (not used by run)",
        allow: PARANOID,
        needs: "a kernel with CONFIG_PERF_EVENTS",
        attempt: |_| Outcome::of(perf_event(PerfEvent::TaskClock)),
    },
    Probe {
        name: "tracepoints",
        gives: "counts of what happens in the kernel (not used by run)",
        allow: PERFMON,
        needs: "mount -t tracefs tracefs /sys/kernel/tracing",
        attempt: |_| tracepoint(),
    },
    Probe {
        name: "kprobes",
        gives: "any function of the kernel (not used by run)",
        allow: "root, or CAP_PERFMON and CAP_SYS_ADMIN, on a kernel without lockdown",
        needs: "a kernel with CONFIG_KPROBE_EVENTS",
        attempt: |_| dynamic("kprobe", |unit| PerfEvent::Kprobe(unit, c"do_exit")),
    },
    Probe {
        name: "uprobes",
        gives: "any function of a program (not used by run)",
        allow: "root, or CAP_PERFMON and CAP_SYS_ADMIN",
        needs: "a kernel with CONFIG_UPROBE_EVENTS",
        attempt: |_| {
            dynamic("uprobe", |unit| {
                PerfEvent::Uprobe(unit, c"/proc/self/exe", 0)
            })
        },
    },
];

fn hardware() -> Outcome {
    match perf_event(PerfEvent::Cycles) {
        Err(error) if reason(&error) != Absent::NoPermission => {
            Outcome::not(Absent::NoDevice, format!("no counters: {}", words(&error)))
        }
        result => Outcome::of(result),
    }
}

fn tracepoint() -> Outcome {
    let read =
        |root: &&str| fs::read_to_string(format!("{root}/events/sched/sched_process_exit/id"));
    let mut tries: Vec<_> = TRACEFS.iter().map(read).collect();
    tries.sort_by_key(|one| match one {
        Ok(_) => 0,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => 1,
        Err(_) => 2,
    });
    match tries.into_iter().next() {
        Some(Ok(id)) => match id.trim().parse() {
            Ok(id) => Outcome::of(perf_event(PerfEvent::Tracepoint(id))),
            Err(_) => Outcome::not(Absent::NoKernelSupport, "its number cannot be read"),
        },
        Some(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
            Outcome::not(Absent::NoPermission, "tracefs may not be read")
        }
        _ => Outcome::not(Absent::Off, "tracefs is not mounted"),
    }
}

/// A probe whose kind of event has a number under `/sys/bus/event_source`.
fn dynamic(unit: &str, event: impl Fn(u32) -> PerfEvent<'static>) -> Outcome {
    let path = format!("/sys/bus/event_source/devices/{unit}/type");
    let number = fs::read_to_string(&path)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match number {
        Some(number) => Outcome::of(perf_event(event(number))),
        None => Outcome::not(Absent::NoKernelSupport, format!("no {path}")),
    }
}
