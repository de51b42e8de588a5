//! Probes of control groups, of pressure, and of systemd's scopes.
//!
//! The group is made as `run` makes it.

use super::outcome::{reason, words};
use super::{Ground, Outcome, Probe};
use crate::run;
use record::value::Absent;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use sys::cgroup::{Controller, Error, Group, Places};
use sys::probe::IdleChild;

/// How long systemd may take to answer.
const SCOPE_WITHIN: Duration = Duration::from_secs(2);

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "cgroup v2",
        gives: "an own group: CPU time, kill, freeze",
        allow: "systemd-run --user --scope plimsoll run ..., or a delegated group",
        needs: "cgroup2 mounted at /sys/fs/cgroup",
        attempt: |ground| ground.group().v2.clone(),
    },
    Probe {
        name: "cgroup v1",
        gives: "an own group in the hierarchies of v1",
        allow: "root, or an own folder in the hierarchy of the controller",
        needs: "nothing where v2 has all controllers",
        attempt: |ground| ground.group().v1.clone(),
    },
    Probe {
        name: "memory controller",
        gives: "memory with each page once, and a hard limit",
        allow: "systemd-run --user --scope plimsoll run ..., or a delegated group",
        needs: "the memory controller in the group that we start in",
        attempt: |ground| ground.group().memory.clone(),
    },
    Probe {
        name: "systemd user scope",
        gives: "memory and a hard limit in a login whose own group cannot be used",
        allow: "loginctl enable-linger",
        needs: "pure cgroup v2, and a systemd of this user that outlives the login",
        attempt: scope,
    },
    Probe {
        name: "PSI",
        gives: "time lost for want of CPU, memory, disk",
        allow: "read access to /proc/pressure",
        needs: "Linux 4.20 with CONFIG_PSI, boot option psi=1",
        attempt: |_| Outcome::of(fs::read("/proc/pressure/memory").map(drop)),
    },
    Probe {
        name: "PSI trigger",
        gives: "a wake-up when pressure rises (not used by run)",
        allow: "write access to /proc/pressure; Linux 6.4 for all users",
        needs: "Linux 5.2 with CONFIG_PSI, boot option psi=1",
        attempt: |_| Outcome::of(pressure_trigger()),
    },
];

/// What came of making a group, putting a process in, limiting it, and removing it.
#[derive(Debug)]
pub(super) struct GroupTrial {
    v2: Outcome,
    v1: Outcome,
    memory: Outcome,
}

impl GroupTrial {
    /// Makes a group as `run` does.
    pub(super) fn make() -> Self {
        let places = match Places::find() {
            Ok(places) => places,
            Err(error) => return Self::refused(&error),
        };
        let mut group = match Group::make(&places, "doctor", &[std::process::id()]) {
            Ok(group) => group,
            Err(error) => return Self::refused(&error),
        };
        let mut trial = Self::look_at(&group);
        if let Err(error) = try_to_enter(&group) {
            trial = Self::refused(&error);
        }
        if let Err(error) = group.remove() {
            trial.memory = Outcome::not(why_not(&error), format!("not removed: {error}"));
        }
        trial
    }

    fn refused(error: &Error) -> Self {
        let outcome = refusal(error);
        Self {
            v2: outcome.clone(),
            v1: outcome.clone(),
            memory: outcome,
        }
    }

    fn look_at(group: &Group) -> Self {
        const LIMIT: u64 = 1 << 30;
        let is_v2 = group.parts().iter().any(|part| part.controller.is_none());
        let v1: Vec<_> = group
            .parts()
            .iter()
            .filter_map(|part| Some(v1_name(part.controller?)))
            .collect();
        let nothing =
            |what: &str| Outcome::not(Absent::NoKernelSupport, format!("no group in {what}"));
        Self {
            v2: if is_v2 {
                Outcome::usable()
            } else {
                nothing("v2")
            },
            v1: if v1.is_empty() {
                nothing("v1")
            } else {
                Outcome::with(v1.join(", "))
            },
            memory: match group.set_memory_limit(LIMIT, 0) {
                Ok(()) => Outcome::with(if is_memory_v1(group) { "v1" } else { "v2" }),
                Err(error) => refusal(&error),
            },
        }
    }
}

fn is_memory_v1(group: &Group) -> bool {
    group
        .parts()
        .iter()
        .any(|part| part.controller == Some(Controller::Memory))
}

const fn v1_name(controller: Controller) -> &'static str {
    match controller {
        Controller::Memory => "memory",
        Controller::Freezer => "freezer",
        Controller::CpuAcct => "cpuacct",
        _ => "other",
    }
}

fn try_to_enter(group: &Group) -> Result<(), Error> {
    let child = IdleChild::start().map_err(|source| Error::Io {
        path: PathBuf::from("fork"),
        source,
    })?;
    group.add(child.pid())
}

fn refusal(error: &Error) -> Outcome {
    Outcome::not(why_not(error), error.to_string())
}

fn why_not(error: &Error) -> Absent {
    match error {
        Error::NoPermission { .. } => Absent::NoPermission,
        Error::Io { source, .. } => reason(source),
        Error::Gone { .. } => Absent::Gone,
        Error::NotMounted(_) | Error::NoKernelSupport { .. } => Absent::NoKernelSupport,
    }
}

/// Asks for a wake-up after 150 ms of pressure in 2 s, the shortest span allowed to all users.
fn pressure_trigger() -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/proc/pressure/memory")?;
    file.write_all(b"some 150000 2000000\0")
}

/// Asks for a scope as `run` does, with two idle processes in it.
fn scope(ground: &Ground) -> Outcome {
    let child = || {
        IdleChild::start().map_err(|source| Error::Io {
            path: PathBuf::from("fork"),
            source,
        })
    };
    let made = || {
        let (places, pid, keeper) = (Places::find()?, child()?, child()?);
        let lingers = run::lingers(&run::name(ground.uid));
        let (one, other) = (pid.pid(), keeper.pid());
        let mut group = Group::in_scope(&places, "doctor", one, other, lingers, SCOPE_WITHIN)?;
        drop(pid);
        group.remove()
    };
    match made() {
        Ok(_) => Outcome::usable(),
        Err(Error::Io { path, source }) => {
            let why = format!("{}: {}", path.display(), words(&source));
            Outcome::not(reason(&source), why)
        }
        Err(error) => refusal(&error),
    }
}
