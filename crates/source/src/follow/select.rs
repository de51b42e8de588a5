//! Which processes of a node are wanted: everyone, or who is below one, in a session, a group, a
//! control group, of a user.

use crate::query::proc_pid_cgroup::Membership;
use crate::query::proc_pid_status::Status;
use record::identity::ProcessId;
use record::sample::ProcessSample;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// One kind of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Everyone.
    All,
    /// A process and everyone below it, orphans of these too.
    Below(u32),
    /// Who is in this session.
    Session(u32),
    /// Who is in this process group.
    ProcessGroup(u32),
    /// Who has this group: real, effective or supplementary.
    Gid(u32),
    /// Who is in this control group of any hierarchy, or below it.
    Cgroup(PathBuf),
    /// Whose real user this is.
    User(u32),
}

impl Wanted {
    /// Whether [`Owner`] is what it is told by.
    const fn asks_owner(&self) -> bool {
        matches!(self, Self::Gid(_) | Self::Cgroup(_) | Self::User(_))
    }

    fn is_owner(&self, status: &Status, groups: &[Membership]) -> bool {
        match self {
            Self::Gid(gid) => {
                let of_process = [status.gid, status.gid_effective];
                of_process.contains(&Some(*gid)) || status.groups.contains(gid)
            }
            Self::Cgroup(path) => groups.iter().any(|group| group.path.starts_with(path)),
            Self::User(uid) => status.uid == Some(*uid),
            _ => false,
        }
    }

    fn is_place(&self, sample: &ProcessSample) -> bool {
        match self {
            Self::All => true,
            Self::Session(sid) => sample.sid == *sid,
            Self::ProcessGroup(pgid) => sample.pgid == *pgid,
            _ => false,
        }
    }
}

/// Who is wanted: whoever is of one kind at least.
#[derive(Debug)]
pub struct Selection {
    wanted: Vec<Wanted>,
    /// The processes that [`Wanted::Below`] named, once seen: whoever has their pids later is
    /// somebody else.
    tops: HashMap<u32, ProcessId>,
    /// Who was below one of them.
    below: HashSet<ProcessId>,
}

impl Selection {
    /// Everyone of any of these kinds.
    pub fn new(wanted: Vec<Wanted>) -> Self {
        Self {
            wanted,
            tops: HashMap::new(),
            below: HashSet::new(),
        }
    }

    /// Whether nobody is left out.
    pub fn is_everyone(&self) -> bool {
        self.wanted.contains(&Wanted::All)
    }

    /// Whether [`Selection::is_owner`] has a say.
    pub fn asks_owner(&self) -> bool {
        self.wanted.iter().any(Wanted::asks_owner)
    }

    /// Whether somebody with these ids, in these control groups, is wanted whatever else it is.
    pub fn is_owner(&self, status: &Status, groups: &[Membership]) -> bool {
        let mut wanted = self.wanted.iter();
        wanted.any(|wanted| wanted.is_owner(status, groups))
    }

    /// Of everyone who lives, who is wanted for where it is in the tree, in the order of `samples`.
    /// Whoever was below a process stays so when its parent dies.
    pub fn places(&mut self, samples: &[ProcessSample]) -> Vec<bool> {
        let by_place = |sample: &ProcessSample| {
            let mut wanted = self.wanted.iter();
            wanted.any(|wanted| wanted.is_place(sample))
        };
        let mut taken: Vec<_> = samples.iter().map(by_place).collect();
        let asked = self.wanted.iter().filter_map(|wanted| match wanted {
            Wanted::Below(pid) => Some(*pid),
            _ => None,
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() {
            return taken;
        }
        let below = self.below(samples, &asked);
        for (taken, sample) in taken.iter_mut().zip(samples) {
            *taken |= below.contains(&sample.id);
        }
        self.below = below;
        taken
    }

    /// The same of one process that is new since then.
    pub fn is_place(&self, sample: &ProcessSample) -> bool {
        let is_below = || {
            let mut below = self.below.iter();
            below.any(|id| *id == sample.id || id.pid == sample.ppid)
        };
        self.wanted.iter().any(|wanted| wanted.is_place(sample)) || is_below()
    }

    fn below(&mut self, samples: &[ProcessSample], tops: &[u32]) -> HashSet<ProcessId> {
        let mut children: HashMap<u32, Vec<ProcessId>> = HashMap::new();
        let mut open = Vec::new();
        for sample in samples {
            let (id, pid) = (sample.id, sample.id.pid);
            children.entry(sample.ppid).or_default().push(id);
            let is_top = tops.contains(&pid) && *self.tops.entry(pid).or_insert(id) == id;
            if is_top || self.below.contains(&id) {
                open.push(id);
            }
        }
        let mut below = HashSet::new();
        while let Some(id) = open.pop() {
            // Once each: two readings of one pass may show two processes as each other's parents.
            if below.insert(id) {
                open.extend(children.get(&id.pid).into_iter().flatten());
            }
        }
        below
    }
}

/// The control group of a batch job: of the paths of a process in it, the one with the job's id in
/// the name of a part, up to that part (`/slurm_n1/uid_1/job_5/step_0` of job 5: `.../job_5`).
pub fn group_of_job(groups: &[Membership], id: &str) -> Option<PathBuf> {
    let find = |suits: fn(&str) -> bool| {
        let named = |path: &&Path| {
            let part = path.file_name().and_then(|part| part.to_str());
            part.is_some_and(|part| suits(part) && has_word(part, id))
        };
        let topmost = |group: &Membership| {
            let path = group.path.ancestors().filter(named).last();
            path.map(Path::to_owned)
        };
        groups.iter().find_map(topmost)
    };
    // A user or a step may have the same number.
    let by_name = find(|part| part.contains("job"));
    by_name.or_else(|| find(|part| !part.starts_with("uid")))
}

/// Whether `word` is in `text` with no letter or digit beside it.
fn has_word(text: &str, word: &str) -> bool {
    let is_edge = |next: Option<char>| !next.is_some_and(char::is_alphanumeric);
    let mut found = text.match_indices(word);
    !word.is_empty()
        && found.any(|(place, _)| {
            let (before, behind) = (text.get(..place), text.get(place + word.len()..));
            is_edge(before.and_then(|text| text.chars().next_back()))
                && is_edge(behind.and_then(|text| text.chars().next()))
        })
}

#[cfg(test)]
mod tests;
