//! Probes of what can stand between a task and the kernel.

use super::outcome::{reason, words};
use super::{Outcome, Probe};
use record::value::Absent;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::probe;

pub(super) const PROBES: &[Probe] = &[
    Probe {
        name: "preload",
        gives: "calls of dynamic programs, for level io (not used by run yet)",
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
        gives: "chosen system calls for a tracer (not used by run)",
        allow: "a container profile that lets seccomp pass",
        needs: "Linux 4.14 with CONFIG_SECCOMP_FILTER",
        attempt: |_| Outcome::of(probe::seccomp_trace()),
    },
    Probe {
        name: "FUSE",
        gives: "values as files (not used by run)",
        allow: "CAP_SYS_ADMIN, or a setuid fusermount3 (Debian package fuse3)",
        needs: "a kernel with CONFIG_FUSE_FS, and /dev/fuse",
        attempt: |_| fuse(),
    },
];

/// Whether the shell, as any dynamic program, names a loader that is there.
fn preload() -> Outcome {
    let shell = Path::new("/bin/sh");
    let bytes = match fs::read(shell) {
        Ok(bytes) => bytes,
        Err(error) => {
            return Outcome::not(Absent::NotApplicable, format!("/bin/sh: {}", words(&error)));
        }
    };
    match interpreter(&bytes) {
        Some(path) if fs::metadata(&path).is_ok_and(|it| it.permissions().mode() & 0o111 != 0) => {
            Outcome::with(format!("loader {}", path.display()))
        }
        Some(path) => Outcome::not(Absent::NotApplicable, format!("no {}", path.display())),
        None => Outcome::not(Absent::NotApplicable, "/bin/sh is a static program"),
    }
}

/// The loader that a 64-bit ELF file names (`PT_INTERP`).
fn interpreter(elf: &[u8]) -> Option<PathBuf> {
    const PT_INTERP: u64 = 3;
    const IS_64_BIT: u8 = 2;
    if elf.get(..4)? != b"\x7fELF" || *elf.get(4)? != IS_64_BIT {
        return None;
    }
    let table = usize::try_from(number(elf, 32, 8)?).ok()?;
    let entry_bytes = usize::try_from(number(elf, 54, 2)?).ok()?;
    let entries = usize::try_from(number(elf, 56, 2)?).ok()?;
    (0..entries).find_map(|index| {
        let at = table.checked_add(index.checked_mul(entry_bytes)?)?;
        if number(elf, at, 4)? != PT_INTERP {
            return None;
        }
        let start = usize::try_from(number(elf, at.checked_add(8)?, 8)?).ok()?;
        let length = usize::try_from(number(elf, at.checked_add(32)?, 8)?).ok()?;
        let text = elf.get(start..start.checked_add(length)?)?;
        let text = std::str::from_utf8(text).ok()?;
        Some(PathBuf::from(text.trim_end_matches('\0')))
    })
}

/// A number of `width` bytes in this machine's order.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(width)?)?;
    let mut eight = [0u8; 8];
    if cfg!(target_endian = "little") {
        eight.get_mut(..width)?.copy_from_slice(part);
    } else {
        eight.get_mut(8 - width..)?.copy_from_slice(part);
    }
    Some(u64::from_ne_bytes(eight))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_programs_name_no_loader() {
        let shell = fs::read("/bin/sh").unwrap();
        for length in (0..shell.len().min(4096)).step_by(7) {
            interpreter(&shell[..length]);
        }
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        assert_eq!(interpreter(&[]), None);
    }
}
