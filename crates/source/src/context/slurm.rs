//! Slurm: the output variables of `sbatch(1)` and `srun(1)`. Memory is in MiB there; arrays are
//! written as `squeue` shows them, `ARRAYJOB_TASK`.

use super::daemon::Daemon;
use super::group_path::{self, Found, GroupPath, digits};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier, Whole, mib, secs};
use record::report::Claim;
use record::unit::Unit;
use record::value::Number;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "slurm",
    tier: Tier::Batch,
    words: &["slurm"],
    labels: Labels {
        user: "SLURM_JOB_USER",
        account: "SLURM_JOB_ACCOUNT",
        partition: "SLURM_JOB_PARTITION",
        name: "SLURM_JOB_NAME",
    },
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let id = all
        .text("SLURM_JOB_ID")
        .or_else(|| all.text("SLURM_JOBID"))?;
    let mut context = Context::of(SCHEDULER.name, id);
    if let (Some(job), Some(task)) = (
        all.text("SLURM_ARRAY_JOB_ID"),
        all.text("SLURM_ARRAY_TASK_ID"),
    ) {
        context.job.array = Some(format!("{job}_{task}"));
    }
    context.job.step = all
        .text("SLURM_STEP_ID")
        .or_else(|| all.text("SLURM_STEPID"));
    let step = context.job.step.is_some();
    context.nodes = match step {
        true => all.first_count(&["SLURM_STEP_NUM_NODES", "SLURM_NNODES"]),
        false => all.first_count(&["SLURM_JOB_NUM_NODES", "SLURM_NNODES"]),
    }
    .map(|(nodes, _)| nodes);
    context.whole = Whole {
        nodes: all.count("SLURM_JOB_NUM_NODES"),
        cores: cores_here(all, step),
    };
    ask_cores(all, &mut context, step);
    ask_memory(all, &mut context);
    if let (Some(start), Some(end)) = (
        all.count("SLURM_JOB_START_TIME"),
        all.count("SLURM_JOB_END_TIME"),
    ) {
        let wall = end.checked_sub(start).and_then(secs);
        context.ask("wall", Unit::Nanoseconds, wall, "SLURM_JOB_END_TIME");
    }
    if let Some((gpus, source)) = gpus(all, step) {
        context.ask("gpus", Unit::Count, Some(gpus), source);
    }
    context.image = all.text("SLURM_CONTAINER");
    Some(context)
}

/// CPUs of the job on this node: what each node has if that is the same, `2(x3)`; which entry of
/// `2(x3),1` is this node's only a batch script knows, which runs on the first.
fn cores_here(all: &Surroundings<'_>, step: bool) -> Option<Claim> {
    let source = "SLURM_JOB_CPUS_PER_NODE";
    let list = all.text(source)?;
    let is_one = !list.contains(',');
    let first = list.split(['(', ',']).next()?.parse().ok();
    let cores = first.filter(|_| is_one || !step)?;
    Some(Claim {
        value: Number::Whole(cores),
        unit: Unit::Cores,
        source: source.to_owned(),
    })
}

/// A task of a step has its own cores; a batch script has those of the tasks on its node.
fn ask_cores(all: &Surroundings<'_>, context: &mut Context, step: bool) {
    let each = all.count("SLURM_CPUS_PER_TASK");
    let tasks_here = if step { Some(1) } else { tasks_here(all) };
    if let (Some(each), Some(tasks)) = (each, tasks_here) {
        let source = match tasks {
            1 => "SLURM_CPUS_PER_TASK",
            _ => "SLURM_CPUS_PER_TASK x SLURM_TASKS_PER_NODE",
        };
        context.ask("cores", Unit::Cores, each.checked_mul(tasks), source);
    } else if !step || all.count("SLURM_STEP_NUM_TASKS") == Some(1) {
        let cores = all.count("SLURM_CPUS_ON_NODE");
        context.ask("cores", Unit::Cores, cores, "SLURM_CPUS_ON_NODE");
    }
}

