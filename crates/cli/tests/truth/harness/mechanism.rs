//! The mechanisms a test runs with, whether this user and kernel have them, and how exact they must
//! be.

use super::expect::Rigour;
use super::process;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// What `plimsoll run` is told to watch with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// Nothing: its own choice.
    Default,
    /// `--mechanism bpf`.
    Bpf,
    /// `--mechanism agent`, by the agent of root's that `PLIMSOLL_TEST_AGENT` names by its socket.
    Agent,
    /// `--mechanism connector`.
    Connector,
    /// `--mechanism ptrace`.
    Ptrace,
    /// `--mechanism procfs`: level query.
    Procfs,
    /// `--mechanism preload`: level io, dynamic programs.
    Preload,
}

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;

impl Mechanism {
    /// The options that ask for it.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Mechanism::Default => &[],
            Mechanism::Bpf => &["--mechanism", "bpf"],
            Mechanism::Agent => agent_options(),
            Mechanism::Connector => &["--mechanism", "connector"],
            Mechanism::Ptrace => &["--mechanism", "ptrace"],
            Mechanism::Procfs => &["--mechanism", "procfs"],
            Mechanism::Preload => &["--level", "io", "--mechanism", "preload"],
        }
    }

    /// Why it cannot be had here, if so.
    pub(crate) fn missing(self) -> Option<&'static str> {
        match self {
            Mechanism::Default | Mechanism::Procfs | Mechanism::Preload => None,
            Mechanism::Bpf => bpf_missing(),
            Mechanism::Agent => agent_missing(),
            Mechanism::Connector => connector_missing(),
            Mechanism::Ptrace => ptrace_missing(),
        }
    }

    /// Whether every process is seen from within the kernel or stopped at its end.
    fn sees_every_end(self) -> bool {
        match self {
            Mechanism::Bpf | Mechanism::Agent | Mechanism::Ptrace => true,
            Mechanism::Default | Mechanism::Preload => bpf_missing().is_none(),
            Mechanism::Connector | Mechanism::Procfs => false,
        }
    }

    /// How true memory peaks must be.
    pub(crate) fn peaks(self) -> Rigour {
        match self {
            _ if self.sees_every_end() => Rigour::Near,
            Mechanism::Procfs => Rigour::Sampled,
            _ => Rigour::Bound,
        }
    }

    /// How true numbers of processes and threads must be.
    pub(crate) fn counts(self) -> Rigour {
        match self {
            Mechanism::Procfs => Rigour::Sampled,
            Mechanism::Default | Mechanism::Preload if connector_missing().is_some() => {
                Rigour::Sampled
            }
            _ => Rigour::Near,
        }
    }

    /// Whether programs in the kernel see everything.
    pub(crate) fn is_in_kernel(self) -> bool {
        matches!(self, Mechanism::Bpf | Mechanism::Agent)
    }

    /// Whether it leaves setuid programs, debuggers and sanitizers as they are for this user.
    pub(crate) fn is_transparent(self) -> bool {
        self != Mechanism::Ptrace
    }
}

/// Runs a check, or says why it is skipped.
pub(crate) fn with(mechanism: Mechanism, check: fn(Mechanism)) {
    match mechanism.missing() {
        Some(reason) => println!("skipped: {reason}"),
        None => check(mechanism),
    }
}

fn bpf_missing() -> Option<&'static str> {
    let capabilities = capabilities();
    if !cfg!(feature = "bpf") {
        Some("this build has no BPF")
    } else if capabilities & CAP_SYS_ADMIN == 0
        && capabilities & CAP_PERFMON_AND_BPF != CAP_PERFMON_AND_BPF
    {
        Some("BPF needs root or CAP_BPF and CAP_PERFMON")
    } else if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        Some("this kernel has no BTF")
    } else {
        None
    }
}

/// Where the agent of root's listens that lends its programs to these tests.
fn agent_socket() -> Option<String> {
    std::env::var("PLIMSOLL_TEST_AGENT").ok()
}

fn agent_missing() -> Option<&'static str> {
    if agent_socket().is_none() {
        Some("no agent of root's lends its programs (the unprivileged tests of `make test` do)")
    } else if !cfg!(feature = "bpf") {
        Some("this build has no BPF")
    } else {
        None
    }
}

fn agent_options() -> &'static [&'static str] {
    static OPTIONS: OnceLock<Vec<&'static str>> = OnceLock::new();
    OPTIONS.get_or_init(|| {
        let socket: &'static str = agent_socket().unwrap_or_default().leak();
        vec!["--mechanism", "agent", "--agent-socket", socket]
    })
}

fn connector_missing() -> Option<&'static str> {
    if !Path::new("/proc/net/connector").exists() {
        Some("this kernel has no process connector, or this network namespace sees none")
    } else if !process::is_root() && kernel() < (6, 6) {
        Some("the process connector needs root before Linux 6.6")
    } else {
        None
    }
}

fn ptrace_missing() -> Option<&'static str> {
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim() {
        "3" => Some("ptrace_scope is 3"),
        "2" if capabilities() & (1 << 19) == 0 => Some("ptrace_scope is 2"),
        _ => None,
    }
}

/// The effective capabilities of this process.
fn capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

/// Major and minor number of the running kernel.
pub(crate) fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|word| word.parse().ok());
    (numbers.next().unwrap(), numbers.next().unwrap())
}
