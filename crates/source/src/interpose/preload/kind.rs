//! What a file is, from its mode, its number and what `/proc/PID/fd` shows as its path.

use record::file::FileKind;

const FORMAT: u32 = 0o170_000;
const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;
const DIRECTORY: u32 = 0o040_000;
const BLOCK: u32 = 0o060_000;
const REGULAR: u32 = 0o100_000;
const SOCKET: u32 = 0o140_000;

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

const MAJOR_TTY: u32 = 4;
const MAJOR_CONSOLE: u32 = 5;
const MAJORS_PTY: std::ops::RangeInclusive<u32> = 136..=143;

/// A device number as `stat(2)` gives it: major and minor.
pub(super) const fn split(device: u64) -> (u32, u32) {
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00;
    (major as u32, minor as u32)
}

/// What a file is; `of_kernel`: its file system is of the kernel's own.
pub(super) fn kind(mode: u32, special: (u32, u32), path: &[u8], of_kernel: bool) -> FileKind {
    let named = path.starts_with(b"/");
    match mode & FORMAT {
        REGULAR if of_kernel => FileKind::Kernel,
        REGULAR if MEMORY.iter().any(|start| path.starts_with(start)) => FileKind::Memory,
        REGULAR => FileKind::File,
        DIRECTORY => FileKind::Directory,
        FIFO if named => FileKind::Fifo,
        FIFO => FileKind::Pipe,
        SOCKET => FileKind::Socket,
        CHARACTER if is_terminal(special) => FileKind::Terminal,
        CHARACTER => FileKind::CharacterDevice,
        BLOCK => FileKind::BlockDevice,
        _ => FileKind::Anonymous,
    }
}

fn is_terminal((major, minor): (u32, u32)) -> bool {
    // 5:2 is the place where terminals are made.
    major == MAJOR_TTY || (major == MAJOR_CONSOLE && minor != 2) || MAJORS_PTY.contains(&major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_mode_number_and_path() {
        let of = |mode, special, path: &str| kind(mode, special, path.as_bytes(), false);
        assert_eq!(of(0o100_644, (0, 0), "/tmp/a"), FileKind::File);
        assert_eq!(of(0o100_777, (0, 0), "/memfd:x"), FileKind::Memory);
        assert_eq!(of(0o010_600, (0, 0), "pipe:[7]"), FileKind::Pipe);
        assert_eq!(of(0o010_600, (0, 0), "/tmp/f"), FileKind::Fifo);
        assert_eq!(of(0o020_620, (136, 3), "/dev/pts/3"), FileKind::Terminal);
        let null = of(0o020_666, (1, 3), "/dev/null");
        assert_eq!(null, FileKind::CharacterDevice);
        assert_eq!(of(0o140_777, (0, 0), ""), FileKind::Socket);
        assert_eq!(
            of(0o600, (0, 0), "anon_inode:[eventfd]"),
            FileKind::Anonymous
        );
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
