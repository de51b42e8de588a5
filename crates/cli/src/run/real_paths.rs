//! Paths as a task wrote them, to paths as its other files have them: without symbolic links.

use source::query::proc_pid_mountinfo::{self, Mount};
use source::root::Root;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Folders that are remembered.
const KNOWN_MAX: usize = 1 << 14;
/// Symbolic links that are followed, one after another; the kernel follows as many.
const LINKS_MAX: usize = 40;
/// Folders on the way, those behind links too; what is deeper is taken as it is written.
const DEPTH_MAX: usize = 1024;

/// Knows where folders really are, once it was asked.
#[derive(Debug, Default)]
pub(super) struct RealPaths {
    mounts: Option<Vec<Mount>>,
    known: HashMap<PathBuf, PathBuf>,
}

/// One path on its way.
#[derive(Debug)]
struct Way {
    /// Whose path it is.
    pid: u32,
    /// Links that may still be followed.
    links: usize,
    /// Folders that wait for what lies above them.
    depth: usize,
    /// It leads through what is another file for each process (`/proc/self`).
    is_own: bool,
}

impl RealPaths {
    /// The path that process `pid` wrote, without symbolic links in its folders; what is no longer
    /// there is taken as it is written, and so are the folders of other machines, which are not
    /// asked. Nothing if it leads through what only the process knows (`/proc/self`, `/dev/fd`),
    /// and that is gone.
    pub(super) fn real(&mut self, pid: u32, path: &[u8]) -> Option<Vec<u8>> {
        let (folder, name) = self.split(&mut Way::of(pid), path)?;
        Some(joined(folder, name).into_os_string().into_vec())
    }

    /// The same, with its last component followed too: what a call means that opens the file.
    pub(super) fn target(&mut self, pid: u32, path: &[u8]) -> Option<Vec<u8>> {
        let mut way = Way::of(pid);
        let (folder, name) = self.split(&mut way, path)?;
        let target = match name {
            Some(name) => self.step(&mut way, &folder, &name)?,
            None => folder,
        };
        Some(target.into_os_string().into_vec())
    }

    /// The folder of a path without symbolic links, and its last component; a root has none.
    fn split(&mut self, way: &mut Way, path: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
        let written = as_written(Path::new(OsStr::from_bytes(path)));
        match (written.parent(), written.file_name()) {
            (Some(folder), Some(name)) => Some((self.folder(way, folder)?, Some(name.to_owned()))),
            _ => Some((written, None)),
        }
    }

    /// Whether other machines would have to be asked.
    fn is_remote(&mut self, path: &Path) -> bool {
        // Without /proc there are no mounts to be careful with.
        let read = || proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
        let mounts = self.mounts.get_or_insert_with(read);
        proc_pid_mountinfo::mount_of(mounts, path).is_some_and(Mount::is_network)
    }

    /// A folder without symbolic links, itself followed too.
    fn folder(&mut self, way: &mut Way, folder: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(folder) {
            return Some(known.clone());
        }
        let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Some(folder.to_owned());
        };
        if way.depth >= DEPTH_MAX {
            return Some(folder.to_owned());
        }
        way.depth += 1;
        let above = self.folder(way, above)?;
        let found = self.step(way, &above, name)?;
        way.depth -= 1;
        if !way.is_own {
            if self.known.len() >= KNOWN_MAX {
                self.known.clear();
            }
            self.known.insert(folder.to_owned(), found.clone());
        }
        Some(found)
    }

    /// What `name` is in a folder that has no symbolic links in its path.
    fn step(&mut self, way: &mut Way, folder: &Path, name: &OsStr) -> Option<PathBuf> {
        let here = folder.join(name);
        if let Some(own) = own(&here, way.pid) {
            way.is_own = true;
            return Some(own);
        }
        if self.is_remote(&here) {
            return Some(here);
        }
        let is_of_process = folder.starts_with("/proc") && folder != Path::new("/proc");
        way.is_own |= is_of_process;
        match here.symlink_metadata() {
            Ok(found) if found.is_symlink() && is_of_process => {
                // It leads to a file, whatever its text says.
                return std::fs::canonicalize(&here).ok();
            }
            Ok(found) if found.is_symlink() && way.links > 0 => {}
            Err(_) if is_of_process => return None,
            _ => return Some(here),
        }
        way.links -= 1;
        match std::fs::read_link(&here) {
            Ok(to) => self.folder(way, &as_written(&folder.join(to))),
            Err(_) => Some(here),
        }
    }
}

impl Way {
    fn of(pid: u32) -> Self {
        Self {
            pid,
            links: LINKS_MAX,
            depth: 0,
            is_own: false,
        }
    }
}

