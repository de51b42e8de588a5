//! Handing the memory controller of v2 down to a child group, without touching anyone else's processes.
//!
//! A v2 group that holds processes cannot enable controllers for its children; only the root of the machine may. So where our group
//! holds nothing but our own processes, those move into a leaf beside the task's group. Where it holds
//! others, they are left alone and there is no memory controller for the task.

use super::control::ControlDir;
use super::error::Error;

/// Most rounds of moving our own processes; a round repeats if one of them forked meanwhile.
const ROUNDS_MAX: usize = 4;

/// What was changed above the task's group, and how to change it back.
#[derive(Debug)]
pub(crate) struct HandDown {
    parent: ControlDir,
    /// Where our own processes went, if they had to.
    leaf: Option<ControlDir>,
}

impl HandDown {
    /// Enables the memory controller for the children of `parent`, the group that we are in. `ours` are the
    /// processes that may be moved; they go to a leaf called `leaf`.
    pub(crate) fn memory(parent: &ControlDir, leaf: &str, ours: &[u32]) -> Result<Self, Error> {
        let refused = |what| Error::NoPermission {
            path: parent.path().to_owned(),
            what,
        };
        let done = |leaf| Self {
            parent: parent.clone(),
            leaf,
        };
        if !has_word(&parent.read("cgroup.controllers")?, "memory") {
            return Err(refused(
                "the groups above do not hand down the memory controller",
            ));
        }
        if has_word(&parent.read("cgroup.subtree_control")?, "memory") {
            return Ok(done(None));
        }
        // Only the root of the machine lacks this file, and only it may hold processes beside controllers. What is enabled
        // there stays: other groups may have begun to use it.
        if !parent.has("cgroup.type") {
            parent.write("cgroup.subtree_control", "+memory")?;
            return Ok(done(None));
        }
        if !parent.pids()?.iter().all(|pid| ours.contains(pid)) {
            return Err(refused(
                "the group that we started in holds processes of others too",
            ));
        }
        let made = done(Some(parent.child(leaf)));
        made.move_out(ours).inspect_err(|_| made.undo())?;
        Ok(made)
    }

    fn move_out(&self, ours: &[u32]) -> Result<(), Error> {
        let Some(leaf) = &self.leaf else {
            return Ok(());
        };
        leaf.create()?;
        for _ in 0..ROUNDS_MAX {
            for pid in self.parent.pids()? {
                if !ours.contains(&pid) {
                    break;
                }
                moved(leaf.add(pid))?;
            }
            match self.parent.write("cgroup.subtree_control", "+memory") {
                Err(e) if e.is_busy() => {}
                other => return other,
            }
        }
        Err(Error::NoPermission {
            path: self.parent.path().to_owned(),
            what: "the group that we started in does not become empty",
        })
    }

    /// Takes the controller back and our own processes home, as far as that goes.
    pub(crate) fn undo(&self) {
        let Some(leaf) = &self.leaf else {
            return;
        };
        // Each step may fail where the one before did; what then stays is an empty group below our own.
        let _ = self.parent.write("cgroup.subtree_control", "-memory");
        for pid in leaf
            .pids()
            .unwrap_or_default()
            .into_iter()
            .filter(|pid| *pid != 0)
        {
            let _ = self.parent.add(pid);
        }
        let _ = leaf.remove();
    }

    /// Whether the parent can take processes back only after [`HandDown::undo`].
    pub(crate) fn closed_parent(&self) -> bool {
        self.leaf.is_some()
    }
}

/// A process that ended before it could be moved needs no move.
pub(crate) fn moved(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(Error::Gone { .. }) => Ok(false),
        Err(e) => Err(e),
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_ascii_whitespace().any(|w| w == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn group(name: &str, files: &[(&str, &str)]) -> ControlDir {
        let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        for (file, text) in files {
            fs::write(path.join(file), text).unwrap();
        }
        ControlDir::new(path)
    }

    #[test]
    fn a_group_without_the_controller_is_refused() {
        let dir = group("bare", &[("cgroup.controllers", "cpu pids\n")]);
        let error = HandDown::memory(&dir, "leaf", &[]).unwrap_err();
        assert!(matches!(error, Error::NoPermission { .. }), "{error}");
        fs::remove_dir_all(dir.path()).unwrap();
    }

    #[test]
    fn foreign_processes_are_never_moved() {
        let dir = group(
            "mixed",
            &[
                ("cgroup.controllers", "cpu memory\n"),
                ("cgroup.subtree_control", "\n"),
                ("cgroup.type", "domain\n"),
                ("cgroup.procs", "10\n11\n"),
            ],
        );
        let error = HandDown::memory(&dir, "leaf", &[10]).unwrap_err();
        assert!(error.to_string().contains("others"), "{error}");
        assert!(!dir.has("leaf"));
        assert_eq!(dir.read("cgroup.subtree_control").unwrap(), "\n");
        fs::remove_dir_all(dir.path()).unwrap();
    }
}
