//! The control group of a whole job: its limits, and the daemons that hold it.

use super::chain::of_path;
use super::daemon::Daemon;
use super::group_path::Found;
use super::read::{ReadMemory, daemon};
use super::surroundings::Tier;
use crate::group::{GroupReader, NearestLimits, nearest_limits};
use crate::query::proc_pid_cgroup::Membership;
use crate::root::Root;
use record::sample::GroupSample;
use std::fmt::Write;
use std::path::{Component, Path};
use sys::cgroup::{ControlDir, Place, Places};
use sys::mountinfo::{self, Mount};

/// Steps that are looked at for a daemon, and processes of each.
const STEPS_MAX: usize = 64;
const PROCESSES_MAX: usize = 16;

/// The limits of the job that a process of these groups belongs to; none where it has no group of
/// its own that we can see.
pub fn limits(groups: &[Membership]) -> NearestLimits {
    places(groups).map_or_else(NearestLimits::default, |places| nearest_limits(&places))
}

/// What the job that a process of these groups belongs to uses, those of it that ended included;
/// nothing where it has no group of its own that we can see.
pub fn usage(groups: &[Membership]) -> Option<GroupSample> {
    let places = places(&everywhere(groups));
    Some(GroupReader::started_in(&places?).read())
}

/// What tells the most memory and the CPU time of the job that a process of these groups belongs
/// to, again and again; nothing where it has no group of its own that we can see.
pub fn life(groups: &[Membership]) -> Option<GroupReader> {
    let places = places(&everywhere(groups));
    Some(GroupReader::life(&places?)).filter(GroupReader::has_any)
}

/// A daemon of a job may be in its group in some hierarchies of version 1 alone. The job's has the
/// same path in all of them, if it is there.
fn everywhere(groups: &[Membership]) -> Vec<Membership> {
    let is_v1 = |group: &Membership| !group.controllers.is_empty();
    let named = groups.iter().filter(|group| is_v1(group));
    let path = named.clone().find(|group| job_of(group).is_some());
    let mut all = groups.to_vec();
    if let Some(path) = path.map(|group| &group.path) {
        let others = all.iter_mut();
        for other in others.filter(|group| is_v1(group) && job_of(group).is_none()) {
            other.path.clone_from(path);
        }
    }
    all
}

/// Slurm's daemons of the job's steps: of a job that its group calls by a SLUID they know the id.
pub(super) fn holders(root: &Root, groups: &[Membership], memory: ReadMemory<'_>) -> Vec<Daemon> {
    let is_unnamed = |group: &&Membership| job_of(group).is_some_and(|found| found.job.is_none());
    let unnamed: Vec<_> = groups.iter().filter(is_unnamed).cloned().collect();
    let place = places(&unnamed).and_then(|places| places.v2);
    place.map_or_else(Vec::new, |place| of_steps(root, &place, memory))
}

/// `step_S/slurm` holds the daemon of a step.
fn of_steps(root: &Root, job: &Place, memory: ReadMemory<'_>) -> Vec<Daemon> {
    // No folder, or none that we may read: its daemons are not known.
    let Ok(entries) = std::fs::read_dir(job.dir.path()) else {
        return Vec::new();
    };
    let steps = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"step_"));
    steps
        .take(STEPS_MAX)
        .flat_map(|step| {
            let pids = ControlDir::new(step.path().join("slurm")).pids();
            pids.unwrap_or_default().into_iter().take(PROCESSES_MAX)
        })
        .filter_map(|pid| daemon(root, pid, memory).ok())
        .map(|(daemon, _)| daemon)
        .collect()
}

fn places(groups: &[Membership]) -> Option<Places> {
    groups.iter().find_map(job_of)?;
    let mounts = mountinfo::read().ok()?;
    places_in(groups, &mounts)
}

/// What a group that is a job's, or below that, says of it.
fn job_of(group: &Membership) -> Option<Found> {
    let (scheduler, found) = of_path(&group.path)?;
    (scheduler.tier != Tier::Unit && found.depth > 0).then_some(found)
}

