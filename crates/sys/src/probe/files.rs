//! Trials of notifications about files, and of mounting a FUSE file system.

use super::call::{check_int, own};
use super::child::in_child;
use crate::statfs;
use std::ffi::CStr;
use std::fs::OpenOptions;
use std::io::{self, Cursor, Write};
use std::os::fd::AsRawFd;

/// Tries a watch on the root directory (`inotify_add_watch(2)`).
pub fn inotify() -> io::Result<()> {
    // SAFETY: takes flags alone; the result is a new descriptor or -1.
    let queue = own(i64::from(unsafe { libc::inotify_init1(libc::IN_CLOEXEC) }) as libc::c_long)?;
    // SAFETY: the path is a C string, the descriptor is open.
    let watch =
        unsafe { libc::inotify_add_watch(queue.as_raw_fd(), c"/".as_ptr(), libc::IN_CREATE) };
    check_int(watch).map(drop)
}

/// Tries a mark on the root's whole file system (`fanotify_mark(2)`).
pub fn fanotify() -> io::Result<()> {
    let flags = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
    // SAFETY: takes flags alone; the result is a new descriptor or -1.
    let fd = unsafe { libc::fanotify_init(flags, libc::O_RDONLY as libc::c_uint) };
    let queue = own(libc::c_long::from(fd))?;
    let mark = libc::FAN_MARK_ADD | libc::FAN_MARK_FILESYSTEM;
    // SAFETY: the path is a C string, the descriptor is open; closing it removes the mark.
    let result = unsafe {
        libc::fanotify_mark(
            queue.as_raw_fd(),
            mark,
            libc::FAN_CLOSE_WRITE,
            libc::AT_FDCWD,
            c"/".as_ptr(),
        )
    };
    check_int(result).map(drop)
}

/// The magic number of the file system that holds `path` (`statfs(2)`, `f_type`).
pub fn filesystem_magic(path: &CStr) -> io::Result<u64> {
    Ok(statfs::read(path)?.magic)
}

/// Tries to mount a FUSE file system, in a child with a mount namespace of its own.
pub fn fuse_mount() -> io::Result<()> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")?;
    let mut options = [0u8; 64];
    let mut text = Cursor::new(options.as_mut_slice());
    write!(
        text,
        "fd={},rootmode=40000,user_id=0,group_id=0\0",
        device.as_raw_fd()
    )?;
    in_child(|| {
        // SAFETY: changes the mount namespace of this child alone.
        check_int(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        mount(c"none", c"", libc::MS_REC | libc::MS_PRIVATE, c"")?;
        let options = CStr::from_bytes_until_nul(&options).map_err(io::Error::other)?;
        mount(
            c"plimsoll-probe",
            c"fuse",
            libc::MS_NOSUID | libc::MS_NODEV,
            options,
        )
    })
}

/// `mount(2)` on the root directory.
fn mount(name: &CStr, kind: &CStr, flags: libc::c_ulong, options: &CStr) -> io::Result<()> {
    // SAFETY: all pointers are C strings that live through the call.
    let result = unsafe {
        libc::mount(
            name.as_ptr(),
            c"/".as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    check_int(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_has_its_magic_number() {
        assert_eq!(
            filesystem_magic(c"/proc").unwrap(),
            libc::PROC_SUPER_MAGIC as u64
        );
        assert!(filesystem_magic(c"/no/such/place").is_err());
    }

    #[test]
    fn root_a_fuse_trial_leaves_no_mount() {
        if let Err(error) = fuse_mount() {
            println!("skipped: {error}");
        }
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        assert!(!mounts.contains("plimsoll-probe"));
    }
}
