//! What a file is and where it lies, from what `stat(2)` and `/proc/PID/fd` tell.

use super::FileEvent;
use crate::interpose::kind::Nature;
use crate::query::proc_pid_mountinfo::{self, Mount};
use crate::root::Root;
use record::file::{FileKind, Folder, Mounted, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Folders that are told; files in others have paths of their last component only.
const FOLDERS_MAX: usize = 1 << 18;

/// What the kernel calls memory that has a descriptor.
const MEMORY: [&[u8]; 4] = [b"/memfd:", b"/SYSV", b"/dev/zero", b"anon_inode:"];
/// File systems that the kernel makes up.
const KERNEL: &[&str] = &[
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "bpf",
    "securityfs",
    "pstore",
];

/// A device number as `stat(2)` gives it: major and minor.
pub(super) const fn split(device: u64) -> (u32, u32) {
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00;
    (major as u32, minor as u32)
}

/// A device number as it is written: major and minor.
fn number(device: &str) -> Option<(u32, u32)> {
    let (major, minor) = device.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The folders of one task's files, each told once.
#[derive(Debug)]
pub(super) struct Paths {
    folders: BTreeMap<Vec<u8>, u64>,
    /// Devices of file systems that the kernel makes up.
    kernels: BTreeSet<(u32, u32)>,
    /// Devices by mount: overlayfs and btrfs give other numbers to their files.
    mounts: BTreeMap<u64, (u32, u32)>,
}

impl Paths {
    /// None told so far, and what is mounted here.
    pub(super) fn new() -> Self {
        Self {
            folders: BTreeMap::new(),
            kernels: kernels(),
            mounts: BTreeMap::new(),
        }
    }

    /// Before files are told: what is mounted now.
    pub(super) fn look_at_mounts(&mut self) {
        self.mounts = mounts();
    }

    /// The device of the file system that is mounted as `mount`, else that which its files show.
    pub(super) fn device(&self, mount: u64, shown: (u32, u32)) -> (u32, u32) {
        self.mounts.get(&mount).copied().unwrap_or(shown)
    }

    /// Whether paths lead to the files of `mount` from here; numbers of mounts are told from Linux
    /// 5.8 on.
    pub(super) fn mounted(&self, mount: u64) -> Mounted {
        match mount {
            0 => Mounted::Unknown,
            _ if self.mounts.contains_key(&mount) => Mounted::Here,
            _ if self.mounts.is_empty() => Mounted::Unknown,
            _ => Mounted::Elsewhere,
        }
    }

    /// What a file is.
    pub(super) fn kind(
        &self,
        mode: u32,
        device: (u32, u32),
        special: (u32, u32),
        path: &[u8],
    ) -> FileKind {
        kind(mode, special, path, self.kernels.contains(&device))
    }

    /// Where a file is; tells of its folder if it is the first one in there. Of a `cut` path the
    /// folder is not known.
    pub(super) fn place(
        &mut self,
        path: &[u8],
        cut: bool,
        kind: FileKind,
        take: &mut dyn FnMut(FileEvent),
    ) -> Place {
        if matches!(kind, FileKind::Memory | FileKind::Anonymous) {
            let name = path
                .strip_prefix(b"anon_inode:")
                .or(path.strip_prefix(b"/"));
            return Place {
                folder: 0,
                leaf: Some(name.unwrap_or(path).to_vec()),
            };
        }
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (folder, leaf) = match slash {
            Some(0) => (b"/".as_slice(), path.get(1..).unwrap_or_default()),
            Some(at) => (
                path.get(..at).unwrap_or_default(),
                path.get(at + 1..).unwrap_or_default(),
            ),
            None => (b"".as_slice(), path),
        };
        let leaf = (!leaf.is_empty()).then(|| leaf.to_vec());
        if folder.is_empty() || cut {
            return Place { folder: 0, leaf };
        }
        let folder = self.folder(folder, take).unwrap_or(0);
        Place { folder, leaf }
    }

    /// What a folder is called in records; tells of it if it is new. Nothing if there are too many.
    pub(super) fn folder(&mut self, folder: &[u8], take: &mut dyn FnMut(FileEvent)) -> Option<u64> {
        if let Some(id) = self.folders.get(folder) {
            return Some(*id);
        }
        if self.folders.len() >= FOLDERS_MAX {
            return None;
        }
        let id = self.folders.len() as u64 + 1;
        self.folders.insert(folder.to_vec(), id);
        take(FileEvent::Folder(Folder {
            id,
            path: folder.to_vec(),
            cut: false,
        }));
        Some(id)
    }
}

/// The devices of the file systems that the kernel makes up, as they are mounted here.
fn kernels() -> BTreeSet<(u32, u32)> {
    // Without /proc they are files like others.
    proc_pid_mountinfo::read(&Root::default(), None)
        .unwrap_or_default()
        .iter()
        .filter(|mount| KERNEL.contains(&mount.kind.as_str()))
        .filter_map(|mount| number(&mount.device))
        .collect()
}

/// The devices of the file systems that are mounted here, by mount.
pub(super) fn mounts() -> BTreeMap<u64, (u32, u32)> {
    // Without /proc files have the numbers that they show.
    let mounts = proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
    let by_id = |mount: &Mount| Some((mount.id, number(&mount.device)?));
    mounts.iter().filter_map(by_id).collect()
}

/// What a file is; `of_kernel`: its file system is of the kernel's own.
fn kind(mode: u32, special: (u32, u32), path: &[u8], of_kernel: bool) -> FileKind {
    let nature = Nature {
        mode,
        special,
        of_kernel,
        of_memory: MEMORY.iter().any(|start| path.starts_with(start)),
        named: path.starts_with(b"/"),
    };
    nature.kind()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_path_and_file_system() {
        let of = |mode, path: &str| kind(mode, (0, 0), path.as_bytes(), false);
        assert_eq!(of(0o100_644, "/tmp/a"), FileKind::File);
        assert_eq!(of(0o100_777, "/memfd:x"), FileKind::Memory);
        assert_eq!(of(0o010_600, "pipe:[7]"), FileKind::Pipe);
        assert_eq!(of(0o010_600, "/tmp/f"), FileKind::Fifo);
        assert_eq!(of(0o600, "anon_inode:[eventfd]"), FileKind::Anonymous);
        assert_eq!(
            kind(0o100_444, (0, 0), b"/proc/stat", true),
            FileKind::Kernel
        );
    }

    #[test]
    fn device_numbers_are_taken_apart() {
        assert_eq!(split(0x803), (8, 3));
        assert_eq!(split(0x0010_0012), (0, 0x112));
        assert_eq!(split(0xfe01), (254, 1));
    }
}