/// Where the job's groups are mounted.
fn places_in(groups: &[Membership], mounts: &[Mount]) -> Option<Places> {
    let mut lines = String::new();
    for group in groups {
        let Some(found) = job_of(group) else {
            continue;
        };
        let path = up_to(&group.path, found.depth);
        let names = group.controllers.join(",");
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{}:{names}:{}", group.hierarchy, path?);
    }
    (!lines.is_empty()).then(|| Places::parse(&lines, mounts))
}

/// The first `depth` components of `path`.
fn up_to(path: &Path, depth: usize) -> Option<String> {
    let named = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)));
    let cut: std::path::PathBuf = named.take(depth).collect();
    Some(format!("/{}", cut.to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::proc_pid_cgroup;

    const MOUNTS: &str = "30 24 0:24 / /c/unified rw - cgroup2 cgroup2 rw\n\
                          31 24 0:25 / /c/memory rw - cgroup cgroup rw,memory\n\
                          32 24 0:26 / /c/cpu rw - cgroup cgroup rw,cpu\n";

    fn found(groups: &str) -> Option<Places> {
        let mounts: Vec<_> = mountinfo::parse(MOUNTS).collect();
        places_in(&proc_pid_cgroup::parse(groups.as_bytes()), &mounts)
    }

    #[test]
    fn the_group_is_that_of_the_whole_job() {
        let places =
            found("4:memory:/slurm_n1/uid_0/job_7/step_0/task_0\n2:cpu:/\n0::/init.scope\n")
                .unwrap();
        let memory = places.v1(sys::cgroup::Controller::Memory).unwrap();
        assert_eq!(
            memory.dir.path(),
            Path::new("/c/memory/slurm_n1/uid_0/job_7")
        );
        assert_eq!(places.v1(sys::cgroup::Controller::Cpu), None);
        assert_eq!(places.v2, None);
        let v2 = found("0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n").unwrap();
        let path = v2.v2.as_ref().map(|place| place.dir.path());
        let job = Path::new("/c/unified/system.slice/slurmstepd.scope/job_7");
        assert_eq!(path, Some(job));
    }

    #[test]
    fn the_group_of_a_job_has_one_path_in_all_hierarchies() {
        let of = |groups: &str| {
            let groups = everywhere(&proc_pid_cgroup::parse(groups.as_bytes()));
            let paths = groups.iter().map(|group| group.path.display().to_string());
            paths.collect::<Vec<_>>()
        };
        let job = "/slurm_n1/uid_0/job_7/step_0";
        let groups = format!("4:memory:{job}\n2:cpu:/\n0::/init.scope\n");
        assert_eq!(of(&groups), [job, job, "/init.scope"]);
        let login = "4:memory:/user.slice\n2:cpu:/\n";
        assert_eq!(of(login), ["/user.slice", "/"]);
    }

    #[test]
    fn who_is_in_no_job_has_no_group_of_one() {
        let login = "0::/user.slice/user-1000.slice/session-3.scope\n4:memory:/\n";
        assert_eq!(found(login), None);
        assert_eq!(found("0::/system.slice/slurmstepd.scope/system\n"), None);
    }

    #[test]
    fn the_daemons_of_the_steps_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let (job, proc) = (folder.path().join("job"), folder.path().join("proc/12"));
        std::fs::create_dir_all(job.join("step_0/slurm")).unwrap();
        std::fs::create_dir_all(job.join("step_0/user")).unwrap();
        std::fs::create_dir_all(&proc).unwrap();
        std::fs::write(job.join("step_0/slurm/cgroup.procs"), "12\n13\n").unwrap();
        std::fs::write(proc.join("cmdline"), "slurmstepd: [7.0]\0").unwrap();
        std::fs::write(proc.join("status"), "PPid:\t1\nUid:\t0\t0\t0\t0\n").unwrap();
        let place = Place {
            dir: ControlDir::new(&job),
            top: folder.path().to_owned(),
        };
        let root = Root::at(folder.path());
        let memory = |pid: u32, file: &str| root.read_process(Some(pid), file);
        let found = of_steps(&root, &place, &memory);
        let commands: Vec<_> = found.iter().map(|it| (it.pid, it.uid)).collect();
        assert_eq!(commands, [(12, Some(0))]);
        assert_eq!(found[0].command, b"slurmstepd: [7.0]\0");
    }
}
