//! Control groups that look like a scheduler's and are in no layout that is known: a new version,
//! or a site's own. Silence would lose its jobs.

use super::SCHEDULERS;
use super::group_path::GroupPath;
use super::surroundings::Tier;
use crate::query::proc_pid_cgroup::Membership;
use std::collections::HashSet;

/// Layouts that are told of.
const LAYOUTS_MAX: usize = 32;
/// Paths of one process.
const PATHS_MAX: usize = 16;

/// The paths of `groups` in which a scheduler's word is, outside of the places of users, and that
/// no scheduler knows.
pub(super) fn paths(groups: &[Membership]) -> Vec<String> {
    let mut paths: Vec<String> = groups
        .iter()
        .filter(|group| is_unfamiliar(&GroupPath::new(&group.path)))
        .map(|group| group.path.to_string_lossy().into_owned())
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(PATHS_MAX);
    paths
}

fn is_unfamiliar(path: &GroupPath<'_>) -> bool {
    let is_batch = |tier| tier == Tier::Batch;
    let known_batch = SCHEDULERS
        .iter()
        .any(|one| is_batch(one.tier) && (one.group)(path).is_some());
    if !path.is_roots() || known_batch || is_own_unit(path) {
        return false;
    }
    SCHEDULERS.iter().any(|scheduler| {
        let is_its = |part: &str| has_word(part, scheduler.words);
        path.parts().any(is_its) && (scheduler.group)(path).is_none()
    })
}

/// Whether it is a service and nothing below: the scheduler's own daemon, such as
/// `/system.slice/slurmd.service`.
fn is_own_unit(path: &GroupPath<'_>) -> bool {
    let unit = path.below_slices();
    unit.is_some_and(|at| {
        at + 1 == path.len() && path.part(at).is_some_and(|unit| unit.ends_with(".service"))
    })
}

/// Whether one of the words of `part` begins like one of `words`.
fn has_word(part: &str, words: &[&str]) -> bool {
    let part = part.to_ascii_lowercase();
    part.split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|own| words.iter().any(|word| own.starts_with(word)))
}

/// Which unfamiliar layouts were told of, so that each is once. Bounded: a machine full of new
/// names says no more.
#[derive(Debug, Default)]
pub struct Layouts(HashSet<String>);

impl Layouts {
    /// Whether this path is the first of its layout: numbers in it do not count.
    pub fn is_new(&mut self, path: &str) -> bool {
        self.0.len() < LAYOUTS_MAX && self.0.insert(layout(path))
    }
}

/// The path with every number as `N`.
fn layout(path: &str) -> String {
    let mut layout = String::new();
    for letter in path.chars() {
        match letter.is_ascii_digit() {
            false => layout.push(letter),
            true if layout.ends_with('N') => {}
            true => layout.push('N'),
        }
    }
    layout
}

/// What people are told of such a path.
pub fn warning(path: &str) -> String {
    format!(
        "the control group {path} looks like a scheduler's, in a layout that this version does not \
         know: its jobs are not told apart"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::proc_pid_cgroup;

    fn found(path: &str) -> bool {
        !paths(&proc_pid_cgroup::parse(format!("0::{path}\n").as_bytes())).is_empty()
    }

    #[test]
    fn what_looks_like_a_scheduler_and_is_unknown_is_found() {
        for path in [
            "/system.slice/slurmstepd.scope/jobs/7",
            "/slurm.slice/job_7",
            "/docker/x/slurm_n1/uid_0/job_7",
            "/pbs_jobs.service/new/7",
            "/lsf.slice/job.7",
            "/system.slice/condor.scope/slot1",
            "/opt-sge/7.1",
            "/kubepods.slice/new-7",
        ] {
            assert!(found(path), "{path}");
        }
    }

    #[test]
    fn what_is_known_or_a_users_or_a_daemons_is_not() {
        for path in [
            "/",
            "/slurm_n1/uid_0/job_7/step_0",
            "/slurm_n1/uid_0/job_7/step_0/condor_pilot/kube",
            "/system.slice/slurmd.service",
            "/system.slice/kubelet.service",
            "/system.slice/message.service/dbus",
            "/user.slice/user-1000.slice/user@1000.service/slurm/job_7",
            "/../slurm/job_7",
            "/system.slice/docker.service",
        ] {
            assert!(!found(path), "{path}");
        }
    }

    #[test]
    fn each_layout_is_told_once_and_not_without_end() {
        let mut layouts = Layouts::default();
        assert!(layouts.is_new("/slurm.slice/job_7"));
        assert!(!layouts.is_new("/slurm.slice/job_812"));
        assert!(layouts.is_new("/slurm.slice/jobs/812"));
        let told = (0..1000u32).map(|number| "x".repeat(number as usize + 1));
        assert_eq!(
            told.filter(|path| layouts.is_new(path)).count(),
            LAYOUTS_MAX - 2
        );
        assert!(warning("/slurm/x").contains("/slurm/x"));
    }
}
