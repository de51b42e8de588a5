//! From the numbers of control groups, which the kernel tells with events, to what their paths say
//! of a job. A number is the inode of the group's folder, never given twice in one hierarchy.
//!
//! Groups that are made while somebody listens are told with their paths, so one is known however
//! short it is there; those that were there before are looked for once.

use crate::context::chain::{Input, resolve};
use crate::query::proc_pid_cgroup::{self, Membership};
use crate::root::Root;
use record::context::Chain;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use sys::bpf::{GROUPS_TOLD, GroupNumbers};
use sys::mountinfo::{self, Mount};

/// Controllers of version 1 in whose hierarchies schedulers make the groups of jobs, the likeliest
/// first: Slurm holds its jobs by the freezer, all others limit memory or CPUs.
const CONTROLLERS: [&str; 4] = ["freezer", "memory", "cpuset", "devices"];
/// Groups that are known in a hierarchy, and combinations of them, at most: then anew.
const GROUPS_MAX: usize = 1 << 16;
/// Folders within folders.
const DEPTH_MAX: usize = 32;
/// The first cgroup namespace: paths from within it begin at the top.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// The control groups of this machine by their numbers.
#[derive(Debug)]
pub(super) struct Groups {
    /// In the order in which their numbers are told.
    hierarchies: [Option<Hierarchy>; GROUPS_TOLD],
    /// Paths that the kernel tells are those that we see.
    sees_all: bool,
    chains: HashMap<GroupNumbers, Rc<Chain>>,
    /// All groups are to be looked for.
    is_due: bool,
    /// Numbers that were told and are not known, and those that were looked for in vain: of groups
    /// that are gone, or outside of our namespace.
    missing: HashSet<u64>,
    in_vain: HashSet<u64>,
}

#[derive(Debug)]
struct Hierarchy {
    number: u64,
    controllers: Vec<String>,
    point: PathBuf,
    /// What the group at `point` is called.
    top: PathBuf,
    paths: HashMap<u64, PathBuf>,
}

impl Groups {
    /// Those of version 2, and of two hierarchies of version 1 if there are such.
    pub(super) fn open(root: &Root) -> Self {
        let own = proc_pid_cgroup::read(root, None).unwrap_or_default();
        let mounts = mountinfo::read().unwrap_or_default();
        let namespace = fs::read_link(root.proc("self/ns/cgroup")).unwrap_or_default();
        Self {
            hierarchies: hierarchies(&own, &mounts),
            sees_all: namespace == Path::new(FIRST_NAMESPACE),
            chains: HashMap::new(),
            is_due: false,
            missing: HashSet::new(),
            in_vain: HashSet::new(),
        }
    }

    /// A controller of each hierarchy of version 1, as the kernel calls it.
    pub(super) fn controllers(&self) -> [Option<&str>; GROUPS_TOLD - 1] {
        let mut names = self.hierarchies.iter().skip(1).map(|hierarchy| {
            let controllers = &hierarchy.as_ref()?.controllers;
            let is_of = |name: &&str| controllers.iter().any(|one| one == name);
            CONTROLLERS.into_iter().find(is_of)
        });
        std::array::from_fn(|_| names.next().flatten())
    }

    /// A group was made.
    pub(super) fn made(&mut self, hierarchy: u32, number: u64, path: &[u8]) {
        use std::os::unix::ffi::OsStrExt;
        let mut all = self.hierarchies.iter_mut().flatten();
        let of = all.find(|one| one.number == u64::from(hierarchy));
        if let Some(of) = of.filter(|_| self.sees_all) {
            if of.paths.len() >= GROUPS_MAX {
                of.paths.clear();
                self.is_due = true;
            }
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            of.paths.insert(number, path.to_owned());
        }
    }

    /// What the groups of these numbers say of a job; nothing if one of them is not known.
    pub(super) fn chain(&mut self, numbers: GroupNumbers) -> Option<Rc<Chain>> {
        if let Some(chain) = self.chains.get(&numbers) {
            return Some(Rc::clone(chain));
        }
        let mut groups = Vec::new();
        for (hierarchy, number) in self.hierarchies.iter().zip(numbers) {
            let Some(hierarchy) = hierarchy.as_ref().filter(|_| number != 0) else {
                continue;
            };
            let Some(path) = hierarchy.paths.get(&number) else {
                if self.missing.len() < GROUPS_MAX && !self.in_vain.contains(&number) {
                    self.missing.insert(number);
                }
                return None;
            };
            groups.push(Membership {
                hierarchy: hierarchy.number,
                controllers: hierarchy.controllers.clone(),
                path: path.clone(),
            });
        }
        if groups.is_empty() {
            return None;
        }
        let input = Input {
            groups,
            ..Input::default()
        };
        if self.chains.len() >= GROUPS_MAX {
            self.chains.clear();
        }
        let chain = Rc::new(resolve(&input));
        self.chains.insert(numbers, Rc::clone(&chain));
        Some(chain)
    }

    /// Looks for all groups once more.
    pub(super) fn look_again(&mut self) {
        self.is_due = true;
        self.refresh();
    }

    /// Looks for all groups if one was missing.
    pub(super) fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_due) && self.missing.is_empty() {
            return;
        }
        for hierarchy in self.hierarchies.iter_mut().flatten() {
            hierarchy.scan();
        }
        if self.in_vain.len() >= GROUPS_MAX {
            self.in_vain.clear();
        }
        let all = self.hierarchies.iter().flatten();
        let missing = std::mem::take(&mut self.missing).into_iter();
        let is_known = |number: &u64| all.clone().any(|one| one.paths.contains_key(number));
        self.in_vain
            .extend(missing.filter(|number| !is_known(number)));
    }
}

