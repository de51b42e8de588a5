//! What a scheduler is recognised by, and what is then known of the job.

use super::SCHEDULERS;
use super::daemon::Daemon;
use super::group_path::{Found, GroupPath};
use crate::query::proc_pid_cgroup::Membership;
use record::report::{Claim, Job};
use record::unit::Unit;
use std::collections::BTreeMap;
use std::path::Path;

/// The surroundings of a process: all that a scheduler may be recognised by.
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The content of a small file that the environment names (a list of hosts, a job's
    /// description).
    pub file: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    /// The process's own control groups.
    pub groups: &'a [Membership],
}

/// What is known of the job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Context {
    /// The scheduler's names.
    pub job: Job,
    /// What was asked for on this node, by resource name: `cores`, `memory`, `wall`, `gpus`.
    pub request: BTreeMap<String, Claim>,
    /// Nodes of the job (or of this step), if told.
    pub nodes: Option<u64>,
    /// What the whole job has, where that is told to its steps too.
    pub whole: Whole,
    /// Container image, if known.
    pub image: Option<String>,
    /// Container id or name, if known.
    pub container: Option<String>,
}

/// What a job has, whichever of its steps is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Whole {
    /// Its nodes.
    pub nodes: Option<u64>,
    /// CPUs on this node.
    pub cores: Option<Claim>,
}

/// What kind of thing gives a job its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A batch scheduler.
    Batch,
    /// A container, or who runs many of them.
    Container,
    /// A unit of the system or a login: what stands for a job where there is none.
    Unit,
}

/// The variables that hold a job's names; empty where there is none.
#[derive(Debug, Clone, Copy)]
pub struct Labels {
    /// Whose it is.
    pub user: &'static str,
    /// Who is charged.
    pub account: &'static str,
    /// Its partition or queue.
    pub partition: &'static str,
    /// What its user calls it.
    pub name: &'static str,
}

impl Labels {
    /// No variable at all.
    pub const NONE: Labels = Labels {
        user: "",
        account: "",
        partition: "",
        name: "",
    };
}

/// One scheduler, a row of [`SCHEDULERS`].
#[derive(Debug, Clone, Copy)]
pub struct Scheduler {
    /// Its name in reports.
    pub name: &'static str,
    /// What it is.
    pub tier: Tier,
    /// How words begin that are in the names of its control groups, whatever their layout.
    pub words: &'static [&'static str],
    /// Variables with the names of its jobs.
    pub labels: Labels,
    /// Recognises it; `None` if this is not one of its jobs.
    pub detect: fn(&Surroundings<'_>) -> Option<Context>,
    /// The job of a control group, made by root, of its layouts; `None` if it is in none of them.
    pub group: fn(&GroupPath<'_>) -> Option<Found>,
    /// The job that a process serves if it is one of its daemons.
    pub daemon: fn(&Daemon) -> Option<Found>,
}

/// Asks every scheduler of the table; the first that names a job wins, the others fill what is
/// unknown.
pub fn identify(surroundings: &Surroundings<'_>) -> Context {
    let mut all = Context::default();
    for found in SCHEDULERS
        .iter()
        .filter_map(|scheduler| (scheduler.detect)(surroundings))
    {
        if all.job.scheduler.is_none() {
            all.job = found.job;
            all.request = found.request;
            all.nodes = found.nodes;
        }
        all.image = all.image.or(found.image);
        all.container = all.container.or(found.container);
    }
    all
}

impl Surroundings<'_> {
    /// An environment variable that is set and not empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.env)(name).filter(|value| !value.is_empty())
    }

    /// An environment variable that is a whole number above 0.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        let value = self.text(name)?.trim().parse::<u64>().ok()?;
        (value > 0).then_some(value)
    }

    /// The first of `names` that is a whole number above 0, with its name.
    pub(super) fn first_count<'n>(&self, names: &[&'n str]) -> Option<(u64, &'n str)> {
        names
            .iter()
            .find_map(|name| Some((self.count(name)?, *name)))
    }

    /// The lines of the file that an environment variable names.
    pub(super) fn lines(&self, name: &str) -> Option<Vec<String>> {
        let path = self.text(name)?;
        let content = (self.file)(Path::new(&path))?;
        let text = String::from_utf8_lossy(&content);
        Some(text.lines().map(str::to_owned).collect())
    }
}

