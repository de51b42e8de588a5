//! HTCondor: the job's and the slot's description in files that `_CONDOR_JOB_AD` and
//! `_CONDOR_MACHINE_AD` name, lines of `Attribute = value`. Memory is in MiB there.

use super::daemon::Daemon;
use super::group_path::{self, Found, GroupPath};
use super::surroundings::{Context, Labels, Scheduler, Surroundings, Tier, mib, secs};
use record::unit::Unit;

/// Its row of the table of schedulers.
pub const SCHEDULER: Scheduler = Scheduler {
    name: "htcondor",
    tier: Tier::Batch,
    words: &["condor", "htcondor"],
    labels: Labels::NONE,
    detect,
    group,
    daemon,
};

fn detect(all: &Surroundings<'_>) -> Option<Context> {
    all.text("_CONDOR_SCRATCH_DIR")
        .or_else(|| all.text("_CONDOR_JOB_AD"))?;
    let job = Description(all.lines("_CONDOR_JOB_AD").unwrap_or_default());
    let slot = Description(all.lines("_CONDOR_MACHINE_AD").unwrap_or_default());
    let mut context = Context::of(SCHEDULER.name, String::new());
    context.job.id = job.number("ClusterId").map(|cluster| {
        let process = job.number("ProcId").unwrap_or(0);
        format!("{cluster}.{process}")
    });
    let either = |asked: &str, given: &str| {
        let from_job = job.number(asked).map(|n| (n, format!("job ad {asked}")));
        let from_slot = || {
            slot.number(given)
                .map(|n| (n, format!("machine ad {given}")))
        };
        from_job.or_else(from_slot).filter(|(n, _)| *n > 0)
    };
    if let Some((cores, source)) = either("RequestCpus", "Cpus") {
        context.ask("cores", Unit::Cores, Some(cores), source);
    }
    if let Some((memory, source)) = either("RequestMemory", "Memory") {
        context.ask("memory", Unit::Bytes, mib(memory), source);
    }
    if let Some((gpus, source)) = either("RequestGPUs", "GPUs") {
        context.ask("gpus", Unit::Count, Some(gpus), source);
    }
    let wall = job.number("AllowedJobDuration").and_then(secs);
    let source = "job ad AllowedJobDuration";
    context.ask("wall", Unit::Nanoseconds, wall, source);
    context.nodes = Some(1);
    context.image = job
        .text("ContainerImage")
        .or_else(|| job.text("DockerImage"));
    Some(context)
}

/// Lines of `Attribute = value`; the case of the attribute does not count.
struct Description(Vec<String>);