/// Tasks on the first node, where the batch script runs: `2(x3),1` is 2. One if none are told.
fn tasks_here(all: &Surroundings<'_>) -> Option<u64> {
    let Some(list) = all.text("SLURM_TASKS_PER_NODE") else {
        return Some(1);
    };
    list.split(['(', ',']).next()?.parse().ok()
}

fn ask_memory(all: &Surroundings<'_>, context: &mut Context) {
    let per_cpu = all.count("SLURM_MEM_PER_CPU");
    let per_gpu = all.count("SLURM_MEM_PER_GPU");
    let times = |mebibytes: Option<u64>, number: Option<u64>| mebibytes?.checked_mul(number?);
    let (total, source) = if let Some(total) = all.count("SLURM_MEM_PER_NODE") {
        (Some(total), "SLURM_MEM_PER_NODE")
    } else if per_cpu.is_some() {
        let cores = all.count("SLURM_CPUS_ON_NODE");
        (
            times(per_cpu, cores),
            "SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE",
        )
    } else {
        let gpus = gpus(all, false).map(|(gpus, _)| gpus);
        (times(per_gpu, gpus), "SLURM_MEM_PER_GPU x GPUs")
    };
    context.ask("memory", Unit::Bytes, total.and_then(mib), source);
}

/// GPUs on this node: a number, or a list of their indices.
fn gpus(all: &Surroundings<'_>, step: bool) -> Option<(u64, &'static str)> {
    if let Some(gpus) = all.count("SLURM_GPUS_ON_NODE") {
        return Some((gpus, "SLURM_GPUS_ON_NODE"));
    }
    let source = if step {
        "SLURM_STEP_GPUS"
    } else {
        "SLURM_JOB_GPUS"
    };
    let list = all.text(source)?;
    u64::try_from(list.split(',').count())
        .ok()
        .map(|gpus| (gpus, source))
}

/// Letters of the base 32 that SLUIDs are written in.
const BASE_32: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// An `s` and 13 digits.
const SLUID_BYTES: usize = 14;

/// Version 1: `/slurm/uid_U/job_J/step_S/task_T`, with `slurm_NODE` where a machine may run several
/// slurmd. Version 2: `/system.slice/slurmstepd.scope/job_J/step_S/user/task_T`, with
/// `NODE_slurmstepd.scope`, in another slice (`CgroupSlice`), and from Slurm 26.05 on with the
/// SLUID for `job_J` (unless `CgroupJobIdPaths=yes`).
fn group(path: &GroupPath<'_>) -> Option<Found> {
    let (at, is_v1) = scope(path)?;
    let Some(name) = path.part(at) else {
        return Found::unnamed();
    };
    let step = path
        .part(at + 1)
        .and_then(|part| part.strip_prefix("step_"));
    let job = name.strip_prefix("job_").and_then(digits);
    let sluid = Some(name).filter(|name| !is_v1 && is_sluid(name));
    // Of slurmd and slurmstepd themselves.
    if name == "system" {
        return Found::unnamed();
    }
    job.or(sluid)?;
    Some(Found {
        job: job.map(str::to_owned),
        stand_in: sluid.map(str::to_owned),
        step: step.and_then(group_path::name),
        depth: at + 1,
    })
}

/// The place of the job's component, and whether the layout is that of version 1.
fn scope(path: &GroupPath<'_>) -> Option<(usize, bool)> {
    let first = path.part(0)?;
    if first == "slurm" || first.starts_with("slurm_") {
        let Some(user) = path.part(1) else {
            return Some((1, true));
        };
        let is_user = user.strip_prefix("uid_").and_then(digits).is_some();
        return (is_user || user == "system").then_some((if is_user { 2 } else { 1 }, true));
    }
    let at = path.below_slices()?;
    let scope = path.part(at)?;
    let is_scope = scope == "slurmstepd.scope" || scope.ends_with("_slurmstepd.scope");
    is_scope.then_some((at + 1, false))
}

fn is_sluid(name: &str) -> bool {
    let digits = name.strip_prefix('s').unwrap_or_default();
    name.len() == SLUID_BYTES && digits.chars().all(|digit| BASE_32.contains(digit))
}

