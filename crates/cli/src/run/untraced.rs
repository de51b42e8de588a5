//! Processes of a traced task that nobody traces: a child made with `CLONE_UNTRACED` and what it
//! makes. No event tells of them; `/proc` has them below the launcher, with nobody as tracer.

use super::reader::below;
use record::sample::ProcessSample;
use reduce::settings::Mechanism;
use reduce::tree::Tree;
use source::query::proc_pid_status;
use source::root::Root;

/// Those of the last pass.
#[derive(Debug, Default)]
pub(crate) struct Untraced {
    pids: Vec<u32>,
}

impl Untraced {
    /// The processes to sample where events tell of them: in a task that is traced those too that
    /// `/proc` shows below `adopter` and nobody traces, of which the tree is told.
    pub(crate) fn members(&mut self, adopter: u32, tree: &mut Tree) -> Vec<u32> {
        let mut members = tree.alive();
        if tree.mechanism() != Mechanism::Ptrace {
            return members;
        }
        let others = below(adopter).map(|process| process.pid);
        // Those that were found before are in the tree by now.
        let known = |pid: &u32| members.binary_search(pid).is_ok() && !self.pids.contains(pid);
        self.pids = others
            .filter(|pid| !known(pid) && is_untraced(*pid))
            .collect();
        if !self.pids.is_empty() {
            tree.untraced();
            members.extend(&self.pids);
            members.sort_unstable();
            members.dedup();
        }
        members
    }

    /// Those of `samples` that are readings of them.
    pub(crate) fn of(&self, samples: &[ProcessSample]) -> Vec<ProcessSample> {
        let ours = |sample: &&ProcessSample| self.pids.contains(&sample.id.pid);
        samples.iter().filter(ours).cloned().collect()
    }
}

/// Whether a process lives and has no tracer. One that its tracer has waited for has none either,
/// and is dead; and so has the main thread of one in which another thread executes a program, which
/// is that of the process when it is looked at again.
fn is_untraced(pid: u32) -> bool {
    let read = |name| std::fs::read(Root::default().process(pid, name)).ok();
    let traced = |text: Vec<u8>| proc_pid_status::parse(&text).tracer != Some(0);
    let alive = || {
        let stat = read("stat").and_then(|text| source::follow::procfs::Found::parse(&text));
        stat.is_some_and(|found| found.live_threads() > 0 && !found.exiting)
    };
    let untraced = || !read("status").is_none_or(traced);
    untraced() && alive() && untraced()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_not_traced_and_nobody_is_not_either() {
        let traced = proc_pid_status::parse(&std::fs::read("/proc/self/status").unwrap()).tracer;
        assert_eq!(is_untraced(std::process::id()), traced == Some(0));
        assert!(!is_untraced(u32::MAX >> 1));
    }
}
