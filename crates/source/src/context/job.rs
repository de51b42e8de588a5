//! What is known of a process's job here: from the scheduler's environment, as far as that is of
//! the same job, and from the limits of the job's control group.

use super::SCHEDULERS;
use super::chain::Input;
use super::surroundings::{Labels, Surroundings, Tier};
use crate::group::NearestLimits;
use crate::query::proc_pid_environ;
use record::context::{Chain, Kind, Trust};
use record::job::JobRecord;
use record::report::Claim;
use record::value::Number;

/// What is known of the job of `chain`; `None` where it names no job.
pub fn record(chain: &Chain, input: &Input, limits: &NearestLimits) -> Option<JobRecord> {
    let (name, identifier) = (chain.scheduler.as_ref()?, chain.identifier.as_ref()?);
    let scheduler = SCHEDULERS.iter().find(|one| one.name == name)?;
    (scheduler.tier != Tier::Unit).then_some(())?;
    let mut job = JobRecord::default();
    let trust = chain.trust?;
    job.tell_text("scheduler", Some(name), "the context chain", trust);
    job.tell_text("identifier", Some(identifier), "the context chain", trust);
    of_group(limits, &mut job);
    if is_environment_its(chain) {
        let env = |name: &str| proc_pid_environ::value(&input.environ, name);
        let context = (scheduler.detect)(&Surroundings {
            env: &env,
            file: &|_| None,
            groups: &[],
        });
        if let Some(context) = context {
            let (array, task) = context.job.array.as_deref().map(split).unzip();
            claim(&mut job, "array_job", array, "environment");
            claim(&mut job, "array_task", task, "environment");
            let told = [
                ("cores", "cpus_requested"),
                ("memory", "memory_requested"),
                ("gpus", "gpus_requested"),
                ("wall", "time_limit"),
            ];
            for (resource, column) in told {
                if let Some(claim) = context.request.get(resource) {
                    tell(&mut job, column, claim, Trust::Claimed);
                }
            }
            let nodes = context.whole.nodes.or(context.nodes);
            job.tell_int("nodes", nodes, "environment", Trust::Claimed);
            if let Some(cores) = context.whole.cores
                && job.fact("cpus_allocated").is_none()
            {
                tell(&mut job, "cpus_allocated", &cores, Trust::Claimed);
            }
        }
        of_labels(&scheduler.labels, &env, &mut job);
    }
    Some(job)
}

/// Whether the environment speaks of the job that is believed: it names no other.
fn is_environment_its(chain: &Chain) -> bool {
    let mut of_it = chain
        .evidence
        .iter()
        .filter(|one| one.kind == Kind::Environment && one.scheduler == chain.scheduler);
    let environment = |source: &str| source.ends_with("/environ");
    let is_denied = chain
        .conflicts
        .iter()
        .any(|one| one.what != "subidentifier" && environment(&one.source));
    of_it.next().is_some() && !is_denied
}

fn of_group(limits: &NearestLimits, job: &mut JobRecord) {
    let told = [
        (&limits.memory, "memory_limit"),
        (&limits.cores_cpuset, "cpus_allocated"),
    ];
    for (claim, column) in told {
        if let Some(claim) = claim {
            tell(job, column, claim, Trust::Enforced);
        }
    }
}

fn of_labels(labels: &Labels, env: &dyn Fn(&str) -> Option<String>, job: &mut JobRecord) {
    let all = [
        ("user", labels.user),
        ("account", labels.account),
        ("partition", labels.partition),
        ("name", labels.name),
    ];
    for (column, variable) in all.into_iter().filter(|(_, variable)| !variable.is_empty()) {
        claim(job, column, env(variable).as_deref(), variable);
    }
}

fn claim(job: &mut JobRecord, column: &str, value: Option<&str>, source: &str) {
    job.tell_text(column, value, source, Trust::Claimed);
}

fn tell(job: &mut JobRecord, column: &str, claim: &Claim, trust: Trust) {
    if let Number::Whole(value) = claim.value {
        job.tell_int(column, Some(value), &claim.source, trust);
    }
}

/// The job and the index of `3_1`, `1234[7]` or `77.4`.
fn split(array: &str) -> (&str, &str) {
    let (job, index) = array.split_once(['_', '[', '.']).unwrap_or((array, ""));
    (job, index.trim_end_matches(']'))
}

