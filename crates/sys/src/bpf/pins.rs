//! The pins of one build: maps, programs (`program_NAME`), and links (`link_NAME`) while somebody
//! uses what they attach.

use super::load::Program;
use super::pinned;
use super::stale::wait_for_links;
use crate::error::Error;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

pub(super) const PINS: &str = "/sys/fs/bpf/plimsoll";
pub(super) const LOCKS: &str = "/run/plimsoll";
const PROGRAM: &str = "program_";
const LINK: &str = "link_";

/// Programs that are attached together, in this order: where the last one's link is, the set is
/// whole. Those that this kernel does without have no pin.
pub(super) type Set = &'static [&'static str];

/// The programs that follow processes.
pub(super) const TASKS: Set = &[
    "on_newtask",
    "on_exec",
    "on_exit",
    "on_exit_old",
    "on_memory_end",
    "on_memory_end_old",
    "on_signal",
    "on_switch",
];
/// The programs that follow files.
pub(super) const FILES: Set = &[
    "on_thread_end",
    "on_sys_enter",
    "on_uring_complete",
    "on_uring_complete_old",
    "on_connection",
    "on_script",
    "on_cut",
    "on_program",
    "on_page_in",
    "on_page_dirty",
    "on_sys_exit",
];
/// The program that takes the time of calls.
pub(super) const TIMES: Set = &["on_call_begin"];

pub(super) fn folder_of(hash: &str) -> PathBuf {
    Path::new(PINS).join(hash)
}

pub(super) fn lock_path(hash: &str) -> PathBuf {
    Path::new(LOCKS).join(format!("bpf-{hash}.lock"))
}

/// Whether the last program of a set is pinned.
pub(super) fn is_pinned(folder: &Path, set: Set) -> bool {
    set.last()
        .is_some_and(|last| program(folder, last).exists())
}

/// Whether the set is attached.
pub(super) fn is_attached(folder: &Path, set: Set) -> bool {
    set.last().is_some_and(|last| link(folder, last).exists())
}

/// Where the program of this name is pinned.
pub(super) fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{PROGRAM}{name}"))
}

fn link(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{LINK}{name}"))
}

/// Pins programs.
pub(super) fn pin_programs(folder: &Path, programs: &[Program]) -> Result<(), Error> {
    programs
        .iter()
        .try_for_each(|it| pinned::pin(it.fd.as_fd(), &program(folder, &it.name)))
}

/// Attaches the pinned programs of a set anew, and pins what holds them so.
pub(super) fn attach(folder: &Path, set: Set) -> Result<(), Error> {
    detach(folder, set);
    let programs = set
        .iter()
        .filter(|name| program(folder, name).exists())
        .map(|name| Ok((*name, pinned::open(&program(folder, name))?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let opened: Vec<_> = programs
        .iter()
        .map(|(_, program)| program.as_fd())
        .collect();
    wait_for_links(&opened)?;
    for (name, program) in &programs {
        let attached = pinned::attach(program.as_fd())?;
        pinned::pin(attached.as_fd(), &link(folder, name))?;
    }
    Ok(())
}

/// Removes the links of a set; the kernel detaches what nobody else holds.
pub(super) fn detach(folder: &Path, set: Set) {
    for name in set {
        // What cannot be removed now is found by the next user; most often it is not there.
        let _ = fs::remove_file(link(folder, name));
    }
}

/// Removes all links.
pub(super) fn detach_all(folder: &Path) {
    remove(folder, LINK);
}

/// Removes the pins of one build; the kernel detaches and frees what nobody else holds.
pub(super) fn unpin(folder: &Path) {
    remove(folder, "");
    // What is not empty is found by the next user.
    let _ = fs::remove_dir(folder);
}

fn remove(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(prefix.as_bytes())
        {
            // What cannot be removed now is found by the next user.
            let _ = fs::remove_file(entry.path());
        }
    }
}
