//! Paths as a task wrote them, to paths as its other files have them: without symbolic links.

use source::query::proc_pid_mountinfo::{self, Mount};
use source::root::Root;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Folders that are remembered.
const KNOWN_MAX: usize = 1 << 14;

/// Knows where folders really are, once it was asked.
#[derive(Debug, Default)]
pub(super) struct RealPaths {
    mounts: Option<Vec<Mount>>,
    known: HashMap<PathBuf, PathBuf>,
}

impl RealPaths {
    /// The path without symbolic links in its folders; what is no longer there is taken as it is
    /// written, and so are the folders of other machines, which are not asked.
    pub(super) fn real(&mut self, path: Vec<u8>) -> Vec<u8> {
        let written = as_written(Path::new(OsStr::from_bytes(&path)));
        let (Some(folder), Some(name)) = (written.parent(), written.file_name()) else {
            return written.into_os_string().into_vec();
        };
        let folder = self.folder(folder);
        folder.join(name).into_os_string().into_vec()
    }

    /// The same, with its last component followed too: what a call means that opens the file.
    pub(super) fn target(&mut self, path: Vec<u8>) -> Vec<u8> {
        let real = PathBuf::from(OsString::from_vec(self.real(path)));
        let linked =
            !self.is_remote(&real) && real.symlink_metadata().is_ok_and(|it| it.is_symlink());
        let target = if linked { self.look(&real) } else { real };
        target.into_os_string().into_vec()
    }

    /// Whether other machines would have to be asked.
    fn is_remote(&mut self, path: &Path) -> bool {
        // Without /proc there are no mounts to be careful with.
        let read = || proc_pid_mountinfo::read(&Root::default(), None).unwrap_or_default();
        let mounts = self.mounts.get_or_insert_with(read);
        proc_pid_mountinfo::mount_of(mounts, path).is_some_and(Mount::is_network)
    }

    fn folder(&mut self, folder: &Path) -> PathBuf {
        if let Some(known) = self.known.get(folder) {
            return known.clone();
        }
        let found = self.look(folder);
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(folder.to_owned(), found.clone());
        found
    }

    fn look(&mut self, folder: &Path) -> PathBuf {
        if self.is_remote(folder) {
            return folder.to_owned();
        }
        if let Ok(real) = std::fs::canonicalize(folder) {
            // There it would be we who are meant (`/dev/fd`, `/proc/self`).
            return if real.starts_with("/proc") {
                folder.to_owned()
            } else {
                real
            };
        }
        match (folder.parent(), folder.file_name()) {
            (Some(above), Some(name)) => self.folder(above).join(name),
            _ => folder.to_owned(),
        }
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
            let path = paths.real(base.join(text).into_os_string().into_vec());
            PathBuf::from(std::ffi::OsString::from_vec(path))
        };
        assert_eq!(real("link/inner/a"), base.join("real/inner/a"));
        assert_eq!(real("link/./inner//../b"), base.join("real/b"));
        // The last component is what was removed: it is not followed.
        assert_eq!(real("link"), base.join("link"));
        std::fs::remove_dir(base.join("real/inner")).unwrap();
        assert_eq!(real("link/gone/c"), base.join("real/gone/c"));
        assert_eq!(paths.real(b"/../x".to_vec()), b"/x");
        assert_eq!(paths.real(b"/".to_vec()), b"/");
        // These are others for us than for the task.
        assert_eq!(paths.real(b"/proc/self/fd/3".to_vec()), b"/proc/self/fd/3");
        assert_eq!(paths.real(b"/dev/fd/3".to_vec()), b"/dev/fd/3");
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
        assert_eq!(paths.target(bytes("link")), bytes("file"));
        assert_eq!(paths.target(bytes("file")), bytes("file"));
        assert_eq!(paths.target(bytes("none")), bytes("none"));
        assert_eq!(paths.real(bytes("link")), bytes("link"));
    }
}
