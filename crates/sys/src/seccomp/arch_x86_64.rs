//! Numbers of x86-64: calls that younger architectures do not have, and those of i386.

use super::{FileCall, NameCall};

/// `AUDIT_ARCH_X86_64`.
pub(super) const NATIVE: u32 = 0xc000_003e;
/// `AUDIT_ARCH_I386`.
pub(super) const COMPAT: u32 = 0x4000_0003;

pub(super) const CALLS: &[(libc::c_long, FileCall)] = &[
    (libc::SYS_open, FileCall::Open),
    (libc::SYS_creat, FileCall::Create),
    (libc::SYS_dup2, FileCall::Duplicate),
    (libc::SYS_unlink, FileCall::Name(NameCall::Unlink)),
    (libc::SYS_rmdir, FileCall::Name(NameCall::Rmdir)),
    (libc::SYS_rename, FileCall::Name(NameCall::Rename)),
    (libc::SYS_renameat, FileCall::Name(NameCall::RenameAt)),
];

/// read, write, open, close, creat, dup2, readv, writev, pread64, pwrite64, sendfile, sendfile64,
/// openat, splice, tee, preadv, pwritev, copy_file_range, openat2; unlink, rename, rmdir, truncate,
/// ftruncate, truncate64, ftruncate64, unlinkat, renameat, renameat2.
pub(super) const COMPAT_CALLS: &[u32] = &[
    3, 4, 5, 6, 8, 63, 145, 146, 180, 181, 187, 239, 295, 313, 315, 333, 334, 377, 437, 10, 38, 40,
    92, 93, 193, 194, 301, 302, 353,
];