impl Context {
    /// A job of `scheduler` called `id`.
    pub(super) fn of(scheduler: &str, id: String) -> Self {
        Self {
            job: Job {
                scheduler: Some(scheduler.to_owned()),
                id: Some(id),
                ..Job::default()
            },
            ..Self::default()
        }
    }

    /// Adds a request, if there is one.
    pub(super) fn ask(
        &mut self,
        resource: &str,
        unit: Unit,
        value: Option<u64>,
        source: impl Into<String>,
    ) {
        if let Some(value) = value {
            let claim = Claim::whole(value, unit, source);
            self.request.insert(resource.to_owned(), claim);
        }
    }
}

/// Mebibytes as bytes, if they fit.
pub(super) fn mib(mib: u64) -> Option<u64> {
    mib.checked_mul(1 << 20)
}

/// Seconds as nanoseconds, if they fit.
pub(super) fn secs(secs: u64) -> Option<u64> {
    secs.checked_mul(1_000_000_000)
}

#[cfg(test)]
pub(super) mod recorded {
    //! Surroundings written down in a test.

    use super::*;
    use crate::query::proc_pid_cgroup;

    /// What `detect` makes of `NAME=value` lines, `@path` followed by the lines of a file, and
    /// cgroup lines.
    pub(in crate::context) fn detect(
        detect: impl Fn(&Surroundings<'_>) -> Option<Context>,
        environment: &[(&str, &str)],
        files: &[(&str, &str)],
        groups: &str,
    ) -> Option<Context> {
        let groups = proc_pid_cgroup::parse(groups.as_bytes());
        let find = |table: &[(&str, &str)], key: &str| {
            let row = table.iter().find(|row| row.0 == key)?;
            Some(row.1.to_owned())
        };
        detect(&Surroundings {
            env: &|name| find(environment, name),
            file: &|path| find(files, path.to_str()?).map(String::into_bytes),
            groups: &groups,
        })
    }

    /// The number and the source of a request.
    pub(in crate::context) fn asked<'c>(
        context: &'c Context,
        name: &str,
    ) -> Option<(u64, &'c str)> {
        let claim = context.request.get(name)?;
        match claim.value {
            record::value::Number::Whole(value) => Some((value, claim.source.as_str())),
            record::value::Number::Real(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identified(environment: &[(&str, &str)], groups: &str) -> Context {
        recorded::detect(|all| Some(identify(all)), environment, &[], groups).unwrap()
    }

    #[test]
    fn nothing_is_recognised_in_a_bare_environment() {
        assert_eq!(identified(&[], "0::/\n"), Context::default());
        let session = "0::/user.slice/user-1000.slice/session-3.scope\n";
        assert_eq!(identified(&[], session), Context::default());
    }

    #[test]
    fn a_container_within_a_job_keeps_both_names() {
        let environment = [
            ("SLURM_JOB_ID", "17"),
            ("APPTAINER_CONTAINER", "/images/tools.sif"),
        ];
        let context = identified(&environment, "0::/system.slice/slurmstepd.scope/job_17\n");
        assert_eq!(context.job.scheduler.as_deref(), Some("slurm"));
        assert_eq!(context.image.as_deref(), Some("/images/tools.sif"));
    }

    #[test]
    fn hostile_variables_are_no_numbers() {
        let environment = [
            ("SLURM_JOB_ID", "17"),
            ("SLURM_CPUS_ON_NODE", "99999999999999999999"),
            ("SLURM_MEM_PER_NODE", "18446744073709551615"),
            ("SLURM_JOB_START_TIME", "9"),
            ("SLURM_JOB_END_TIME", "1"),
            ("SLURM_GPUS_ON_NODE", "-1"),
        ];
        assert!(identified(&environment, "").request.is_empty());
    }

    #[test]
    fn every_scheduler_is_named_once() {
        let mut names: Vec<_> = SCHEDULERS.iter().map(|scheduler| scheduler.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCHEDULERS.len());
    }
}