/// `slurmstepd: [7.0]`, `[7.batch]`, `[7.extern]`; `[7]` by old versions.
fn daemon(daemon: &Daemon) -> Option<Found> {
    (daemon.program() == "slurmstepd").then_some(())?;
    let first = daemon.first();
    let told = first
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let (job, step) = match told {
        Some((told, _)) => told.rsplit_once('.').unwrap_or((told, "")),
        None => ("", ""),
    };
    Some(Found {
        job: digits(job).map(str::to_owned),
        step: group_path::name(step),
        ..Found::default()
    })
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::super::surroundings::recorded::{asked, detect as recorded};
    use super::*;

    #[test]
    fn an_array_task_reads_as_squeue_shows_it() {
        let environment = [
            ("SLURM_JOB_ID", "5"),
            ("SLURM_ARRAY_JOB_ID", "3"),
            ("SLURM_ARRAY_TASK_ID", "1"),
            ("SLURM_CPUS_PER_TASK", "4"),
            ("SLURM_CPUS_ON_NODE", "4"),
            ("SLURM_TASKS_PER_NODE", "1"),
            ("SLURM_MEM_PER_NODE", "2000"),
            ("SLURM_JOB_START_TIME", "1795226287"),
            ("SLURM_JOB_END_TIME", "1795229887"),
            ("SLURM_JOB_NUM_NODES", "1"),
            ("SLURM_JOB_GPUS", "0,2"),
        ];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(context.job.array.as_deref(), Some("3_1"));
        assert_eq!(context.job.id.as_deref(), Some("5"));
        assert_eq!(
            (context.job.step.as_deref(), context.nodes),
            (None, Some(1))
        );
        assert_eq!(asked(&context, "cores"), Some((4, "SLURM_CPUS_PER_TASK")));
        let memory = Some((2000 << 20, "SLURM_MEM_PER_NODE"));
        assert_eq!(asked(&context, "memory"), memory);
        let wall = Some((3_600_000_000_000, "SLURM_JOB_END_TIME"));
        assert_eq!(asked(&context, "wall"), wall);
        assert_eq!(asked(&context, "gpus"), Some((2, "SLURM_JOB_GPUS")));
    }

    #[test]
    fn memory_per_cpu_is_multiplied_and_tasks_share_a_node() {
        let environment = [
            ("SLURM_JOBID", "9"),
            ("SLURM_CPUS_PER_TASK", "2"),
            ("SLURM_TASKS_PER_NODE", "3(x2),1"),
            ("SLURM_CPUS_ON_NODE", "6"),
            ("SLURM_MEM_PER_CPU", "1024"),
            ("SLURM_NNODES", "3"),
        ];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(asked(&context, "cores").unwrap().0, 6);
        assert_eq!(asked(&context, "memory").unwrap().0, 6 << 30);
        assert_eq!(context.nodes, Some(3));
    }

    #[test]
    fn a_task_of_a_step_has_its_own_cores() {
        let environment = [
            ("SLURM_JOB_ID", "9"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_CPUS_PER_TASK", "2"),
            ("SLURM_TASKS_PER_NODE", "3"),
            ("SLURM_STEP_NUM_NODES", "2"),
        ];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(asked(&context, "cores"), Some((2, "SLURM_CPUS_PER_TASK")));
        assert_eq!(context.job.step.as_deref(), Some("0"));
        assert_eq!(context.nodes, Some(2));
    }

    /// As srun tells a task on one of two nodes, of a step on one node.
    #[test]
    fn a_step_tells_what_the_whole_job_has() {
        let environment = |cpus| {
            [
                ("SLURM_JOB_ID", "9"),
                ("SLURM_STEP_ID", "1"),
                ("SLURM_JOB_CPUS_PER_NODE", cpus),
                ("SLURM_CPUS_ON_NODE", "1"),
                ("SLURM_JOB_NUM_NODES", "2"),
                ("SLURM_NNODES", "1"),
                ("SLURM_STEP_NUM_NODES", "1"),
                ("SLURM_STEP_NUM_TASKS", "2"),
            ]
        };
        let of = |environment: &[(&str, &str)]| {
            let whole = recorded(detect, environment, &[], "").unwrap().whole;
            let cores = whole.cores.map(|cores| cores.value);
            (whole.nodes, cores)
        };
        let cores = |cores| Some(Number::Whole(cores));
        assert_eq!(of(&environment("2(x2)")), (Some(2), cores(2)));
        assert_eq!(of(&environment("4")), (Some(2), cores(4)));
        // Which of them is this one it does not say.
        assert_eq!(of(&environment("2(x2),1")), (Some(2), None));
        let batch = [
            ("SLURM_JOB_ID", "9"),
            ("SLURM_JOB_CPUS_PER_NODE", "2(x2),1"),
        ];
        assert_eq!(of(&batch), (None, cores(2)));
    }

    #[test]
    fn all_memory_of_the_node_is_no_number() {
        let environment = [("SLURM_JOB_ID", "9"), ("SLURM_MEM_PER_NODE", "0")];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(asked(&context, "memory"), None);
        assert!(recorded(detect, &[("SLURM_CPUS_ON_NODE", "4")], &[], "").is_none());
    }

    #[test]
    fn every_layout_of_groups_names_its_job_and_step() {
        let at = |path| found(group, path);
        for (path, depth) in [
            ("/slurm/uid_1000/job_7/step_batch/task_0", 3),
            ("/slurm_n1.site.example/uid_0/job_7/step_batch", 3),
            (
                "/system.slice/slurmstepd.scope/job_7/step_batch/user/task_special",
                3,
            ),
            (
                "/system.slice/n1.site_slurmstepd.scope/job_7/step_batch/slurm",
                3,
            ),
            (
                "/site.slice/site-slurm.slice/slurmstepd.scope/job_7/step_batch",
                4,
            ),
        ] {
            assert_eq!(at(path), told("7", "-", "batch", depth), "{path}");
        }
        let sluid = "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0";
        assert_eq!(at(sluid), told("-", "s5K1KKYAYG5D00", "0", 3));
        assert_eq!(at("/slurm/uid_0/job_7"), told("7", "-", "-", 3));
        for own in [
            "/slurm_n1",
            "/slurm_n1/system",
            "/system.slice/slurmstepd.scope/system",
        ] {
            assert_eq!(at(own), told("-", "-", "-", 0), "{own}");
        }
    }

    #[test]
    fn groups_that_only_look_alike_are_none() {
        for path in [
            "/",
            "/job_7/step_0",
            "/slurm/job_7",
            "/slurm/uid_x/job_7",
            "/slurm/uid_0/job_",
            "/slurm/uid_0/job_7x",
            "/slurmstepd.scope.d/job_7",
            "/docker/x/slurmstepd.scope/job_7",
            "/system.slice/slurmstepd.scope/s5K1KKYAYG5D0",
            "/system.slice/slurmstepd.scope/s5K1KKYAYG5D0I",
            "/system.slice/slurmstepd.scope/jobs/7",
            "/system.slice/slurmd.service",
        ] {
            assert_eq!(found(group, path), None, "{path}");
        }
    }

    #[test]
    fn the_step_daemon_says_whose_it_is() {
        let said = |command: &[u8]| daemon(&of_root(command)).map(|it| (it.job, it.step));
        let job = |job: &str, step: &str| {
            let text = |it: &str| (!it.is_empty()).then(|| it.to_owned());
            Some((text(job), text(step)))
        };
        assert_eq!(said(b"slurmstepd: [7.0]     \0"), job("7", "0"));
        assert_eq!(said(b"slurmstepd: [7.extern]\0"), job("7", "extern"));
        assert_eq!(said(b"slurmstepd: [7]\0"), job("7", ""));
        assert_eq!(said(b"/usr/sbin/slurmstepd infinity\0"), job("", ""));
        assert_eq!(said(b"slurmstepd-wrapper: [7.0]\0"), None);
    }
}
