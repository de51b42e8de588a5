//! Where /proc and /sys are mounted, as a value: every parser runs on a recorded tree as well.

use record::value::Absent;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The most that is read of one kernel file: a bound, far above the largest known.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Nearly every file of a process fits in.
const FILE_BYTES: usize = 4 << 10;

/// Files of a process that the kernel gives in one piece: a read that is shorter than it might be
/// has come to the end (`single_open`, or bytes of its memory). The others are made of lines, and a
/// read ends where the next one does not fit.
const IN_ONE_PIECE: [&str; 11] = [
    "stat",
    "status",
    "cgroup",
    "cmdline",
    "environ",
    "io",
    "loginuid",
    "sessionid",
    "schedstat",
    "statm",
    "smaps_rollup",
];

/// `EPERM`, `ESRCH`, `ENFILE`, `EMFILE`: the same numbers on every architecture of Linux.
pub(crate) mod errno {
    pub(crate) const EPERM: i32 = 1;
    pub(crate) const ESRCH: i32 = 3;
    pub(crate) const ENFILE: i32 = 23;
    pub(crate) const EMFILE: i32 = 24;
}

/// The mount points of the kernel's file systems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    proc: PathBuf,
    sys: PathBuf,
    dev: PathBuf,
}

impl Default for Root {
    /// `/proc`, `/sys` and `/dev`.
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl Root {
    /// `proc`, `sys` and `dev` below `directory`: a recorded tree, or a container's root.
    pub fn at(directory: &Path) -> Self {
        Self {
            proc: directory.join("proc"),
            sys: directory.join("sys"),
            dev: directory.join("dev"),
        }
    }

    /// A path below /proc.
    pub fn proc(&self, path: &str) -> PathBuf {
        self.proc.join(path)
    }

    /// Whether processes have the same numbers in it as for this process: it is of our own pid
    /// namespace, and not a recorded tree.
    pub fn has_our_pids(&self) -> bool {
        let own = std::fs::read_link(self.proc("self"));
        let is_own = |link: PathBuf| link.as_os_str() == std::process::id().to_string().as_str();
        *self == Self::default() && own.is_ok_and(is_own)
    }

    /// A path below /sys.
    pub fn sys(&self, path: &str) -> PathBuf {
        self.sys.join(path)
    }

    /// A path below /dev.
    pub fn dev(&self, path: &str) -> PathBuf {
        self.dev.join(path)
    }

    /// A file of the process `pid`: `/proc/PID/FILE`.
    pub fn process(&self, pid: u32, file: &str) -> PathBuf {
        self.proc.join(format!("{pid}/{file}"))
    }

    /// A file of a process, or of this one when `pid` is `None` (`/proc/self`).
    pub fn process_or_self(&self, pid: Option<u32>, file: &str) -> PathBuf {
        pid.map_or_else(
            || self.proc("self").join(file),
            |pid| self.process(pid, file),
        )
    }

    /// Reads a file of a process. Fails with `Gone` where there is no such process, with
    /// `NoKernelSupport` where the process is there and the file is not.
    pub fn read_process(&self, pid: Option<u32>, file: &str) -> Result<Vec<u8>, Absent> {
        let is_piece = IN_ONE_PIECE.contains(&file);
        let reason = match read(&self.process_or_self(pid, file), FILE_BYTES_MAX, is_piece) {
            Ok(text) => return Ok(text),
            Err(error) => process_absent(&error),
        };
        if reason == Absent::Gone && self.process_or_self(pid, "stat").exists() {
            return Err(Absent::NoKernelSupport);
        }
        Err(reason)
    }

    /// Reads a file of the machine. Fails with `NoKernelSupport` where there is none.
    pub fn read_machine(&self, path: &Path) -> Result<Vec<u8>, Absent> {
        read(path, FILE_BYTES_MAX, false).map_err(|error| machine_absent(&error))
    }

    /// The first so many bytes of a file of a process that is in one piece.
    pub(crate) fn read_start(
        &self,
        pid: u32,
        file: &str,
        bytes_max: u64,
    ) -> Result<Vec<u8>, Absent> {
        let text = read(
            &self.process(pid, file),
            bytes_max,
            IN_ONE_PIECE.contains(&file),
        );
        text.map_err(|error| process_absent(&error))
    }
}

/// Reads the first so many bytes of a file of the kernel, which does not tell its size.
fn read(path: &Path, bytes_max: u64, is_piece: bool) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut start = [0; FILE_BYTES];
    let most = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let place = start.get_mut(..most.min(FILE_BYTES)).unwrap_or_default();
    let read = loop {
        match file.read(place) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done?,
        }
    };
    let is_all = read == 0 || (is_piece && read < place.len());
    // What is kept of it is seldom long.
    let mut text = start.get(..read).unwrap_or_default().to_vec();
    if !is_all {
        let left = bytes_max.saturating_sub(read as u64);
        file.take(left).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// Why a file of a process could not be read: `NotFound` and `ESRCH` say that it has ended.
pub(crate) fn process_absent(error: &io::Error) -> Absent {
    if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(errno::ESRCH) {
        return Absent::Gone;
    }
    machine_absent(error)
}

/// Why a file of the machine could not be read.
pub(crate) fn machine_absent(error: &io::Error) -> Absent {
    let denied = error.kind() == io::ErrorKind::PermissionDenied;
    if denied || error.raw_os_error() == Some(errno::EPERM) {
        Absent::NoPermission
    } else {
        Absent::NoKernelSupport
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_has_its_reason() {
        let root = Root::default();
        let nobody = root.read_process(Some(u32::MAX), "stat");
        assert_eq!(nobody, Err(Absent::Gone));
        let unknown = root.read_process(None, "no_such_file");
        assert_eq!(unknown, Err(Absent::NoKernelSupport));
        assert!(root.read_process(None, "stat").is_ok());
        let denied = io::Error::from_raw_os_error(13);
        assert_eq!(process_absent(&denied), Absent::NoPermission);
        let ended = io::Error::from_raw_os_error(errno::ESRCH);
        assert_eq!(process_absent(&ended), Absent::Gone);
    }

    #[test]
    fn a_recorded_tree_is_as_good_as_the_real_one() {
        let root = Root::at(Path::new("/nowhere"));
        let path = root.process(7, "stat");
        assert_eq!(path, Path::new("/nowhere/proc/7/stat"));
        let class = root.sys("class/drm");
        assert_eq!(class, Path::new("/nowhere/sys/class/drm"));
    }
}