#[cfg(test)]
mod tests {
    use super::super::chain;
    use super::*;
    use crate::query::proc_pid_cgroup;
    use record::job::JobValue;
    use record::unit::Unit;

    fn input(environ: &[u8]) -> Input {
        Input {
            pid: 9,
            groups: proc_pid_cgroup::parse(b"4:memory:/slurm_n1/uid_0/job_5/step_batch/task_0\n"),
            environ: environ.to_vec(),
            ..Input::default()
        }
    }

    fn told(environ: &[u8]) -> JobRecord {
        let input = input(environ);
        let limit = Claim {
            value: Number::Whole(300 << 20),
            unit: Unit::Bytes,
            source: "/x/job_5/memory.limit_in_bytes".to_owned(),
        };
        let limits = NearestLimits {
            memory: Some(limit),
            ..NearestLimits::default()
        };
        record(&chain::resolve(&input), &input, &limits).unwrap()
    }

    #[test]
    fn the_environment_tells_of_its_own_job_and_is_claimed() {
        let job = told(
            b"SLURM_JOB_ID=5\0SLURM_ARRAY_JOB_ID=3\0SLURM_ARRAY_TASK_ID=1\0SLURM_MEM_PER_NODE=300\0\
              SLURM_JOB_ACCOUNT=physics\0SLURM_JOB_NAME=sweep\0",
        );
        assert_eq!(job.text("identifier"), Some("5"));
        assert_eq!(
            (job.text("array_job"), job.text("array_task")),
            (Some("3"), Some("1"))
        );
        assert_eq!(job.text("account"), Some("physics"));
        let trust = |column: &str| job.fact(column).map(|fact| fact.trust);
        assert_eq!(trust("memory_requested"), Some(Trust::Claimed));
        assert_eq!(trust("memory_limit"), Some(Trust::Enforced));
    }

    #[test]
    fn a_cpuset_counts_more_than_what_the_environment_says() {
        let environ = b"SLURM_JOB_ID=5\0SLURM_STEP_ID=0\0SLURM_JOB_NUM_NODES=2\0\
                        SLURM_NNODES=1\0SLURM_JOB_CPUS_PER_NODE=8(x2)\0";
        let job = told(environ);
        let int = |job: &JobRecord, column: &str| {
            let fact = job.fact(column).unwrap();
            (fact.value.clone(), fact.trust)
        };
        let eight = (JobValue::Int(8), Trust::Claimed);
        assert_eq!(int(&job, "cpus_allocated"), eight);
        assert_eq!(int(&job, "nodes").0, JobValue::Int(2));
        let input = input(environ);
        let limits = NearestLimits {
            cores_cpuset: Some(Claim {
                value: Number::Whole(4),
                unit: Unit::Cores,
                source: "/x/job_5/cpuset.cpus".to_owned(),
            }),
            ..NearestLimits::default()
        };
        let job = record(&chain::resolve(&input), &input, &limits).unwrap();
        let four = (JobValue::Int(4), Trust::Enforced);
        assert_eq!(int(&job, "cpus_allocated"), four);
    }

    #[test]
    fn the_environment_of_another_job_tells_nothing() {
        let job = told(b"SLURM_JOB_ID=6\0SLURM_JOB_ACCOUNT=physics\0SLURM_MEM_PER_NODE=300\0");
        assert_eq!(job.text("identifier"), Some("5"));
        assert_eq!(
            (job.fact("account"), job.fact("memory_requested")),
            (None, None)
        );
        assert!(job.fact("memory_limit").is_some());
    }

    #[test]
    fn a_login_is_no_job() {
        let mut input = input(b"");
        input.groups = proc_pid_cgroup::parse(b"0::/user.slice/user-0.slice/session-1.scope\n");
        let chain = chain::resolve(&input);
        assert_eq!(record(&chain, &input, &NearestLimits::default()), None);
    }

    #[test]
    fn every_writing_of_an_array_is_split() {
        for (array, parts) in [
            ("3_1", ("3", "1")),
            ("1234[7]", ("1234", "7")),
            ("77.4", ("77", "4")),
            ("7", ("7", "")),
        ] {
            assert_eq!(split(array), parts);
        }
    }
}
