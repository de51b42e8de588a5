//! Numbers of 64-bit Arm, and those of 32-bit programs there.

use super::{FileCall, NameCall};

/// `AUDIT_ARCH_AARCH64`.
pub(super) const NATIVE: u32 = 0xc000_00b7;
/// `AUDIT_ARCH_ARM`.
pub(super) const COMPAT: u32 = 0x4000_0028;

pub(super) const CALLS: &[(libc::c_long, FileCall)] = &[
    // `renameat`, whose number libc does not have for every C library.
    (38, FileCall::Name(NameCall::RenameAt)),
];

/// read, write, open, close, creat, dup2, readv, writev, pread64, pwrite64, sendfile, sendfile64,
/// openat, splice, tee, preadv, pwritev, copy_file_range, openat2; unlink, rename, rmdir, truncate,
/// ftruncate, truncate64, ftruncate64, unlinkat, renameat, renameat2.
pub(super) const COMPAT_CALLS: &[u32] = &[
    3, 4, 5, 6, 8, 63, 145, 146, 180, 181, 187, 239, 322, 340, 342, 361, 362, 391, 437, 10, 38, 40,
    92, 93, 193, 194, 328, 329, 382,
];
