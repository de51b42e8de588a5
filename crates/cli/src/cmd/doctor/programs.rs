//! Probes of programs in the kernel.

use super::{Ground, Outcome, Probe};
use record::value::Absent;
use std::io;
use sys::bpf::Unavailable;
use sys::probe::{self, KernelTypes, TypeKind};

const ALLOW: &str = "root, or CAP_BPF and CAP_PERFMON";
const UNSHARED: &str = "loaded anew by each run: one copy for all runs is kept by root alone";

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "BPF programs of run",
        gives: "--mechanism bpf: the exact tree and exact final values",
        allow: ALLOW,
        needs: "all of the following but the iterators, syscall program and fentry",
        attempt: |_| of_run(),
    },
    Probe {
        name: "BPF programs for files",
        gives: "calls, bytes and sizes by file, at 0.05 us a call",
        allow: ALLOW,
        needs: "Linux 5.17 on x86_64 or aarch64, and all that the programs of run need",
        attempt: |_| of_files(),
    },
    Probe {
        name: "programs of an agent",
        gives: "--mechanism agent: what BPF programs tell, of one's own tasks, for every user",
        allow: "plimsoll agent --socket /run/plimsoll/agent.sock, started by root",
        needs: "an agent of the same version on this node",
        attempt: |_| of_agent(),
    },
    Probe {
        name: "BTF",
        gives: "the kernel's own types: one program for all kernels",
        allow: "read access to /sys/kernel/btf/vmlinux",
        needs: "Linux 5.4 with CONFIG_DEBUG_INFO_BTF",
        attempt: btf,
    },
    Probe {
        name: "BPF tp_btf",
        gives: "every fork, exec and end, at 1-5 us each",
        allow: ALLOW,
        needs: "Linux 5.5 with BTF",
        attempt: |ground| typed(ground, probe::tp_btf),
    },
    Probe {
        name: "BPF task storage",
        gives: "which processes are the task's, without a race",
        allow: ALLOW,
        needs: "Linux 5.11",
        attempt: |_| Outcome::of(probe::task_storage()),
    },
    Probe {
        name: "BPF ring buffer",
        gives: "events in order, lost ones counted",
        allow: ALLOW,
        needs: "Linux 5.8",
        attempt: |_| Outcome::of(ring_buffer()),
    },
    Probe {
        name: "BPF task iterator",
        gives: "many processes sampled at about 1 us each; run takes it once that pays",
        allow: ALLOW,
        needs: "Linux 5.8 with BTF",
        attempt: |ground| typed(ground, probe::iterator),
    },
    Probe {
        name: "BPF syscall program",
        gives: "the same on demand, at 0.6 us each (not used by run)",
        allow: ALLOW,
        needs: "Linux 5.14",
        attempt: |_| Outcome::of(probe::syscall_program()),
    },
    Probe {
        name: "BPF open-coded iterator",
        gives: "that walk's loop over tasks and threads (not used by run)",
        allow: ALLOW,
        needs: "Linux 6.10",
        attempt: open_coded,
    },
    Probe {
        name: "BPF fentry",
        gives: "which scripts were executed (level io), memory at an end before Linux 6.16",
        allow: "a kernel without lockdown, and CAP_BPF and CAP_PERFMON",
        needs: "Linux 5.5 with BTF and ftrace; on aarch64 6.4",
        attempt: |ground| typed(ground, probe::fentry),
    },
];

/// The programs of `run` themselves, loaded, attached and let go.
fn of_run() -> Outcome {
    match sys::bpf::probe() {
        Ok(true) => Outcome::usable(),
        Ok(false) => Outcome::with(UNSHARED),
        Err(error @ Unavailable::NotBuilt) => Outcome::not(Absent::Off, error.to_string())
            .remedied_by("a build with the feature bpf, which needs clang"),
        Err(error @ Unavailable::NoPermission { .. }) => {
            Outcome::not(Absent::NoPermission, error.to_string())
        }
        Err(error @ Unavailable::NoKernelSupport { .. }) => {
            Outcome::not(Absent::NoKernelSupport, error.to_string())
        }
    }
}

/// The programs for files, loaded, attached and let go.
fn of_files() -> Outcome {
    match (source::interpose::bpf::MECHANISM.probe)() {
        Ok(()) => Outcome::usable(),
        Err((reason, why)) => Outcome::not(reason, why),
    }
}

/// A run of the agent's, begun and let go.
fn of_agent() -> Outcome {
    match (source::notify::agent::MECHANISM.probe)() {
        Ok(()) => Outcome::usable(),
        Err((reason, why)) => Outcome::not(reason, why),
    }
}

fn btf(ground: &Ground) -> Outcome {
    match ground.types() {
        Ok(_) => Outcome::usable(),
        Err(why) => Outcome::not(Absent::NoKernelSupport, why),
    }
}

/// A trial that needs the kernel's types.
fn typed(ground: &Ground, attempt: fn(&KernelTypes) -> io::Result<()>) -> Outcome {
    match ground.types() {
        Ok(types) => Outcome::of(attempt(types)),
        Err(why) => Outcome::not(Absent::NoKernelSupport, why),
    }
}

fn ring_buffer() -> io::Result<()> {
    // The size must be a multiple of the page, which is 64 KiB at most.
    const BYTES: u32 = 64 << 10;
    probe::ring_buffer(BYTES)
}

/// The kernel offers it to programs; whether they may run is the question of the syscall program.
fn open_coded(ground: &Ground) -> Outcome {
    match ground.types() {
        Ok(types)
            if types
                .find(TypeKind::Function, "bpf_iter_task_new")
                .is_none() =>
        {
            Outcome::not(
                Absent::NoKernelSupport,
                "this kernel has no bpf_iter_task_new",
            )
        }
        Ok(_) => Outcome::of(probe::syscall_program()),
        Err(why) => Outcome::not(Absent::NoKernelSupport, why),
    }
}
