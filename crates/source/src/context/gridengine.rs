//! Grid Engine and its descendants: `JOB_ID` with `SGE_TASK_ID` (`undefined` outside arrays),
//! `NSLOTS`, `NHOSTS`, `PE_HOSTFILE` (lines of `host slots queue ...`). Memory is not in the
//! environment.

use super::daemon::Daemon;
use super::group_path::{Found, GroupPath, digits};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};
use record::unit::Unit;
use std::ops::RangeInclusive;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "gridengine",
    tier: Tier::Batch,
    words: &["sge", "uge", "gridengine"],
    labels: Labels {
        user: "SGE_O_LOGNAME",
        account: "SGE_ACCOUNT",
        partition: "QUEUE",
        name: "JOB_NAME",
    },
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    // JOB_ID alone may be anybody's.
    let task = all.text("SGE_TASK_ID")?;
    let id = all.text("JOB_ID")?;
    let mut context = Context::of(SCHEDULER.name, id.clone());
    context.job.array = task.parse::<u64>().ok().map(|task| format!("{id}.{task}"));
    context.nodes = all.count("NHOSTS");
    if context.nodes.is_none_or(|hosts| hosts == 1) {
        context.ask("cores", Unit::Cores, all.count("NSLOTS"), "NSLOTS");
    } else {
        let slots = slots_here(all);
        context.ask("cores", Unit::Cores, slots, "PE_HOSTFILE");
    }
    Some(context)
}

/// The slots on this host, whose name may be written with or without its domain.
fn slots_here(all: &Surroundings<'_>) -> Option<u64> {
    let short = |host: &str| host.split('.').next().unwrap_or(host).to_owned();
    let here = short(&all.text("HOSTNAME")?);
    all.lines("PE_HOSTFILE")?.iter().find_map(|line| {
        let mut words = line.split_whitespace();
        (short(words.next()?) == here).then_some(())?;
        words.next()?.parse().ok()
    })
}

/// Units of the daemon; where jobs have no groups they are in its.
const UNITS: &[&str] = &[
    "sgeexecd.service",
    "sge_execd.service",
    "gridengine-exec.service",
];

/// `/sge/ID.TASK`, with the names of its descendants for `sge`, and
/// `/sge.slice/sge-ID.TASK.slice`.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    if path.is_in_unit(UNITS) {
        return Found::unnamed();
    }
    let tops = ["sge", "SGE", "uge", "UGE", "gridengine"];
    let sliced = tops.iter().find_map(|top| path.in_slice(top));
    let plain = || {
        let at = path.below_slices()?;
        let is_top = tops.contains(&path.part(at)?);
        Some((at + 2, path.part(at + 1).filter(|_| is_top)?.to_owned()))
    };
    let (depth, name) = sliced.or_else(plain)?;
    let (job, task) = name.split_once('.').unwrap_or((&name, ""));
    Some(Found {
        job: Some(digits(job)?.to_owned()),
        step: digits(task).map(str::to_owned),
        depth,
        ..Found::default()
    })
}

/// `sge_shepherd-ID -bg`.
fn daemon(daemon: &Daemon) -> Option<Found> {
    let program = daemon.program();
    let job = program.strip_prefix("sge_shepherd-")?;
    Some(Found {
        job: digits(job).map(str::to_owned),
        ..Found::default()
    })
}

/// Each job gets a supplementary group id of the range in the configuration (`gid_range`), which no
/// process of it loses. It stands for the job, whose id it does not tell.
pub(super) fn supplementary(groups: &[u32], range: &RangeInclusive<u32>) -> Option<Found> {
    let gid = groups.iter().find(|gid| range.contains(gid))?;
    Some(Found {
        stand_in: Some(format!("gid-{gid}")),
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
    fn an_array_task_is_named_after_its_job() {
        let environment = [("JOB_ID", "77"), ("SGE_TASK_ID", "4"), ("NSLOTS", "6")];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(context.job.array.as_deref(), Some("77.4"));
        assert_eq!(asked(&context, "cores"), Some((6, "NSLOTS")));
    }

    #[test]
    fn of_many_hosts_the_slots_of_this_one_count() {
        let environment = [
            ("JOB_ID", "77"),
            ("SGE_TASK_ID", "undefined"),
            ("NSLOTS", "12"),
            ("NHOSTS", "2"),
            ("HOSTNAME", "n2"),
            ("PE_HOSTFILE", "/pe"),
        ];
        let files = [(
            "/pe",
            "n1.site 8 all.q@n1.site UNDEFINED\nn2.site 4 all.q x\n",
        )];
        let context = recorded(detect, &environment, &files, "").unwrap();
        assert_eq!(asked(&context, "cores"), Some((4, "PE_HOSTFILE")));
        assert_eq!((context.job.array, context.nodes), (None, Some(2)));
        assert!(recorded(detect, &[("JOB_ID", "77")], &[], "").is_none());
    }

    #[test]
    fn groups_shepherds_and_group_ids_tell_the_job() {
        for path in ["/sge/77.4", "/system.slice/UGE/77.4/x"] {
            let depth = if path.starts_with("/sge") { 2 } else { 3 };
            assert_eq!(found(group, path), told("77", "-", "4", depth), "{path}");
        }
        let sliced = found(group, "/sge.slice/sge-77.4.slice/x");
        assert_eq!(sliced, told("77", "-", "4", 2));
        for none in ["/sge", "/sge/x.4", "/x/sge/77.4"] {
            assert_eq!(found(group, none), None, "{none}");
        }
        let shepherd = daemon(&of_root(b"sge_shepherd-77\0-bg\0")).unwrap();
        assert_eq!(shepherd.job.as_deref(), Some("77"));
        let given = supplementary(&[100, 20007], &(20000..=20100)).unwrap();
        assert_eq!(given.stand_in.as_deref(), Some("gid-20007"));
        assert_eq!(supplementary(&[100], &(20000..=20100)), None);
    }
}
