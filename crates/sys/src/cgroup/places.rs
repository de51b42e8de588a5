//! Where we are: the control groups that this process started in, from `/proc/self/cgroup` and
//! `/proc/self/mountinfo`.

use super::control::ControlDir;
use super::error::Error;
use crate::mountinfo::{self, Mount};
use std::path::{Component, Path, PathBuf};

/// A v1 controller that is used or read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// `memory`: charge, peak, limit, OOM events.
    Memory,
    /// `freezer`: holds a group still, so that a kill cannot be outrun by forks.
    Freezer,
    /// `cpuacct`: CPU time of a group.
    CpuAcct,
    /// `cpu`: quotas and throttling of the groups above us.
    Cpu,
    /// `cpuset`: the CPUs that the groups above us allow.
    CpuSet,
}

impl Controller {
    /// All of them.
    pub const ALL: [Controller; 5] = [
        Controller::Memory,
        Controller::Freezer,
        Controller::CpuAcct,
        Controller::Cpu,
        Controller::CpuSet,
    ];

    /// The kernel's name.
    pub const fn name(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Freezer => "freezer",
            Controller::CpuAcct => "cpuacct",
            Controller::Cpu => "cpu",
            Controller::CpuSet => "cpuset",
        }
    }
}

/// The group that we started in, within one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The group itself.
    pub dir: ControlDir,
    /// The topmost group of this hierarchy that we can see: the mount point.
    pub top: PathBuf,
}

impl Place {
    /// Our group and those above it as far as we can see, ours first.
    pub fn upwards(&self) -> impl Iterator<Item = ControlDir> + '_ {
        self.dir
            .path()
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.top))
            .map(ControlDir::new)
    }
}

/// The groups that we started in, one in each hierarchy that is mounted where we can see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// In the v2 hierarchy.
    pub v2: Option<Place>,
    /// In v1 hierarchies, by controller.
    pub v1: Vec<(Controller, Place)>,
}

impl Places {
    /// Finds them.
    ///
    /// # Errors
    /// `NotMounted` if `/proc` cannot be read or no hierarchy is visible.
    pub fn find() -> Result<Self, Error> {
        Self::read("/proc/self/cgroup")
    }

    /// The groups of another process.
    pub(crate) fn of(pid: u32) -> Result<Self, Error> {
        Self::read(&format!("/proc/{pid}/cgroup"))
    }

    fn read(file: &str) -> Result<Self, Error> {
        let missing = |_| Error::NotMounted("/proc cannot be read");
        let groups = std::fs::read(file).map_err(missing)?;
        let mounts = mountinfo::read().map_err(missing)?;
        let places = Self::parse(&String::from_utf8_lossy(&groups), &mounts);
        if places == Places::default() {
            return Err(Error::NotMounted(
                "no control group file system is mounted where this process can see it",
            ));
        }
        Ok(places)
    }

    /// What `groups` (the content of `/proc/self/cgroup`) and the mounts say.
    pub fn parse(groups: &str, mounts: &[Mount]) -> Self {
        let v2 = group_path(groups, "").and_then(|path| {
            let candidates = mounts.iter().filter(|mount| mount.fs_type == "cgroup2");
            locate(&path, candidates)
        });
        let v1 = Controller::ALL
            .into_iter()
            .filter_map(|controller| {
                let path = group_path(groups, controller.name())?;
                let candidates = mounts.iter().filter(|mount| {
                    mount.fs_type == "cgroup" && mount.has_option(controller.name())
                });
                Some((controller, locate(&path, candidates)?))
            })
            .collect();
        Self { v2, v1 }
    }

    /// Our group in the v1 hierarchy of `controller`.
    pub fn v1(&self, controller: Controller) -> Option<&Place> {
        let found = self.v1.iter().find(|(which, _)| *which == controller);
        found.map(|(_, place)| place)
    }
}

/// The path on the line of `controller`; the empty name is the v2 line `0::/path`.
fn group_path(groups: &str, controller: &str) -> Option<PathBuf> {
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let number = fields.next()?;
        let controllers = fields.next()?;
        let path = fields.next()?;
        let found = if controller.is_empty() {
            number == "0" && controllers.is_empty()
        } else {
            controllers.split(',').any(|name| name == controller)
        };
        found.then(|| PathBuf::from(path))
    })
}

/// The folder of the group `path` under the first mount that shows it. In a container `path` may be
/// seen from the host while the mount's root is the container's own group: the root is cut off
/// then.
fn locate<'m>(path: &Path, mounts: impl Iterator<Item = &'m Mount>) -> Option<Place> {
    let leaves = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    mounts
        .filter(|mount| !leaves(path) && !leaves(&mount.root))
        .find_map(|mount| {
            let below = path.strip_prefix(&mount.root).ok()?;
            Some(Place {
                dir: ControlDir::new(mount.point.join(below)),
                top: mount.point.clone(),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(groups: &str, mounts: &str) -> Places {
        Places::parse(groups, &mountinfo::parse(mounts).collect::<Vec<_>>())
    }

    fn path(place: Option<&Place>) -> Option<&str> {
        place.and_then(|place| place.dir.path().to_str())
    }

    #[test]
    fn v1_controllers_lie_in_their_own_hierarchies() {
        let places = find(
            "5:cpu,cpuacct:/a:b\n4:memory:/job/1\n1:name=systemd:/x\n",
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
             32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        );
        let at = |controller| path(places.v1(controller));
        assert_eq!(at(Controller::Memory), Some("/sys/fs/cgroup/memory/job/1"));
        assert_eq!(at(Controller::Cpu), Some("/sys/fs/cgroup/cpu,cpuacct/a:b"));
        assert_eq!(at(Controller::Freezer), None);
        assert_eq!(places.v2, None);
        let above: Vec<_> = places.v1(Controller::Memory).unwrap().upwards().collect();
        assert_eq!(above.len(), 3);
    }

    #[test]
    fn v2_and_hybrid_are_told_apart_by_the_zero_line() {
        let mounts = "30 24 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let places = find("0::/user.slice/a.scope\n", mounts);
        assert_eq!(
            path(places.v2.as_ref()),
            Some("/sys/fs/cgroup/user.slice/a.scope")
        );
        let root = find("0::/\n", mounts);
        assert_eq!(path(root.v2.as_ref()), Some("/sys/fs/cgroup/"));
    }

    #[test]
    fn containers_are_found_by_the_root_of_their_mount() {
        let bound = "30 24 0:24 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let places = find("0::/docker/abc/inner\n", bound);
        assert_eq!(path(places.v2.as_ref()), Some("/sys/fs/cgroup/inner"));
        // A path outside of what is mounted, or outside of the namespace, cannot be seen.
        assert_eq!(find("0::/docker/other\n", bound), Places::default());
        let namespaced = "30 24 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(find("0::/../sibling\n", namespaced), Places::default());
        assert_eq!(find("", namespaced), Places::default());
    }

    #[test]
    fn hostile_text_finds_nothing() {
        let places = find("::::\n0:\n7:memory\n\u{fffd}\n", "x y - cgroup\n");
        assert_eq!(places, Places::default());
    }
}
