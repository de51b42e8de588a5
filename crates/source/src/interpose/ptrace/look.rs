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
        target(link, |text| !is_at(text, status))
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
        target(self.link(tid, fd)?, |text| !is_at(text, status))
    }

    /// The path that the memory of `tid` holds at `address`, and the folder from which it leads if
    /// it is not absolute: a descriptor, or that in which the process is.
    pub(super) fn written(&mut self, tid: u32, (folder, address): (i32, u64)) -> Option<Written> {
        let text = text(tid, address)?;
        if own(&text, tid).is_some() {
            return self.written_own(tid, &text);
        }
        match text.first() {
            Some(b'/') => self.file(tid, format_args!("root")),
            _ if folder == WORKING_FOLDER => self.file(tid, format_args!("cwd")),
            _ => self.file(tid, format_args!("fd/{folder}")),
        }?;
        let link = CStr::from_bytes_with_nul(&self.name).ok()?;
        let gone = |text: &[u8]| statx::follow(link).is_ok_and(|it| !is_at(text, &it));
        let folder = target(link, gone)?;
        // What has no path is no folder.
        folder.starts_with(b"/").then_some(Written { folder, text })
    }

    /// The same of a path that leads through what is of the process alone.
    fn written_own(&mut self, tid: u32, text: &[u8]) -> Option<Written> {
        self.path_of(tid, WORKING_FOLDER, text)?;
        self.name.pop();
        let path = Path::new(OsStr::from_bytes(&self.name));
        let (folder, mut name) = (path.parent()?.canonicalize().ok()?, path.file_name()?);
        let mut folder = folder.as_path();
        let target;
        // There nothing can be removed or renamed: what the last component leads to is meant.
        if folder.as_os_str().as_bytes().starts_with(&self.proc) {
            target = path.canonicalize().ok()?;
            (folder, name) = (target.parent()?, target.file_name()?);
        }
        Some(Written {
            folder: folder.as_os_str().as_bytes().to_vec(),
            text: name.as_bytes().to_vec(),
        })
    }

    /// The size of what is at the path that the memory of `tid` holds at `address`, seen from its
    /// folder `folder`, or that nothing is there; `None` if it cannot be told.
    pub(super) fn size_at(&mut self, tid: u32, folder: i32, address: u64) -> Option<Option<u64>> {
        let path = text(tid, address)?;
        self.path_of(tid, folder, &path)?;
        match statx::follow(CStr::from_bytes_with_nul(&self.name).ok()?) {
            Ok(status) => Some(Some(status.size_bytes)),
            Err(error) if error.errno() == Some(ENOENT) => Some(None),
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
        if let Some((own, rest)) = own(path, tid) {
            self.file(tid, format_args!("{own}"))?;
            self.name.pop();
            self.name.extend_from_slice(rest);
            self.name.push(0);
            return Some(());
        }
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

/// What the kernel takes for these names is of the thread that asks, for us our own: what it is in
/// the folder of a thread in `/proc`, and the rest of the path.
fn own(path: &[u8], tid: u32) -> Option<(String, &[u8])> {
    let names = [
        ("/proc/self", String::new()),
        ("/proc/thread-self", format!("task/{tid}")),
        ("/dev/fd", "fd".to_owned()),
        ("/dev/stdin", "fd/0".to_owned()),
        ("/dev/stdout", "fd/1".to_owned()),
        ("/dev/stderr", "fd/2".to_owned()),
    ];
    if !path.starts_with(b"/proc/") && !path.starts_with(b"/dev/") {
        return None;
    }
    names.into_iter().find_map(|(name, own)| {
        let rest = path.strip_prefix(name.as_bytes())?;
        (rest.is_empty() || rest.starts_with(b"/")).then_some((own, rest))
    })
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

/// What a link of `/proc` leads to, without the word that the name is gone: the file itself may
/// have others, or a new one.
fn target(link: &CStr, is_gone: impl FnOnce(&[u8]) -> bool) -> Option<Vec<u8>> {
    const GONE: &[u8] = b" (deleted)";
    let path = std::fs::read_link(OsStr::from_bytes(link.to_bytes())).ok()?;
    let mut path = path.into_os_string().into_encoded_bytes();
    if path.ends_with(GONE) && is_gone(&path) {
        path.truncate(path.len() - GONE.len());
    }
    Some(path)
}

/// Whether a file that ends with that word by its own name is at this path.
fn is_at(path: &[u8], status: &Status) -> bool {
    let found = (status.links_total > 0).then(|| at_path(path)).flatten();
    found.is_some_and(|found| (found.inode, found.device) == (status.inode, status.device))
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
    fn a_name_that_is_gone_is_told_from_one_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let bytes = |name: &str| base.join(name).into_os_string().into_encoded_bytes();
        let (me, mut look) = (std::process::id(), Look::new(Path::new("/proc")));
        let mut path_of = |file: &std::fs::File| {
            let status = look.status(me, file.as_raw_fd()).unwrap();
            look.path(me, file.as_raw_fd(), &status).unwrap()
        };
        let file = std::fs::File::create(base.join("a (deleted)")).unwrap();
        assert_eq!(path_of(&file), bytes("a (deleted)"));
        // Another name is left.
        std::fs::hard_link(base.join("a (deleted)"), base.join("b")).unwrap();
        std::fs::remove_file(base.join("a (deleted)")).unwrap();
        assert_eq!(path_of(&file), bytes("a (deleted)"));
        let file = std::fs::File::create(base.join("c")).unwrap();
        std::fs::hard_link(base.join("c"), base.join("d")).unwrap();
        std::fs::remove_file(base.join("c")).unwrap();
        assert_eq!(path_of(&file), bytes("c"));
    }

    #[test]
    fn a_path_is_looked_up_as_its_process_would() {
        let me = std::process::id();
        let mut look = Look::new(Path::new("/proc"));
        let mut exists = |folder, path: &CStr| {
            let size = look.size_at(me, folder, path.as_ptr().addr() as u64);
            size.map(|it| it.is_some())
        };
        assert_eq!(exists(WORKING_FOLDER, c"Cargo.toml"), Some(true));
        assert_eq!(exists(WORKING_FOLDER, c"nothing/here"), Some(false));
        assert_eq!(exists(WORKING_FOLDER, c"/proc"), Some(true));
        let folder = std::fs::File::open("/proc").unwrap();
        assert_eq!(exists(folder.as_raw_fd(), c"self"), Some(true));
        assert_eq!(look.size_at(me, WORKING_FOLDER, 16), None);
    }

    /// These are others for us than for the process.
    #[test]
    fn what_each_process_has_for_itself_is_that_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let output = std::fs::File::create(base.join("output")).unwrap();
        let mut child = std::process::Command::new("cat")
            .current_dir(&base)
            .stdin(std::process::Stdio::piped())
            .stdout(output)
            .spawn()
            .unwrap();
        let (pid, mut look) = (child.id(), Look::new(Path::new("/proc")));
        let place = |name: &str| Written {
            folder: base.as_os_str().as_bytes().to_vec(),
            text: name.as_bytes().to_vec(),
        };
        for name in ["/proc/self/cwd/a", "/proc/thread-self/cwd/a"] {
            assert_eq!(look.written_own(pid, name.as_bytes()), Some(place("a")));
        }
        for name in ["/proc/self/fd/1", "/dev/fd/1", "/dev/stdout"] {
            let found = look.written_own(pid, name.as_bytes());
            assert_eq!(found, Some(place("output")));
        }
        assert_eq!(look.written_own(pid, b"/dev/fd/999"), None);
        look.path_of(pid, WORKING_FOLDER, b"/dev/fd/1").unwrap();
        let name = CStr::from_bytes_with_nul(&look.name).unwrap().to_owned();
        assert_eq!(name.to_str().unwrap(), format!("/proc/{pid}/fd/1"));
        assert_eq!(own(b"/dev/fdx/1", 7), None);
        assert_eq!(own(b"/proc/selfish", 7), None);
        drop(child.stdin.take());
        child.wait().unwrap();
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
