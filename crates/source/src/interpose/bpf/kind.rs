//! What a file is, from its inode and its file system's magic number (`statfs(2)`).

use crate::interpose::kind::Nature;
use record::file::FileKind;

/// Processes that have a descriptor, since 6.9; before, these were anonymous inodes.
pub(super) const PIDFS: u32 = 0x5049_4446;
pub(super) const OVERLAYFS: u32 = 0x794c_7630;
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

/// A device number as the kernel keeps it: 12 bits and 20.
pub(super) const fn split(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}

/// What the kernel calls memory that has a descriptor: of memfd_create, of System V, of a shared
/// mapping without a file.
const MEMORY_NAMES: [&[u8]; 3] = [b"memfd:", b"SYSV", b"dev/zero"];

/// What it is, by `i_mode`, `s_magic` and `i_rdev`; `leaf` is its last component.
pub(super) fn kind(mode: u32, magic: u32, special: u32, leaf: &[u8]) -> FileKind {
    if magic == PIDFS {
        return FileKind::Anonymous;
    }
    let unnamed = MEMORY_NAMES.iter().any(|name| leaf.starts_with(name));
    let nature = Nature {
        mode,
        special: split(special),
        of_kernel: KERNEL.contains(&magic),
        of_memory: [TMPFS, HUGETLBFS].contains(&magic) && unnamed,
        named: magic != PIPEFS,
    };
    nature.kind()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_magic_and_number() {
        let of = |mode, magic, special, leaf: &str| kind(mode, magic, special, leaf.as_bytes());
        assert_eq!(of(0o100_644, 0xef53, 0, "a"), FileKind::File);
        assert_eq!(of(0o100_444, 0x9fa0, 0, "stat"), FileKind::Kernel);
        assert_eq!(of(0o100_777, TMPFS, 0, "memfd:x"), FileKind::Memory);
        assert_eq!(of(0o100_777, TMPFS, 0, "x"), FileKind::File);
        assert_eq!(of(0o100_700, PIDFS, 0, ""), FileKind::Anonymous);
        assert_eq!(of(0o010_600, PIPEFS, 0, ""), FileKind::Pipe);
        assert_eq!(of(0o010_600, 0xef53, 0, "f"), FileKind::Fifo);
        assert_eq!(of(0o020_620, 0x1cd1, 136 << 20, "0"), FileKind::Terminal);
        let null = of(0o020_666, 0x1021, 1 << 20 | 3, "null");
        assert_eq!(null, FileKind::CharacterDevice);
        assert_eq!(of(0o600, 0x0904_1934, 0, "[eventfd]"), FileKind::Anonymous);
    }
}
