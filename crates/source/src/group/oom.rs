//! Whether the kernel ended processes for want of memory where the task runs: of the group that it
//! was started in, by a limit of that group or of one above, or anywhere on the machine.

use super::content::value_of;
use crate::query::proc_vmstat;
use crate::root::Root;
use std::path::PathBuf;
use sys::cgroup::{ControlDir, Controller, Places};

/// The counts as of the start of the task.
#[derive(Debug, Default)]
pub struct OomKills {
    /// The group that it was started in, its file, and the kills counted there.
    group: Option<(ControlDir, &'static str, u64)>,
    /// That group and those above it, and how often each could not keep its limit (v2).
    levels: Vec<(ControlDir, u64)>,
    /// Kills on the whole machine.
    machine: Option<u64>,
}

/// Kills since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Killed {
    /// How many processes, at least one.
    pub count: u64,
    /// The file that tells.
    pub source: String,
    /// The group among whose processes they were; `None` for the whole machine.
    pub among: Option<PathBuf>,
    /// The group whose limit could not be kept, where that is told.
    pub limit_of: Option<PathBuf>,
}

impl OomKills {
    /// Counts from now on.
    pub fn begin(root: &Root, places: &Places) -> Self {
        let v1 = places.v1(Controller::Memory).map(|place| (place, V1));
        let v2 = places.v2.as_ref().map(|place| (place, V2));
        let own = v1.into_iter().chain(v2).find_map(|(place, file)| {
            let dir = place.upwards().next()?;
            let count = count(&dir, file, "oom_kill")?;
            Some((dir, file, count))
        });
        let above = places.v2.iter().flat_map(|place| place.upwards());
        let levels = above.filter_map(|dir| {
            let count = count(&dir, V2_LOCAL, "oom")?;
            Some((dir, count))
        });
        Self {
            group: own,
            levels: levels.collect(),
            machine: machine(root),
        }
    }

    /// What was counted since: of the group, or of the machine where no group tells.
    pub fn found(&self, root: &Root) -> Option<Killed> {
        let limit_of = self.levels.iter().find_map(|(dir, before)| {
            let now = count(dir, V2_LOCAL, "oom")?;
            (now > *before).then(|| dir.path().to_owned())
        });
        let Some((dir, file, before)) = &self.group else {
            let killed = self.anywhere(root)?;
            return Some(Killed { limit_of, ..killed });
        };
        let now = count(dir, file, "oom_kill")?;
        (now > *before).then(|| Killed {
            count: now - before,
            source: dir.path().join(file).display().to_string(),
            among: Some(dir.path().to_owned()),
            limit_of,
        })
    }

    /// What was counted on the machine since, whosever the processes were.
    pub fn anywhere(&self, root: &Root) -> Option<Killed> {
        let (now, before) = (machine(root)?, self.machine?);
        (now > before).then(|| Killed {
            count: now - before,
            source: "/proc/vmstat oom_kill".to_owned(),
            among: None,
            limit_of: None,
        })
    }
}

/// Where v1 counts: the victims of this very group.
const V1: &str = "memory.oom_control";
/// Where v2 counts: the victims of the group and of those below it.
const V2: &str = "memory.events";
/// The limits of this very group; since Linux 5.2.
const V2_LOCAL: &str = "memory.events.local";

fn count(dir: &ControlDir, file: &str, key: &str) -> Option<u64> {
    value_of(&dir.read(file).ok()?, key)
}

fn machine(root: &Root) -> Option<u64> {
    let text = root.read_machine(&root.proc("vmstat")).ok()?;
    proc_vmstat::parse(&text).oom_kills
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use sys::cgroup::Place;

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for folder in ["proc", "cgroup/job/step"] {
                fs::create_dir_all(machine.0.path().join(folder)).unwrap();
            }
            machine.write("proc/vmstat", "nr_free_pages 9\noom_kill 7\n");
            for group in ["job", "job/step"] {
                machine.write(
                    &format!("cgroup/{group}/memory.events"),
                    "oom 0\noom_kill 2\n",
                );
                machine.write(&format!("cgroup/{group}/memory.events.local"), "oom 0\n");
            }
            machine
        }

        fn write(&self, file: &str, text: &str) {
            fs::write(self.0.path().join(file), text).unwrap();
        }

        fn without_groups(&self) -> OomKills {
            OomKills::begin(&self.root(), &Places::default())
        }

        fn begin(&self) -> OomKills {
            let place = Place {
                top: self.0.path().join("cgroup"),
                dir: ControlDir::new(self.0.path().join("cgroup/job/step")),
            };
            let places = Places {
                v2: Some(place),
                v1: Vec::new(),
            };
            OomKills::begin(&self.root(), &places)
        }

        fn root(&self) -> Root {
            Root::at(self.0.path())
        }
    }

    #[test]
    fn the_group_whose_limit_it_was_is_named() {
        let machine = Machine::new();
        let kills = machine.begin();
        assert_eq!(kills.found(&machine.root()), None);
        machine.write("cgroup/job/memory.events.local", "oom 1\n");
        machine.write("cgroup/job/step/memory.events", "oom 0\noom_kill 3\n");
        let found = kills.found(&machine.root()).unwrap();
        assert_eq!(found.count, 1);
        assert!(found.among.unwrap().ends_with("cgroup/job/step"));
        assert!(found.limit_of.unwrap().ends_with("cgroup/job"));
    }

    #[test]
    fn a_kill_anywhere_on_the_machine_is_told_where_no_group_tells() {
        let machine = Machine::new();
        let (within, kills) = (machine.begin(), machine.without_groups());
        machine.write("proc/vmstat", "oom_kill 9\n");
        assert_eq!(within.found(&machine.root()), None, "of others");
        assert_eq!(within.anywhere(&machine.root()).unwrap().count, 2);
        let found = kills.found(&machine.root()).unwrap();
        assert_eq!((found.count, found.among), (2, None));
        // A kernel that does not count them tells nothing.
        machine.write("proc/vmstat", "nr_free_pages 9\n");
        assert_eq!(kills.found(&machine.root()), None);
    }
}
