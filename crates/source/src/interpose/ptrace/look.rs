//! What `/proc` says of the descriptors of a stopped thread.

use crate::query::proc_pid_io;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use sys::ptrace;
use sys::statx::{self, Status};

/// The longest path that the kernel takes, with its NUL.
const PATH_BYTES_MAX: usize = 4096;
/// Memory is read up to the end of such a piece, behind which there may be none.
const PAGE_BYTES: u64 = 4096;
/// More than `/proc/PID/io` has.
const IO_BYTES: usize = 512;
/// `AT_FDCWD`.
pub(super) const WORKING_FOLDER: i32 = -100;
/// Permissions of the link in `/proc/PID/fd`: whether its descriptor may read, and write.
const MAY_READ: u32 = 0o400;
const MAY_WRITE: u32 = 0o200;

/// What a descriptor leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// This.
    File(Status),
    /// There is none of this number.
    Nothing,
    /// This user may not know: of a program that it may not read, for one.
    Hidden,
}

/// A path as a call has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// The path of the folder from which it leads; of an absolute one the root of the process.
    pub(super) folder: Vec<u8>,
    /// As the task wrote it.
    pub(super) text: Vec<u8>,
}

/// Looks below one mount of procfs.
#[derive(Debug)]
pub(super) struct Look {
    proc: Vec<u8>,
    name: Vec<u8>,
}

