//! A control group of v1 (cpuacct) that is charged what a run takes: CPU time to the nanosecond,
//! by the scheduler, whatever a monitor does.

use super::person::{NOBODY, Person};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

/// Where a group of this name can be made: below our own one.
pub(super) fn folder(name: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mount = mount_point(&mounts)?;
    let own = mount.join(own_group(&groups)?.trim_start_matches('/'));
    let parent = if own.is_dir() { own } else { mount };
    Some(parent.join(name))
}

fn mount_point(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (path, kind, options) = (words.next()?, words.next()?, words.next()?);
        let found = kind == "cgroup" && options.split(',').any(|option| option == "cpuacct");
        found.then(|| PathBuf::from(path))
    })
}

fn own_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let found = controllers.split(',').any(|name| name == "cpuacct");
        found.then_some(path)
    })
}

/// A group of our own; removed when it is dropped.
#[derive(Debug)]
pub(super) struct Account {
    folder: PathBuf,
}

impl Account {
    /// Makes the group; `None` where that is not allowed.
    ///
    /// # Errors
    /// When it was made and cannot be handed to the users.
    pub(super) fn make(folder: &Path) -> Result<Option<Self>> {
        if let Err(error) = fs::create_dir(folder) {
            eprintln!("{}: {error}", folder.display());
            return Ok(None);
        }
        let account = Self {
            folder: folder.to_owned(),
        };
        if Person::all().contains(&Person::Nobody) {
            // Whoever is not root may move himself only, and that is all that is done.
            chown(folder.join("cgroup.procs"), Some(NOBODY), None)?;
        }
        Ok(Some(account))
    }

    /// The folder, for who is to enter.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Begins again at 0.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn reset(&self) -> Result<()> {
        let file = self.folder.join("cpuacct.usage");
        fs::write(&file, "0").with_context(|| file.display().to_string())
    }

    /// What was charged since then, ns.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn charged(&self) -> Result<u64> {
        let file = self.folder.join("cpuacct.usage");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        Ok(text.trim().parse()?)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.folder) {
            eprintln!("{}: {error}", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_of_cpuacct_is_found_alone_or_with_another() {
        let mounts = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
                      cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n";
        let found = mount_point(mounts).unwrap();
        assert_eq!(found, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(mount_point("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), None);
        assert_eq!(own_group("3:cpu,cpuacct:/a/b\n0::/c\n"), Some("/a/b"));
        assert_eq!(own_group("0::/c\n"), None);
    }
}
