//! Slurm: the output variables of `sbatch(1)` and `srun(1)`. Memory is in MiB there; arrays are
//! written as `squeue` shows them, `ARRAYJOB_TASK`.

use super::surroundings::{Context, Scheduler, Surroundings, mib, secs};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "slurm",
    detect,
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

#[cfg(test)]
mod tests {
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

    #[test]
    fn all_memory_of_the_node_is_no_number() {
        let environment = [("SLURM_JOB_ID", "9"), ("SLURM_MEM_PER_NODE", "0")];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(asked(&context, "memory"), None);
        assert!(recorded(detect, &[("SLURM_CPUS_ON_NODE", "4")], &[], "").is_none());
    }
}
