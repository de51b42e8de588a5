//! Grid Engine and its descendants: `JOB_ID` with `SGE_TASK_ID` (`undefined` outside arrays),
//! `NSLOTS`, `NHOSTS`, `PE_HOSTFILE` (lines of `host slots queue ...`). Memory is not in the
//! environment.

use super::surroundings::{Context, Scheduler, Surroundings};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "gridengine",
    detect,
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

#[cfg(test)]
mod tests {
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
}