impl Description {
    fn value(&self, attribute: &str) -> Option<&str> {
        self.0.iter().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            let same = name.trim().eq_ignore_ascii_case(attribute);
            same.then(|| value.trim())
        })
    }

    /// A literal number; an expression is not computed.
    fn number(&self, attribute: &str) -> Option<u64> {
        self.value(attribute)?.parse().ok()
    }

    fn text(&self, attribute: &str) -> Option<String> {
        let quoted = self.value(attribute)?;
        let text = quoted.strip_prefix('"')?.strip_suffix('"')?;
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// `/htcondor/condor_DIRECTORY_slot1_23@HOST` and the same below the unit of the daemon: the slot,
/// which stands for the job. Without the slot's group it is one of the daemon's processes.
fn group(path: &GroupPath<'_>) -> Option<Found> {
    let at = path.below_slices()?;
    let top = path.part(at)?;
    let is_unit = top == "condor.service";
    (is_unit || top == "htcondor").then_some(())?;
    let slot = path
        .part(at + 1)
        .filter(|part| part.starts_with("condor_"))
        .and_then(|part| part.rsplit_once("_slot"))
        .filter(|(_, slot)| slot.starts_with(|first: char| first.is_ascii_digit()));
    match slot {
        Some((_, slot)) => Some(Found {
            stand_in: Some(group_path::name(&format!("slot{slot}"))?),
            depth: at + 2,
            ..Found::default()
        }),
        None => is_unit.then(Found::default),
    }
}

/// The daemon does not say which job it started.
fn daemon(daemon: &Daemon) -> Option<Found> {
    (daemon.program() == "condor_starter").then(Found::default)
}

#[cfg(test)]
mod tests {
    use super::super::daemon::of_root;
    use super::super::group_path::recorded::{found, told};
    use super::super::surroundings::recorded::{asked, detect as recorded};
    use super::*;

    const ENVIRONMENT: &[(&str, &str)] = &[
        ("_CONDOR_SCRATCH_DIR", "/scratch/dir_1"),
        ("_CONDOR_JOB_AD", "/scratch/dir_1/.job.ad"),
        ("_CONDOR_MACHINE_AD", "/scratch/dir_1/.machine.ad"),
    ];

    #[test]
    fn the_job_ad_tells_what_was_asked() {
        let files = [(
            "/scratch/dir_1/.job.ad",
            "ClusterId = 31\nProcId = 4\nrequestcpus = 2\nRequestMemory = 3072\nRequestGPUs = 1\n\
             AllowedJobDuration = 7200\n\
             DockerImage = \"site/tools:3\"\nRequirements = (Memory = 1)\n",
        )];
        let context = recorded(detect, ENVIRONMENT, &files, "").unwrap();
        assert_eq!(context.job.id.as_deref(), Some("31.4"));
        assert_eq!(asked(&context, "cores"), Some((2, "job ad RequestCpus")));
        assert_eq!(asked(&context, "memory").unwrap().0, 3 << 30);
        assert_eq!(asked(&context, "wall").unwrap().0, 7_200_000_000_000);
        assert_eq!(asked(&context, "gpus").unwrap().0, 1);
        assert_eq!(context.image.as_deref(), Some("site/tools:3"));
    }

    #[test]
    fn an_expression_falls_back_to_the_slot() {
        let files = [
            (
                "/scratch/dir_1/.job.ad",
                "ClusterId = 31\nRequestMemory = ifThenElse(MemoryUsage =!= undefined, 1, 2)\n",
            ),
            (
                "/scratch/dir_1/.machine.ad",
                "Cpus = 4\nMemory = 8192\nGPUs = 0\n",
            ),
        ];
        let context = recorded(detect, ENVIRONMENT, &files, "").unwrap();
        let memory = Some((8 << 30, "machine ad Memory"));
        assert_eq!(asked(&context, "memory"), memory);
        assert_eq!(asked(&context, "gpus"), None);
        assert_eq!(context.job.id.as_deref(), Some("31.0"));
    }

    #[test]
    fn without_its_files_only_the_scheduler_is_known() {
        let context = recorded(detect, ENVIRONMENT, &[], "").unwrap();
        assert_eq!(context.job.scheduler.as_deref(), Some("htcondor"));
        assert_eq!(context.job.id, None);
    }

    #[test]
    fn groups_are_named_after_the_slot() {
        for (path, slot, depth) in [
            (
                "/htcondor/condor_var_lib_condor_execute_slot1_23@n1.site",
                "slot1_23@n1.site",
                2,
            ),
            (
                "/system.slice/htcondor/condor_scratch_slot2@n1",
                "slot2@n1",
                3,
            ),
            (
                "/system.slice/condor.service/condor_x_slot1_1@n1/y",
                "slot1_1@n1",
                3,
            ),
            ("/htcondor/condor_var_lib_condor_execute_slot1", "slot1", 2),
        ] {
            assert_eq!(found(group, path), told("-", slot, "-", depth), "{path}");
        }
        let own = found(group, "/system.slice/condor.service");
        assert_eq!(own, told("-", "-", "-", 0));
        for none in [
            "/htcondor",
            "/htcondor/condor_slotless",
            "/x/htcondor/condor_a_slot1",
        ] {
            assert_eq!(found(group, none), None, "{none}");
        }
        assert!(daemon(&of_root(b"condor_starter\0-f\0n1\0")).is_some());
    }
}
