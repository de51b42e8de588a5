//! The ids of all processes, from one reading to the next.
//!
//! To list `/proc` takes the kernel a microsecond a process. Ids are given in rising order, and
//! `/proc/loadavg` has the last one (proc(5)): between two whole listings only those are listed
//! that were given since. A position in the folder is an id and a constant (fs/proc/base.c,
//! `proc_pid_readdir`), which each whole listing looks at.

use crate::error::Error;
use crate::query::proc_loadavg;
use crate::root::Root;
use std::fs::File;
use sys::folder::list_from;

/// Bytes of a whole listing that are read at once, and of one from a position on: behind the new
/// ones, which are few and mostly the last, no more are made than these hold.
const WHOLE_BYTES: usize = 32 << 10;
const PART_BYTES: usize = 512;

/// Whoever asks again and again.
#[derive(Debug)]
pub struct Pids {
    root: Root,
    /// Listings until the next whole one, of which every `spacing`-th is.
    left: u32,
    spacing: u32,
    folder: Option<File>,
    /// In their order.
    known: Vec<u32>,
    /// The ids that had been given when the last two listings began.
    given: [Option<u32>; 2],
    /// The position of an id, less that id.
    shift: Option<u64>,
}

impl Pids {
    /// Of the processes of `root`, all of them listed in one listing of `spacing`; 0 and 1 are
    /// each.
    pub fn new(root: Root, spacing: u32) -> Self {
        Self {
            root,
            left: 0,
            spacing,
            folder: None,
            known: Vec::new(),
            given: [None; 2],
            shift: None,
        }
    }

    /// Those that are there, in their order, and some that are gone unless they were forgotten.
    ///
    /// # Errors
    /// If `/proc` cannot be listed.
    pub fn list(&mut self) -> Result<&[u32], Error> {
        let given = match self.spacing > 1 {
            true => proc_loadavg::read(&self.root)
                .ok()
                .and_then(|line| line.given),
            false => None,
        };
        let before = self.given;
        self.given = [before[1], given];
        // One that was given before the last listing may have come into the folder after it.
        let part = match (before[0], given, self.shift) {
            (Some(from), Some(to), Some(shift)) if self.left > 0 && from <= to => {
                self.list_part(shift, (from, to)).ok()
            }
            _ => None,
        };
        self.left = self.left.saturating_sub(1);
        if part.is_none() {
            self.list_whole()?;
            self.left = self.spacing.saturating_sub(1);
        }
        Ok(&self.known)
    }

    /// These are gone, as who wanted to read them in their order found.
    pub fn forget(&mut self, gone: &[u32]) {
        if !gone.is_empty() {
            self.known.retain(|pid| gone.binary_search(pid).is_err());
        }
    }

    fn list_whole(&mut self) -> Result<(), Error> {
        let path = self.root.proc("");
        let failed = |source| Error::List {
            path: path.clone(),
            source,
        };
        if self.folder.is_none() {
            self.folder = Some(File::open(&path).map_err(failed)?);
        }
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let (mut known, mut shifts, mut position) = (Vec::new(), Vec::new(), None);
        list_from(folder, 0, &mut vec![0; WHOLE_BYTES], &mut |entry| {
            let pid = number(entry.name);
            shifts.extend(
                pid.zip(position)
                    .map(|(pid, at): (u32, u64)| at.checked_sub(pid.into())),
            );
            known.extend(pid);
            position = pid.map(|_| entry.next);
            true
        })
        .map_err(|error| failed(std::io::Error::other(error)))?;
        let first = shifts.first().copied().flatten();
        let is_constant = shifts.iter().all(|shift| *shift == first);
        self.shift = first.filter(|_| is_constant && self.is_ours());
        known.sort_unstable();
        self.known = known;
        Ok(())
    }

    /// Adds those of an id above `from` and up to `to`.
    fn list_part(&mut self, shift: u64, (from, to): (u32, u32)) -> Result<(), sys::Error> {
        let (Some(folder), known) = (&self.folder, &mut self.known) else {
            return Ok(());
        };
        if from == to {
            return Ok(());
        }
        let position = shift + u64::from(from) + 1;
        list_from(folder, position, &mut [0; PART_BYTES], &mut |entry| {
            let Some(pid) = number(entry.name) else {
                return true;
            };
            if pid <= to
                && let Err(place) = known.binary_search(&pid)
            {
                known.insert(place, pid);
            }
            pid < to
        })
    }

    /// Whether the ids there are those of this process's namespace, of which `loadavg` tells.
    fn is_ours(&self) -> bool {
        let own = std::fs::read_link(self.root.proc("self")).ok();
        own.is_some_and(|own| own.as_os_str() == std::process::id().to_string().as_str())
    }
}

fn number(name: &[u8]) -> Option<u32> {
    std::str::from_utf8(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeping() -> Child {
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::null()).spawn().unwrap()
    }

    fn ended(mut child: Child) -> u32 {
        child.kill().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn who_came_since_is_listed_without_all_others() {
        let mut pids = Pids::new(Root::default(), 1000);
        let old = sleeping();
        // One listing that is whole, and one more that says what was given before.
        for _ in 0..2 {
            assert!(pids.list().unwrap().contains(&old.id()));
        }
        let (left, from) = (pids.left, pids.given[0]);
        assert!(pids.shift.is_some(), "{pids:?}");
        let young: Vec<Child> = (0..40).map(|_| sleeping()).collect();
        let listed = pids.list().unwrap().to_vec();
        assert!(listed.is_sorted());
        for one in young.iter().chain([&old]) {
            assert!(listed.contains(&one.id()), "{} in {listed:?}", one.id());
        }
        let gone: Vec<u32> = young.into_iter().map(ended).collect();
        pids.forget(&gone);
        let listed = pids.list().unwrap();
        assert!(!gone.iter().any(|pid| listed.contains(pid)), "{listed:?}");
        let old = ended(old);
        let is_there = pids.list().unwrap().contains(&old);
        // Where ids began anew meanwhile, a listing was whole.
        if from <= pids.given[1] {
            assert!(pids.left < left && is_there, "nobody said that it is gone");
        }
        pids.left = 0;
        assert!(!pids.list().unwrap().contains(&old));
    }

    #[test]
    fn where_ids_may_be_of_others_each_listing_is_whole() {
        let tree = tempfile::tempdir().unwrap();
        for name in ["proc/7", "proc/12", "proc/sys"] {
            std::fs::create_dir_all(tree.path().join(name)).unwrap();
        }
        std::fs::write(tree.path().join("proc/loadavg"), "0 0 0 1/2 12\n").unwrap();
        let mut pids = Pids::new(Root::at(tree.path()), 1000);
        assert_eq!(pids.list().unwrap(), [7, 12]);
        std::fs::create_dir(tree.path().join("proc/9")).unwrap();
        for _ in 0..3 {
            assert_eq!(pids.list().unwrap(), [7, 9, 12]);
        }
        let mut none = Pids::new(Root::at(&tree.path().join("no")), 1000);
        assert!(none.list().is_err());
    }
}
