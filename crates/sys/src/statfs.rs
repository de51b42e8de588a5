//! `statfs(2)`: the size of a file system.

use std::ffi::CStr;
use std::io;

/// The size of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Its magic number.
    pub magic: u64,
    /// All of it; 0 where it has no size.
    pub size_bytes: u64,
    /// Unused.
    pub free_bytes: u64,
    /// Unused, and not set aside for root.
    pub available_bytes: u64,
    /// Inodes that it can have; 0 where it makes them as it needs them.
    pub inodes_total: u64,
    /// Unused ones.
    pub inodes_free: u64,
}

/// The file system that `path` is on. One that is served by others may hang.
///
/// # Errors
/// If there is no such path, or it may not be reached.
pub fn read(path: &CStr) -> io::Result<Space> {
    // SAFETY: all zero bits are a value of this structure of numbers.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string, and `found` lives through the call.
    if unsafe { libc::statfs(path.as_ptr(), &mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let block = found.f_bsize as u64;
    let bytes = |blocks: u64| blocks.saturating_mul(block);
    Ok(Space {
        magic: found.f_type as u64,
        size_bytes: bytes(found.f_blocks),
        free_bytes: bytes(found.f_bfree),
        available_bytes: bytes(found.f_bavail),
        inodes_total: found.f_files,
        inodes_free: found.f_ffree,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_has_a_size_and_proc_has_none() {
        let root = read(c"/").unwrap();
        assert!(root.size_bytes > 0 && root.free_bytes <= root.size_bytes);
        assert!(root.available_bytes <= root.free_bytes);
        let proc = read(c"/proc").unwrap();
        assert_eq!(proc.magic, libc::PROC_SUPER_MAGIC as u64);
        assert_eq!(proc.size_bytes, 0);
        let none = read(c"/no/such/place").unwrap_err();
        assert_eq!(none.raw_os_error(), Some(libc::ENOENT));
    }
}
