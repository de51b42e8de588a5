//! What a file is, from its mode, its device and its file system's magic number (`statfs(2)`).

use record::file::FileKind;

const FORMAT: u32 = 0o170_000;
const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;
const DIRECTORY: u32 = 0o040_000;
const BLOCK: u32 = 0o060_000;
const REGULAR: u32 = 0o100_000;
const SOCKET: u32 = 0o140_000;

const PIPEFS: u32 = 0x5049_5045;
const TMPFS: u32 = 0x0102_1994;
const HUGETLBFS: u32 = 0x9584_58f6;
/// Made up by the kernel: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, bpffs, securityfs,
/// nsfs, pstore, devpts is none.
const KERNEL: &[u32] = &[
    0x9fa0,
    0x6265_6572,
    0x27_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0xcafe_4a11,
    0x7363_6673,
    0x6e73_6673,
    0x6165_676c,
];
const MAJOR_TTY: u32 = 4;
const MAJOR_CONSOLE: u32 = 5;
const MAJORS_PTY: std::ops::RangeInclusive<u32> = 136..=143;

/// What the kernel tells of a file's nature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nature {
    /// `i_mode`.
    pub(super) mode: u32,
    /// Magic number of the file system.
    pub(super) magic: u32,
    /// Device number of a device file.
    pub(super) special: u32,
}

/// Whether a file of this mode (`i_mode`) is a socket.
pub(super) const fn is_socket(mode: u32) -> bool {
    mode & FORMAT == SOCKET
}

/// A device number as the kernel keeps it: 12 bits and 20.
pub(super) const fn split(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}

/// What the kernel calls memory that has a descriptor: of memfd_create, of System V, of a shared
/// mapping without a file.
const MEMORY_NAMES: [&[u8]; 3] = [b"memfd:", b"SYSV", b"dev/zero"];

/// What it is; `leaf` is its last component.
pub(super) fn kind(nature: Nature, leaf: &[u8]) -> FileKind {
    let in_memory = [TMPFS, HUGETLBFS].contains(&nature.magic);
    let unnamed = MEMORY_NAMES.iter().any(|name| leaf.starts_with(name));
    match nature.mode & FORMAT {
        REGULAR if KERNEL.contains(&nature.magic) => FileKind::Kernel,
        REGULAR if in_memory && unnamed => FileKind::Memory,
        REGULAR => FileKind::File,
        DIRECTORY => FileKind::Directory,
        FIFO if nature.magic == PIPEFS => FileKind::Pipe,
        FIFO => FileKind::Fifo,
        SOCKET => FileKind::Socket,
        CHARACTER if is_terminal(nature.special) => FileKind::Terminal,
        CHARACTER => FileKind::CharacterDevice,
        BLOCK => FileKind::BlockDevice,
        _ => FileKind::Anonymous,
    }
}

fn is_terminal(special: u32) -> bool {
    let (major, minor) = split(special);
    // 5:2 is the place where terminals are made.
    major == MAJOR_TTY || (major == MAJOR_CONSOLE && minor != 2) || MAJORS_PTY.contains(&major)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: u32, magic: u32, special: u32, leaf: &str) -> FileKind {
        let nature = Nature {
            mode,
            magic,
            special,
        };
        kind(nature, leaf.as_bytes())
    }

    #[test]
    fn files_are_told_by_mode_magic_and_number() {
        assert_eq!(of(0o100_644, 0xef53, 0, "a"), FileKind::File);
        assert_eq!(of(0o100_444, 0x9fa0, 0, "stat"), FileKind::Kernel);
        assert_eq!(of(0o100_777, TMPFS, 0, "memfd:x"), FileKind::Memory);
        assert_eq!(of(0o100_777, TMPFS, 0, "x"), FileKind::File);
        assert_eq!(of(0o010_600, PIPEFS, 0, ""), FileKind::Pipe);
        assert_eq!(of(0o010_600, 0xef53, 0, "f"), FileKind::Fifo);
        assert_eq!(of(0o020_620, 0x1cd1, 136 << 20, "0"), FileKind::Terminal);
        let null = of(0o020_666, 0x1021, 1 << 20 | 3, "null");
        assert_eq!(null, FileKind::CharacterDevice);
        assert_eq!(of(0o140_777, 0x534f_434b, 0, ""), FileKind::Socket);
        assert_eq!(of(0o600, 0x0904_1934, 0, "[eventfd]"), FileKind::Anonymous);
    }
}
