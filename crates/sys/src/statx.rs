//! `statx(2)` of what a path leads to, as the kernel remembers it: no server is asked anew.

use crate::error::{Error, check};
use std::ffi::CStr;

/// What is asked for; older kernels leave out what they do not know.
const MASK: libc::c_uint = libc::STATX_BASIC_STATS | libc::STATX_MNT_ID;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// `st_mode`: kind and permissions.
    pub mode: u32,
    /// Major and minor number of its file system's device.
    pub device: (u32, u32),
    /// The number of the mount on which it was found; 0 before Linux 5.8.
    pub mount: u64,
    /// Major and minor number that it has as a device itself.
    pub special: (u32, u32),
    /// Its inode number.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Names that it has.
    pub links_total: u32,
}

/// The status of what `path` leads to, links followed, from memory where that is possible.
///
/// # Errors
/// `ENOENT` if there is nothing.
pub fn follow(path: &CStr) -> Result<Status, Error> {
    ask(path, libc::AT_STATX_DONT_SYNC)
}

/// The status of a link itself.
///
/// # Errors
/// As [`follow`].
pub fn link(path: &CStr) -> Result<Status, Error> {
    ask(path, libc::AT_STATX_DONT_SYNC | libc::AT_SYMLINK_NOFOLLOW)
}

fn ask(path: &CStr, flags: libc::c_int) -> Result<Status, Error> {
    // SAFETY: all zero bits are a value of this structure of numbers.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, and `found` lives through the call.
    let result = unsafe { libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, MASK, &mut found) };
    check("statx", i64::from(result))?;
    Ok(Status {
        mode: u32::from(found.stx_mode),
        device: (found.stx_dev_major, found.stx_dev_minor),
        mount: found.stx_mnt_id,
        special: (found.stx_rdev_major, found.stx_rdev_minor),
        inode: found.stx_ino,
        size_bytes: found.stx_size,
        links_total: found.stx_nlink,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_tells_what_stat_tells() {
        let found = follow(c"/proc/self/exe").unwrap();
        let same = std::fs::metadata("/proc/self/exe").unwrap();
        assert_eq!((found.inode, found.size_bytes), (same.ino(), same.len()));
        assert_eq!(u64::from(found.links_total), same.nlink());
        assert_eq!(link(c"/proc/self/exe").unwrap().mode & 0o170_000, 0o120_000);
        assert_eq!(
            follow(c"/nonexistent").unwrap_err().errno(),
            Some(libc::ENOENT)
        );
    }
}