impl Hierarchy {
    fn of(group: &Membership, mounts: &[Mount]) -> Option<Self> {
        let is_its = |mount: &&Mount| match group.is_v2() {
            true => mount.fs_type == "cgroup2",
            false => {
                let mut controllers = group.controllers.iter();
                mount.fs_type == "cgroup" && controllers.all(|name| mount.has_option(name))
            }
        };
        let mount = mounts.iter().find(is_its)?;
        Some(Self {
            number: group.hierarchy,
            controllers: group.controllers.clone(),
            point: mount.point.clone(),
            top: mount.root.clone(),
            paths: HashMap::new(),
        })
    }

    /// What ends meanwhile is left out.
    fn scan(&mut self) {
        use std::os::unix::fs::MetadataExt;
        if let Ok(top) = fs::metadata(&self.point) {
            self.paths.insert(top.ino(), self.top.clone());
        }
        let mut open = vec![(self.point.clone(), self.top.clone(), 0)];
        while let Some((folder, path, depth)) = open.pop() {
            let entries = fs::read_dir(folder).into_iter().flatten();
            for entry in entries.filter_map(Result::ok) {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_folder || depth >= DEPTH_MAX || self.paths.len() >= GROUPS_MAX {
                    continue;
                }
                let path = path.join(entry.file_name());
                self.paths.insert(entry.ino(), path.clone());
                open.push((entry.path(), path, depth + 1));
            }
        }
    }
}

/// That of version 2, then those of version 1 that are the likeliest to tell jobs.
fn hierarchies(own: &[Membership], mounts: &[Mount]) -> [Option<Hierarchy>; GROUPS_TOLD] {
    let v2 = own.iter().find(|group| group.is_v2());
    let mut v1: Vec<&Membership> = Vec::new();
    for name in CONTROLLERS {
        let has = |group: &&Membership| group.controllers.iter().any(|one| one == name);
        let found = own.iter().find(has);
        v1.extend(found.filter(|found| v1.iter().all(|one| one.hierarchy != found.hierarchy)));
    }
    let mut v1 = v1
        .into_iter()
        .filter_map(|group| Hierarchy::of(group, mounts));
    let v2 = v2.and_then(|group| Hierarchy::of(group, mounts));
    let (first, second) = (v1.next(), v1.next());
    [v2, first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "9:name=systemd:/\n6:freezer:/\n4:memory:/x\n3:cpuset,cpu:/\n0::/\n";

    fn groups(folder: &Path) -> Groups {
        let mounts = format!(
            "30 24 0:24 / {0}/v2 rw - cgroup2 cgroup2 rw\n31 24 0:25 / {0}/memory rw - cgroup \
             cgroup rw,memory\n32 24 0:26 / {0}/freezer rw - cgroup cgroup rw,freezer\n",
            folder.display()
        );
        let mounts: Vec<_> = mountinfo::parse(&mounts).collect();
        Groups {
            hierarchies: hierarchies(&proc_pid_cgroup::parse(OWN.as_bytes()), &mounts),
            sees_all: true,
            chains: HashMap::new(),
            is_due: false,
            missing: HashSet::new(),
            in_vain: HashSet::new(),
        }
    }

    fn told(
        groups: &mut Groups,
        numbers: GroupNumbers,
    ) -> Option<(Option<String>, Option<String>)> {
        let chain = groups.chain(numbers)?;
        Some((chain.identifier.clone(), chain.subidentifier.clone()))
    }

    #[test]
    fn the_hierarchies_that_name_jobs_are_chosen() {
        let groups = groups(Path::new("/c"));
        assert_eq!(groups.controllers(), [Some("freezer"), Some("memory")]);
        let numbers = groups.hierarchies.iter().flatten().map(|one| one.number);
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 6, 4]);
    }

    #[test]
    fn a_number_leads_to_the_job_of_its_group() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let job = folder
            .path()
            .join("freezer/slurm_n1/uid_0/job_7/step_batch");
        fs::create_dir_all(&job).unwrap();
        let mut groups = groups(folder.path());
        let number = |path: &Path| fs::metadata(path).unwrap().ino();
        assert_eq!(told(&mut groups, [0, number(&job), 0]), None);
        groups.refresh();
        // One that is nowhere is looked for once.
        assert_eq!(told(&mut groups, [0, 0, 1 << 60]), None);
        groups.refresh();
        assert_eq!(told(&mut groups, [0, 0, 1 << 60]), None);
        assert!(groups.missing.is_empty());
        let known = (Some("7".to_owned()), Some("batch".to_owned()));
        assert_eq!(told(&mut groups, [0, number(&job), 0]), Some(known));
        let top = number(&folder.path().join("freezer"));
        assert_eq!(told(&mut groups, [0, top, 0]), Some((None, None)));
        // Made meanwhile.
        assert_eq!(told(&mut groups, [0, 0, 99]), None);
        groups.made(4, 99, b"/slurm/uid_5/job_8/step_0/task_0");
        let made = (Some("8".to_owned()), Some("0".to_owned()));
        assert_eq!(told(&mut groups, [0, top, 99]), Some(made));
        assert_eq!(told(&mut groups, [0, 0, 0]), None);
        // Elsewhere the paths of the kernel are not ours.
        groups.sees_all = false;
        groups.made(4, 98, b"/slurm/uid_5/job_9/step_0");
        assert_eq!(told(&mut groups, [0, 0, 98]), None);
    }
}
