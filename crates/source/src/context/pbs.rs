//! PBS: OpenPBS and PBS Professional (`NCPUS`, `PBS_ARRAY_INDEX`), TORQUE (`PBS_NUM_PPN`,
//! `PBS_ARRAYID`, `PBS_WALLTIME` in seconds). Memory is not in their environment.

use super::daemon::Daemon;
use super::group_path::{self, Found, GroupPath};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier, secs};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "pbs",
    tier: Tier::Batch,
    words: &["pbs", "torque"],
    labels: Labels {
        user: "PBS_O_LOGNAME",
        account: "PBS_ACCOUNT",
        partition: "PBS_QUEUE",
        name: "PBS_JOBNAME",
    },
    detect,
    group,
    daemon,
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

/// Units of the daemon; where jobs have no groups they are in its.
const UNITS: &[&str] = &[
    "pbs.service",
    "pbs_mom.service",
    "pbs-mom.service",
    "torque-mom.service",
];

/// `/pbs_jobs.service/jobid/ID` (version 1) or `/pbs_jobs.service/jobs/ID` (version 2) with or
/// without slices before, `/pbspro.slice/pbspro-ID.slice`, `/pbspro/ID`, and TORQUE's `/torque/ID`.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    if path.is_in_unit(UNITS) {
        return Found::unnamed();
    }
    let slices = ["pbs_jobs", "pbspro", "pbs"];
    let sliced = slices.iter().find_map(|slice| path.in_slice(slice));
    let (depth, id) = sliced.or_else(|| named(path))?;
    let is_id = id.starts_with(|first: char| first.is_ascii_digit());
    Some(Found {
        job: Some(group_path::name(&id).filter(|_| is_id)?),
        depth,
        ..Found::default()
    })
}

/// The component that is the job's id, with the number of those up to it.
fn named(path: &GroupPath<'_>) -> Option<(usize, String)> {
    let at = path.below_slices()?;
    let before = match path.part(at)? {
        "pbs_jobs.service" => {
            (["jobid", "jobs"].contains(&path.part(at + 1)?)).then_some(at + 1)?
        }
        "pbspro" | "pbs" | "torque" => at,
        _ => return None,
    };
    Some((before + 2, path.part(before + 1)?.to_owned()))
}

/// The daemon does not say which job it started.
fn daemon(daemon: &Daemon) -> Option<Found> {
    (daemon.program() == "pbs_mom").then(Found::default)
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
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

    #[test]
    fn groups_are_named_after_the_whole_id() {
        for (path, id, depth) in [
            (
                "/pbs_jobs.service/jobid/12345.pbs-1.site.example",
                "12345.pbs-1.site.example",
                3,
            ),
            (
                "/system.slice/pbs_jobs.service/jobs/1234[7].pbs1/x",
                "1234[7].pbs1",
                4,
            ),
            (
                "/pbspro.slice/pbspro-77.pbs\\x2d1.slice/a.scope",
                "77.pbs-1",
                2,
            ),
            ("/pbspro/77.pbs", "77.pbs", 2),
            (
                "/torque/8845236.nyx.site.example/0",
                "8845236.nyx.site.example",
                2,
            ),
        ] {
            assert_eq!(found(group, path), told(id, "-", "-", depth), "{path}");
        }
        let own = found(group, "/system.slice/pbs.service");
        assert_eq!(own, told("-", "-", "-", 0));
        for none in [
            "/pbs_jobs.service/other/1.a",
            "/pbspro/tmp",
            "/x/pbspro/1.a",
            "/pbspro",
        ] {
            assert_eq!(found(group, none), None, "{none}");
        }
        assert!(daemon(&of_root(b"/opt/pbs/sbin/pbs_mom\0")).is_some());
        assert!(daemon(&of_root(b"/usr/bin/pbs_mom_watch\0")).is_none());
    }
}
