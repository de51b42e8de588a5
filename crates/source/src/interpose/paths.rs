//! What a file is, from what `stat(2)` and `/proc/PID/fd` tell.

use crate::interpose::kind::Nature;
use record::file::FileKind;

/// What the kernel calls memory that has a descriptor.
const MEMORY: [&[u8]; 4] = [b"/memfd:", b"/SYSV", b"/dev/zero", b"anon_inode:"];
/// File systems that the kernel makes up.
pub(super) const KERNEL: &[&str] = &[
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

/// What a file is; `of_kernel`: its file system is of the kernel's own.
pub(super) fn kind(mode: u32, special: (u32, u32), path: &[u8], of_kernel: bool) -> FileKind {
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
