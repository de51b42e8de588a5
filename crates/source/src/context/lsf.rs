//! LSF: `LSB_JOBID`, `LSB_JOBINDEX` (0 outside arrays), `LSB_MCPU_HOSTS` (`host slots` pairs, the
//! first is where the script runs), `LSB_CG_MEMLIMIT` (bytes in hexadecimal, where control groups
//! enforce it).

use super::daemon::Daemon;
use super::group_path::{Found, GroupPath, digits};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "lsf",
    tier: Tier::Batch,
    words: &["lsf"],
    labels: Labels {
        user: "LSFUSER",
        account: "LSB_PROJECT_NAME",
        partition: "LSB_QUEUE",
        name: "LSB_JOBNAME",
    },
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    let id = all.text("LSB_JOBID")?;
    let mut context = Context::of(SCHEDULER.name, id.clone());
    let index = all.count("LSB_JOBINDEX");
    context.job.array = index.map(|index| format!("{id}[{index}]"));
    if let Some(hosts) = all.text("LSB_MCPU_HOSTS") {
        let words: Vec<&str> = hosts.split_whitespace().collect();
        context.nodes = u64::try_from(words.len() / 2)
            .ok()
            .filter(|nodes| *nodes > 0);
        let slots = words.get(1).and_then(|slots| slots.parse().ok());
        context.ask("cores", Unit::Cores, slots, "LSB_MCPU_HOSTS");
    }
    if context.nodes.is_none_or(|nodes| nodes == 1) && !context.request.contains_key("cores") {
        let slots = all.count("LSB_DJOB_NUMPROC");
        context.ask("cores", Unit::Cores, slots, "LSB_DJOB_NUMPROC");
    }
    let memory = all
        .text("LSB_CG_MEMLIMIT")
        .and_then(|limit| u64::from_str_radix(limit.strip_prefix("0x")?, 16).ok())
        .filter(|limit| *limit > 0);
    context.ask("memory", Unit::Bytes, memory, "LSB_CG_MEMLIMIT");
    context.image = all.text("LSB_CONTAINER_IMAGE");
    Some(context)
}

/// Units of the daemons; where jobs have no groups they are in its.
const UNITS: &[&str] = &["lsfd.service", "lsf.service"];

/// `/lsf/CLUSTER/job.ID.PID.TIME`; what is behind the id are numbers of the start.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    if path.is_in_unit(UNITS) {
        return Found::unnamed();
    }
    let at = path.below_slices()?;
    (path.part(at)? == "lsf").then_some(())?;
    let name = path.part(at + 2)?.strip_prefix("job.")?;
    let id = name.split('.').next()?;
    let (job, rest) = id.split_once('[').unwrap_or((id, ""));
    let index = rest.strip_suffix(']').and_then(digits);
    Some(Found {
        job: Some(digits(job)?.to_owned()),
        step: index.map(str::to_owned),
        depth: at + 3,
        ..Found::default()
    })
}

/// The daemons do not say which job they started.
fn daemon(daemon: &Daemon) -> Option<Found> {
    ["sbatchd", "res"]
        .contains(&daemon.program().as_ref())
        .then(Found::default)
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::super::surroundings::recorded::{asked, detect as recorded};
    use super::*;

    #[test]
    fn the_first_host_is_where_the_script_runs() {
        let environment = [
            ("LSB_JOBID", "4711"),
            ("LSB_JOBINDEX", "12"),
            ("LSB_MCPU_HOSTS", "hostA 8 hostB 4"),
            ("LSB_DJOB_NUMPROC", "12"),
            ("LSB_CG_MEMLIMIT", "0x80000000"),
        ];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(context.job.array.as_deref(), Some("4711[12]"));
        assert_eq!(asked(&context, "cores"), Some((8, "LSB_MCPU_HOSTS")));
        let memory = Some((2 << 30, "LSB_CG_MEMLIMIT"));
        assert_eq!(asked(&context, "memory"), memory);
        assert_eq!(context.nodes, Some(2));
    }

    #[test]
    fn index_0_is_no_array() {
        let environment = [
            ("LSB_JOBID", "4711"),
            ("LSB_JOBINDEX", "0"),
            ("LSB_DJOB_NUMPROC", "2"),
        ];
        let context = recorded(detect, &environment, &[], "").unwrap();
        assert_eq!(context.job.array, None);
        assert_eq!(asked(&context, "cores"), Some((2, "LSB_DJOB_NUMPROC")));
    }

    #[test]
    fn groups_begin_with_the_id() {
        let path = "/lsf/cluster1.site/job.4711.22312.1407856233";
        assert_eq!(found(group, path), told("4711", "-", "-", 3));
        let element = found(group, "/lsf/c/job.4711[12].22312.1407856233/x");
        assert_eq!(element, told("4711", "-", "12", 3));
        let own = found(group, "/system.slice/lsfd.service");
        assert_eq!(own, told("-", "-", "-", 0));
        for none in [
            "/lsf/c",
            "/lsf/c/job.x.1.2",
            "/lsf/c/other.1",
            "/a/lsf/c/job.1.2.3",
        ] {
            assert_eq!(found(group, none), None, "{none}");
        }
        assert!(daemon(&of_root(b"/opt/lsf/10.1/linux/etc/sbatchd\0")).is_some());
        assert!(daemon(&of_root(b"/usr/bin/resolve\0")).is_none());
    }
}