impl Look {
    /// Below `proc`.
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.as_os_str().as_bytes().to_vec(),
            name: Vec::new(),
        }
    }

    /// What a descriptor leads to, if that may be known.
    pub(super) fn behind(&mut self, tid: u32, fd: i32) -> Behind {
        self.link(tid, fd).map_or(Behind::Nothing, behind)
    }

    /// What a process runs, if that may be known.
    pub(super) fn program(&mut self, pid: u32) -> Behind {
        let link = self.entry(pid, format_args!("exe"));
        link.map_or(Behind::Nothing, behind)
    }

    /// The path of the program that a process runs, without the word that it is gone.
    pub(super) fn program_path(&mut self, pid: u32, status: &Status) -> Option<Vec<u8>> {
        let link = self.entry(pid, format_args!("exe"))?;
        target(link, || status.links_total == 0)
    }

    /// What the file `name` of a process holds, up to `bytes_max`.
    pub(super) fn read(&mut self, pid: u32, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let path = self.entry(pid, format_args!("{name}"))?;
        let file = File::open(OsStr::from_bytes(path.to_bytes())).ok()?;
        let mut held = Vec::new();
        file.take(bytes_max).read_to_end(&mut held).ok()?;
        Some(held)
    }

    /// The file whose path the memory of `pid` holds at `address`, and its path without links if it
    /// has one here.
    pub(super) fn named(&mut self, pid: u32, address: u64) -> Option<(Status, Option<Vec<u8>>)> {
        let path = text(pid, address)?;
        self.path_of(pid, WORKING_FOLDER, &path)?;
        let path = CStr::from_bytes_with_nul(&self.name).ok()?;
        let status = statx::follow(path).ok()?;
        let path = std::fs::canonicalize(OsStr::from_bytes(path.to_bytes())).ok();
        Some((
            status,
            path.map(|it| it.into_os_string().into_encoded_bytes()),
        ))
    }

    /// The status of what a descriptor leads to.
    pub(super) fn status(&mut self, tid: u32, fd: i32) -> Option<Status> {
        statx::follow(self.link(tid, fd)?).ok()
    }

    /// Whether a descriptor can read and whether it can write.
    pub(super) fn access(&mut self, tid: u32, fd: i32) -> (bool, bool) {
        let link = self.link(tid, fd).and_then(|link| statx::link(link).ok());
        let mode = link.map_or(0, |link| link.mode);
        (mode & MAY_READ != 0, mode & MAY_WRITE != 0)
    }

    /// The path behind a descriptor, without the word that it is gone; `None` if it cannot be told.
    pub(super) fn path(&mut self, tid: u32, fd: i32, status: &Status) -> Option<Vec<u8>> {
        target(self.link(tid, fd)?, || status.links_total == 0)
    }

    /// The path that the memory of `tid` holds at `address`, and the folder from which it leads if
    /// it is not absolute: a descriptor, or that in which the process is.
    pub(super) fn written(&mut self, tid: u32, (folder, address): (i32, u64)) -> Option<Written> {
        let text = text(tid, address)?;
        match text.first() {
            Some(b'/') => self.file(tid, format_args!("root")),
            _ if folder == WORKING_FOLDER => self.file(tid, format_args!("cwd")),
            _ => self.file(tid, format_args!("fd/{folder}")),
        }?;
        let link = CStr::from_bytes_with_nul(&self.name).ok()?;
        let gone = || statx::follow(link).is_ok_and(|it| it.links_total == 0);
        let folder = target(link, gone)?;
        // What has no path is no folder.
        folder.starts_with(b"/").then_some(Written { folder, text })
    }

    /// Whether something is at the path that the memory of `tid` holds at `address`, seen from its
    /// folder `folder`; `None` if it cannot be told.
    pub(super) fn exists(&mut self, tid: u32, folder: i32, address: u64) -> Option<bool> {
        let path = text(tid, address)?;
        self.path_of(tid, folder, &path)?;
        match statx::follow(CStr::from_bytes_with_nul(&self.name).ok()?) {
            Ok(_) => Some(true),
            Err(error) if error.errno() == Some(ENOENT) => Some(false),
            Err(_) => None,
        }
    }

    /// Bytes that calls of a thread itself read (or wrote) so far: `rchar` (`wchar`); `None` if the
    /// kernel does not tell.
    pub(super) fn moved(&mut self, tid: u32, is_read: bool) -> Option<u64> {
        self.file(tid, format_args!("task/{tid}/io"))?;
        self.name.pop();
        let mut file = File::open(OsStr::from_bytes(&self.name)).ok()?;
        let mut text = [0; IO_BYTES];
        let used = file.read(&mut text).ok()?;
        let counters = proc_pid_io::parse(text.get(..used)?);
        let bytes = if is_read {
            counters.bytes_read
        } else {
            counters.bytes_written
        };
        bytes.map(|bytes| bytes.0)
    }

    fn link(&mut self, tid: u32, fd: i32) -> Option<&CStr> {
        self.entry(tid, format_args!("fd/{fd}"))
    }

    /// The name of a file of `tid`.
    fn entry(&mut self, tid: u32, name: std::fmt::Arguments<'_>) -> Option<&CStr> {
        self.file(tid, name)?;
        CStr::from_bytes_with_nul(&self.name).ok()
    }

    /// Makes the name of what `tid` finds at `path`, seen from its folder `folder`, with a NUL.
    fn path_of(&mut self, tid: u32, folder: i32, path: &[u8]) -> Option<()> {
        match path.first() {
            Some(b'/') => self.file(tid, format_args!("root")),
            _ if folder == WORKING_FOLDER => self.file(tid, format_args!("cwd/")),
            _ => self.file(tid, format_args!("fd/{folder}/")),
        }?;
        self.name.pop();
        self.name.extend_from_slice(path);
        self.name.push(0);
        Some(())
    }

    /// Makes the name of a file of `tid`, with a NUL.
    fn file(&mut self, tid: u32, name: std::fmt::Arguments<'_>) -> Option<()> {
        self.name.clear();
        self.name.extend_from_slice(&self.proc);
        write!(self.name, "/{tid}/{name}\0").ok()
    }
}

/// `ENOENT`, the same on every architecture.
const ENOENT: i32 = 2;

fn behind(link: &CStr) -> Behind {
    match statx::follow(link) {
        Ok(status) => Behind::File(status),
        Err(error) if error.errno() == Some(ENOENT) => Behind::Nothing,
        Err(_) => Behind::Hidden,
    }
}

/// What a link of `/proc` leads to, without the word that it is gone.
fn target(link: &CStr, is_gone: impl FnOnce() -> bool) -> Option<Vec<u8>> {
    const GONE: &[u8] = b" (deleted)";
    let path = std::fs::read_link(OsStr::from_bytes(link.to_bytes())).ok()?;
    let mut path = path.into_os_string().into_encoded_bytes();
    if path.ends_with(GONE) && is_gone() {
        path.truncate(path.len() - GONE.len());
    }
    Some(path)
}

