//! PBS: OpenPBS and PBS Professional (`NCPUS`, `PBS_ARRAY_INDEX`), TORQUE (`PBS_NUM_PPN`,
//! `PBS_ARRAYID`, `PBS_WALLTIME` in seconds). Memory is not in their environment.

use super::surroundings::{Context, Scheduler, Surroundings, secs};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "pbs",
    detect,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let id = all.text("PBS_JOBID")?;
    let index = all
        .text("PBS_ARRAY_INDEX")
        .or_else(|| all.text("PBS_ARRAYID"));
    let mut context = Context::of(SCHEDULER.name, id.clone());
    context.job.array = index.map(|index| array(&id, &index));
    context.nodes = all.count("PBS_NUM_NODES").or_else(|| hosts(all));
    if let Some((cores, source)) = all.first_count(&["PBS_NUM_PPN", "NCPUS"]) {
        context.ask("cores", Unit::Cores, Some(cores), source);
    } else if context.nodes == Some(1) {
        context.ask("cores", Unit::Cores, all.count("PBS_NP"), "PBS_NP");
    }
    let wall = all.count("PBS_WALLTIME").and_then(secs);
    context.ask("wall", Unit::Nanoseconds, wall, "PBS_WALLTIME");
    if context.nodes == Some(1) {
        let gpus = all
            .lines("PBS_GPUFILE")
            .map(|lines| lines.iter().filter(|line| !line.trim().is_empty()).count());
        let gpus = gpus
            .and_then(|gpus| u64::try_from(gpus).ok())
            .filter(|gpus| *gpus > 0);
        context.ask("gpus", Unit::Count, gpus, "PBS_GPUFILE");
    }
    Some(context)
}

/// `1234[7]` from the job `1234[7].server` (or `1234[].server`, or TORQUE's `1234-7.server`) and
/// the index 7.
fn array(id: &str, index: &str) -> String {
    let job = id
        .split(['[', '.', '-'])
        .next()
        .filter(|job| !job.is_empty());
    format!("{}[{index}]", job.unwrap_or(id))
}

/// Different hosts in the list of hosts.
fn hosts(all: &Surroundings<'_>) -> Option<u64> {
    let mut hosts = all.lines("PBS_NODEFILE")?;
    hosts.retain(|host| !host.trim().is_empty());
    hosts.sort_unstable();
    hosts.dedup();
    u64::try_from(hosts.len()).ok().filter(|hosts| *hosts > 0)
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::recorded::{asked, detect as recorded};
    use super::*;

    #[test]
    fn openpbs_tells_cores_and_index() {
        let environment = [
            ("PBS_JOBID", "1234[7].pbs1"),
            ("PBS_ARRAY_INDEX", "7"),
            ("PBS_ARRAY_ID", "1234[].pbs1"),
            ("NCPUS", "8"),
            ("PBS_NODEFILE", "/var/spool/pbs/aux/1234"),
        ];
        let files = [("/var/spool/pbs/aux/1234", "n1\nn1\nn2\n")];
        let context = recorded(detect, &environment, &files, "").unwrap();
        assert_eq!(context.job.array.as_deref(), Some("1234[7]"));
        assert_eq!(asked(&context, "cores"), Some((8, "NCPUS")));
        assert_eq!(context.nodes, Some(2));
    }

    #[test]
    fn torque_tells_wall_time_and_gpus() {
        let environment = [
            ("PBS_JOBID", "88-3.torque.site"),
            ("PBS_ARRAYID", "3"),
            ("PBS_NUM_NODES", "1"),
            ("PBS_NUM_PPN", "4"),
            ("PBS_NP", "4"),
            ("PBS_WALLTIME", "3600"),
            ("PBS_GPUFILE", "/gpus"),
        ];
        let files = [("/gpus", "n1-gpu0\nn1-gpu1\n")];
        let context = recorded(detect, &environment, &files, "").unwrap();
        assert_eq!(context.job.array.as_deref(), Some("88[3]"));
        assert_eq!(asked(&context, "cores"), Some((4, "PBS_NUM_PPN")));
        let wall = Some((3_600_000_000_000, "PBS_WALLTIME"));
        assert_eq!(asked(&context, "wall"), wall);
        assert_eq!(asked(&context, "gpus"), Some((2, "PBS_GPUFILE")));
        assert!(recorded(detect, &[("NCPUS", "4")], &[], "").is_none());
    }
}
