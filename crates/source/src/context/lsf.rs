//! LSF: `LSB_JOBID`, `LSB_JOBINDEX` (0 outside arrays), `LSB_MCPU_HOSTS` (`host slots` pairs, the
//! first is where the script runs), `LSB_CG_MEMLIMIT` (bytes in hexadecimal, where control groups
//! enforce it).

use super::surroundings::{Context, Scheduler, Surroundings};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "lsf",
    detect,
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

#[cfg(test)]
mod tests {
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
}