/// What is at a path now.
pub(super) fn at_path(path: &[u8]) -> Option<Status> {
    let mut name = path.to_vec();
    name.push(0);
    statx::follow(CStr::from_bytes_with_nul(&name).ok()?).ok()
}

/// The text that ends with a NUL at an address of `tid`.
fn text(tid: u32, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    while text.len() < PATH_BYTES_MAX {
        let at = address.checked_add(text.len() as u64)?;
        let mut piece = vec![0; (PAGE_BYTES - at % PAGE_BYTES) as usize];
        let got = ptrace::memory(tid, at, &mut piece).ok()?;
        let piece = piece.get(..got)?;
        match piece.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend_from_slice(piece.get(..end)?);
                return Some(text);
            }
            None if got == 0 => return None,
            None => text.extend_from_slice(piece),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn our_own_descriptors_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        let file = std::fs::File::create(&path).unwrap();
        let (me, fd) = (std::process::id(), file.as_raw_fd());
        let mut look = Look::new(Path::new("/proc"));
        let status = look.status(me, fd).unwrap();
        assert_eq!(
            look.path(me, fd, &status).unwrap(),
            path.as_os_str().as_bytes()
        );
        assert_eq!(look.access(me, fd), (false, true));
        std::fs::remove_file(&path).unwrap();
        let status = look.status(me, fd).unwrap();
        assert_eq!(status.links_total, 0);
        assert_eq!(
            look.path(me, fd, &status).unwrap(),
            path.as_os_str().as_bytes()
        );
        assert_eq!(look.behind(me, 1 << 20), Behind::Nothing);
        assert_eq!(look.behind(me, fd), Behind::File(status));
    }

    #[test]
    fn a_path_is_looked_up_as_its_process_would() {
        let me = std::process::id();
        let mut look = Look::new(Path::new("/proc"));
        let mut exists = |folder, path: &CStr| look.exists(me, folder, path.as_ptr().addr() as u64);
        assert_eq!(exists(WORKING_FOLDER, c"Cargo.toml"), Some(true));
        assert_eq!(exists(WORKING_FOLDER, c"nothing/here"), Some(false));
        assert_eq!(exists(WORKING_FOLDER, c"/proc"), Some(true));
        let folder = std::fs::File::open("/proc").unwrap();
        assert_eq!(exists(folder.as_raw_fd(), c"self"), Some(true));
        assert_eq!(look.exists(me, WORKING_FOLDER, 16), None);
    }

    #[test]
    fn a_path_comes_with_the_folder_from_which_it_leads() {
        let me = std::process::id();
        let mut look = Look::new(Path::new("/proc"));
        let mut written = |folder, path: &CStr| {
            let written = look.written(me, (folder, path.as_ptr().addr() as u64))?;
            assert_eq!(written.text, path.to_bytes());
            Some(written.folder)
        };
        assert_eq!(written(WORKING_FOLDER, c"/a/b").unwrap(), b"/");
        let here = std::env::current_dir().unwrap();
        let here = here.into_os_string().into_encoded_bytes();
        assert_eq!(written(WORKING_FOLDER, c"a/b").unwrap(), here);
        let base = tempfile::tempdir().unwrap();
        let path = base.path().canonicalize().unwrap().join("one");
        std::fs::create_dir(&path).unwrap();
        let folder = std::fs::File::open(&path).unwrap();
        let path = path.into_os_string().into_encoded_bytes();
        assert_eq!(written(folder.as_raw_fd(), c"a").unwrap(), path);
        std::fs::remove_dir(base.path().join("one")).unwrap();
        assert_eq!(written(folder.as_raw_fd(), c"../b").unwrap(), path);
        let (pipe, _other) = std::io::pipe().unwrap();
        assert_eq!(written(pipe.as_raw_fd(), c"a"), None);
        assert_eq!(written(1 << 20, c"a"), None);
        assert_eq!(look.written(me, (WORKING_FOLDER, 16)), None);
    }
}
