//! What a process has open, told by `/proc/PID/fd` and `/proc/PID/fdinfo`.
//!
//! Links are read and never followed, so no file is touched, on whichever file system it lies. What
//! it costs is measured by `examples/descriptor_cost.rs`.

use super::proc_pid_fdinfo;
use crate::root::{Root, process_absent};
use record::table::descriptor::{Descriptor, Kind, Mode};
use record::value::Absent;
use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

/// Of the permissions of a link: its owner may read, and write.
const READS: u32 = 0o400;
const WRITES: u32 = 0o200;

/// What is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// In the order of their numbers.
    pub all: Vec<Descriptor>,
    /// How many more there are.
    pub left_out: u64,
    /// Sockets whose ends are not told, since the tables have more than is kept.
    pub sockets_left_out: u64,
}

/// What `pid` has open, no more than `count_max` of it.
///
/// # Errors
/// `Gone` where there is no such process, `NoPermission` where it is not ours to look at.
pub fn read(root: &Root, pid: u32, count_max: usize) -> Result<Listing, Absent> {
    let folder = root.process(pid, "fd");
    let mut entries = fs::read_dir(&folder).map_err(|error| process_absent(&error))?;
    let mut listing = Listing::default();
    for entry in entries.by_ref().take(count_max) {
        let entry = entry.map_err(|error| process_absent(&error))?;
        // One that was closed meanwhile is not open.
        listing.all.extend(describe(root, pid, &entry));
    }
    listing.left_out = entries.count() as u64;
    listing.all.sort_unstable_by_key(|one| one.fd);
    Ok(listing)
}

fn describe(root: &Root, pid: u32, entry: &DirEntry) -> Option<Descriptor> {
    let fd = entry.file_name().to_str()?.parse().ok()?;
    let path = fs::read_link(entry.path()).ok()?;
    let path = path.into_os_string().into_vec();
    let kind = kind(&path);
    if kind == Kind::File && !path.starts_with(b"/dev/") {
        let info = proc_pid_fdinfo::read(root, pid, fd).ok()?;
        return Some(Descriptor {
            fd,
            kind,
            path,
            mode: info.mode,
            position: info.position,
            socket: None,
        });
    }
    // Of the link, not of what it leads to.
    let mode = entry.metadata().ok()?.permissions().mode();
    Some(Descriptor {
        fd,
        kind,
        path,
        mode: Some(Mode {
            reads: mode & READS != 0,
            writes: mode & WRITES != 0,
        }),
        position: None,
        socket: None,
    })
}

/// What a link of `/proc/PID/fd` leads to.
fn kind(link: &[u8]) -> Kind {
    let starts = |with: &[u8]| link.starts_with(with);
    match () {
        () if starts(b"/memfd:") => Kind::Memfd,
        () if starts(b"/") => Kind::File,
        () if starts(b"pipe:[") => Kind::Pipe,
        () if starts(b"socket:[") => Kind::Socket,
        () if starts(b"anon_inode:") => Kind::AnonInode,
        () => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn links_tell_kinds() {
        for (link, expected) in [
            ("/home/a b", Kind::File),
            ("/memfd:x (deleted)", Kind::Memfd),
            ("pipe:[1]", Kind::Pipe),
            ("/pipe:[1]", Kind::File),
            ("socket:[1]", Kind::Socket),
            ("anon_inode:[eventfd]", Kind::AnonInode),
            ("net:[4026531840]", Kind::Other),
        ] {
            assert_eq!(kind(link.as_bytes()), expected, "{link}");
        }
    }

    #[test]
    fn this_process_has_open_what_it_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a file");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(b"12345").unwrap();
        file.seek(SeekFrom::Start(3)).unwrap();
        let (out, _in) = std::io::pipe().unwrap();
        let listing = read(&Root::default(), std::process::id(), 1 << 20).unwrap();
        assert_eq!(listing.left_out, 0);
        assert!(listing.all.is_sorted_by_key(|one| one.fd));
        let of = |fd: i32| listing.all.iter().find(|one| one.fd == fd as u32).unwrap();
        let seen = of(file.as_raw_fd());
        let path = path.canonicalize().unwrap().into_os_string().into_vec();
        assert_eq!((seen.kind, &seen.path), (Kind::File, &path));
        assert_eq!(seen.position, Some(3));
        let mode = |reads, writes| Some(Mode { reads, writes });
        assert_eq!(seen.mode, mode(false, true));
        let pipe = of(out.as_raw_fd());
        assert_eq!((pipe.kind, pipe.mode), (Kind::Pipe, mode(true, false)));
        let first = read(&Root::default(), std::process::id(), 1).unwrap();
        assert!(first.all.len() <= 1 && first.left_out >= 2);
        let nobody = read(&Root::default(), u32::MAX >> 1, 1);
        assert_eq!(nobody, Err(Absent::Gone));
    }
}
