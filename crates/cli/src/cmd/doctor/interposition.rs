//! Probes of what can stand between a task and the kernel.

use super::outcome::{reason, words};
use super::{Outcome, Probe};
use preload::judge::{self, Verdict};
use record::value::Absent;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use sys::probe;

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "preload",
        gives: "--level io for any user: files and sockets of dynamic programs",
        allow: "",
        needs: "a dynamic loader; static and setuid programs never load it",
        attempt: |_| preload(),
    },
    Probe {
        name: "seccomp notification",
        gives: "chosen system calls, each stopped until answered (not used by run)",
        allow: "a container profile that lets seccomp pass",
        needs: "Linux 5.0 with CONFIG_SECCOMP_FILTER",
        attempt: |_| Outcome::of(probe::seccomp_notification()),
    },
    Probe {
        name: "seccomp trace",
        gives: "--level io --mechanism ptrace: files of any program; the task ends with Plimsoll",
        allow: "a container profile that lets seccomp pass, and what ptrace needs",
        needs: "Linux 5.3 with CONFIG_SECCOMP_FILTER",
        attempt: |_| stopped_calls(),
    },
    Probe {
        name: "FUSE",
        gives: "values as files (not used by run)",
        allow: "CAP_SYS_ADMIN, or a setuid fusermount3 (Debian package fuse3)",
        needs: "a kernel with CONFIG_FUSE_FS, and /dev/fuse",
        attempt: |_| fuse(),
    },
];

/// Whether a filter can be had, and a tracer stops where it says.
fn stopped_calls() -> Outcome {
    match Outcome::of(probe::seccomp_trace()) {
        Outcome::Usable(_) => match (source::interpose::ptrace::MECHANISM.probe)() {
            Ok(()) => Outcome::usable(),
            Err((reason, why)) => Outcome::not(reason, why),
        },
        unusable => unusable,
    }
}

/// Whether there is a library to load, and the shell, as any dynamic program, would load it.
fn preload() -> Outcome {
    if let Err((reason, why)) = (source::interpose::preload::MECHANISM.probe)() {
        let outcome = Outcome::not(reason, why);
        return match source::interpose::preload::no_room() {
            Some(_) => outcome.remedied_by("a higher limit on the size of files: ulimit -f"),
            None => outcome,
        };
    }
    let verdict = judge::judge(c"/bin/sh");
    match verdict.words() {
        None if verdict == Verdict::Loads => Outcome::with("the shell loads it"),
        None => Outcome::not(Absent::NotApplicable, "/bin/sh cannot be read"),
        Some(why) => Outcome::not(Absent::NotApplicable, format!("/bin/sh: {why}")),
    }
}

fn fuse() -> Outcome {
    match probe::fuse_mount() {
        Ok(()) => Outcome::usable(),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => by_fusermount(&error),
        Err(error) => Outcome::not(Absent::NoDevice, format!("/dev/fuse: {}", words(&error))),
    }
}

/// Others mount through a setuid program, if the device can be opened.
fn by_fusermount(error: &io::Error) -> Outcome {
    const SETUID: u32 = 0o4000;
    let is_setuid =
        |path: &Path| fs::metadata(path).is_ok_and(|it| it.permissions().mode() & SETUID != 0);
    let found = [
        "/usr/bin/fusermount3",
        "/bin/fusermount3",
        "/usr/bin/fusermount",
    ]
    .into_iter()
    .find(|path| is_setuid(Path::new(path)));
    let opened = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_ok();
    match found {
        Some(path) if opened => Outcome::with(format!("through {path}; not tried")),
        _ => Outcome::not(reason(error), words(error)),
    }
}