fn joined(folder: PathBuf, name: Option<OsString>) -> PathBuf {
    match name {
        Some(name) => folder.join(name),
        None => folder,
    }
}

/// What the kernel takes for these names is of the process that asks: for us our own.
fn own(path: &Path, pid: u32) -> Option<PathBuf> {
    match path.to_str()? {
        "/proc/self" => Some(PathBuf::from(format!("/proc/{pid}"))),
        // Which thread it was is not told; threads have a working directory in common as a rule.
        "/proc/thread-self" => Some(PathBuf::from(format!("/proc/{pid}/task/{pid}"))),
        _ => None,
    }
}

/// Without `.`, `..` and doubled slashes, as if there were no symbolic links.
fn as_written(path: &Path) -> PathBuf {
    let mut written = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => written.push(name),
            Component::ParentDir => _ = written.pop(),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_found_behind_symbolic_links_and_after_they_are_gone() {
        let base = std::env::temp_dir().join(format!("plimsoll-names-{}", std::process::id()));
        let base = {
            std::fs::create_dir_all(base.join("real/inner")).unwrap();
            base.canonicalize().unwrap()
        };
        std::os::unix::fs::symlink("real", base.join("link")).unwrap();
        let mut paths = RealPaths::default();
        let mut real = |text: &str| {
            let path = base.join(text);
            let path = paths.real(1, path.as_os_str().as_bytes()).unwrap();
            PathBuf::from(OsString::from_vec(path))
        };
        assert_eq!(real("link/inner/a"), base.join("real/inner/a"));
        assert_eq!(real("link/./inner//../b"), base.join("real/b"));
        // The last component is what was removed: it is not followed.
        assert_eq!(real("link"), base.join("link"));
        std::fs::remove_dir(base.join("real/inner")).unwrap();
        assert_eq!(real("link/gone/c"), base.join("real/gone/c"));
        assert_eq!(paths.real(1, b"/../x").unwrap(), b"/x");
        assert_eq!(paths.real(1, b"/").unwrap(), b"/");
        std::fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn what_opens_a_file_means_the_target_of_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let bytes = |name: &str| base.join(name).into_os_string().into_vec();
        std::fs::write(base.join("file"), "").unwrap();
        std::os::unix::fs::symlink("file", base.join("link")).unwrap();
        let mut paths = RealPaths::default();
        assert_eq!(paths.target(1, &bytes("link")).unwrap(), bytes("file"));
        assert_eq!(paths.target(1, &bytes("file")).unwrap(), bytes("file"));
        assert_eq!(paths.target(1, &bytes("none")).unwrap(), bytes("none"));
        assert_eq!(paths.real(1, &bytes("link")).unwrap(), bytes("link"));
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        assert_eq!(paths.target(1, &bytes("loop")).unwrap(), bytes("loop"));
        let deep = [&bytes("none")[..], &b"/x".repeat(2000)].concat();
        assert_eq!(paths.target(1, &deep).unwrap(), deep);
    }

    /// These are others for us than for the task.
    #[test]
    fn what_each_process_has_for_itself_is_that_of_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let bytes = |name: &str| base.join(name).into_os_string().into_vec();
        let input = std::fs::File::create(base.join("input")).unwrap();
        let mut child = std::process::Command::new("cat")
            .current_dir(&base)
            .stdin(std::process::Stdio::piped())
            .stdout(input)
            .spawn()
            .unwrap();
        let mut paths = RealPaths::default();
        let mut pid = child.id();
        for name in ["/proc/self/cwd/a", "/proc/thread-self/cwd/a"] {
            assert_eq!(paths.real(pid, name.as_bytes()).unwrap(), bytes("a"));
        }
        assert_eq!(
            paths.target(pid, b"/proc/self/fd/1").unwrap(),
            bytes("input")
        );
        if Path::new("/dev/fd").is_symlink() && Path::new("/dev/stdout").is_symlink() {
            for name in ["/dev/fd/1", "/dev/stdout"] {
                assert_eq!(paths.target(pid, name.as_bytes()).unwrap(), bytes("input"));
            }
        }
        std::os::unix::fs::symlink("/proc/self/cwd", base.join("here")).unwrap();
        assert_eq!(paths.real(pid, &bytes("here/a")).unwrap(), bytes("a"));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(paths.real(pid, b"/proc/self/cwd/a"), None);
        assert_eq!(paths.real(pid, &bytes("here/a")), None);
        pid = std::process::id();
        let here = std::env::current_dir().unwrap().join("a");
        let own = paths.real(pid, b"/proc/self/cwd/a").unwrap();
        assert_eq!(own, here.into_os_string().into_vec());
    }
}
