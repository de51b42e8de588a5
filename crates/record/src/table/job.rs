//! `job`: what is known of a job, a row whenever more is known of it.

use super::{Column, Form, Shape, Table, int, text};
use crate::codec::cells::{Cell, put_row};
use crate::context::Trust;
use crate::job::{JobRecord, JobValue};
use crate::unit::{Bytes, Nanos};
use crate::value::Absent;

/// The table.
pub const TABLE: Table = Table {
    id: 5,
    name: "job",
    form: Form::Cells,
    key: KEY,
    once: None,
    columns: COLUMNS,
    doc: "What is known of a job: one row when it is first seen, one more when anything of it is \
          another, with each segment, and when its last process is gone; and what an accounting \
          told of it (`boot_id` is `sacct`), at the instant of its end, or of what came last.",
};

/// What was seen of a job on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Presence {
    /// A process of it is there.
    pub is_present: bool,
    /// When the first of its processes that was seen had started, since boot.
    pub first_start: Option<Nanos>,
    /// When a process of it was last seen, since boot.
    pub last_seen: Option<Nanos>,
    /// The parts of it that were seen.
    pub steps: Vec<String>,
    /// There were more.
    pub steps_cut: bool,
    /// The most that its control group was charged, page cache included.
    pub cgroup_memory_peak: Option<Bytes>,
    /// CPU time that its control group counted.
    pub cgroup_cpu_time: Option<Nanos>,
    /// Why the environment of its processes tells nothing.
    pub environment_absent: Option<Absent>,
    /// Why there is no state and no exit status.
    pub exit_absent: Option<Absent>,
}

const KEY: &[Column] = &[
    text(
        "scheduler",
        "the context chain",
        "who gave the job its name: slurm, pbs, lsf, htcondor, gridengine, kubernetes, container",
    ),
    text(
        "identifier",
        "the context chain",
        "the job, as in the table process",
    ),
];

const CPUSET: &str = "cpuset of the job's group; sacct AllocCPUS; SLURM_JOB_CPUS_PER_NODE";
const TRES: &str = "sacct AllocTRES";
const ENVIRONMENT: &str = "the scheduler's environment; sacct";

const COLUMNS: &[Column] = &[
    text(
        "array_job",
        ENVIRONMENT,
        "the array that it is an element of",
    ),
    text("array_task", ENVIRONMENT, "its index in the array"),
    text("user", ENVIRONMENT, "whose it is"),
    int("uid", "", "sacct UID", "the same as a number"),
    text("account", ENVIRONMENT, "who is charged"),
    text("partition", ENVIRONMENT, "the partition or queue"),
    text("name", ENVIRONMENT, "what its user calls it"),
    int("nodes", "count", ENVIRONMENT, "machines that it has"),
    int(
        "cpus_requested",
        "count",
        ENVIRONMENT,
        "CPUs that it asked for",
    ),
    int("cpus_allocated", "count", CPUSET, "CPUs that it may use"),
    int(
        "memory_requested",
        "bytes",
        ENVIRONMENT,
        "memory that it asked for",
    ),
    int(
        "memory_allocated",
        "bytes",
        TRES,
        "memory that it was given",
    ),
    int(
        "memory_limit",
        "bytes",
        "memory.max, memory.limit_in_bytes of the job's group",
        "memory that it may use on this machine",
    ),
    int(
        "gpus_requested",
        "count",
        ENVIRONMENT,
        "GPUs that it asked for",
    ),
    int("gpus_allocated", "count", TRES, "GPUs that it was given"),
    int("time_limit", "ns", ENVIRONMENT, "how long it may run"),
    text(
        "state",
        "sacct State",
        "COMPLETED, FAILED, CANCELLED, RUNNING, ...",
    ),
    int(
        "exit_status",
        "",
        "sacct ExitCode",
        "exit status of its script",
    ),
    int(
        "exit_signal",
        "",
        "sacct ExitCode",
        "the signal that ended its script; 0: none",
    ),
    int("submitted", "ns", "sacct Submit", "since 1970, UTC"),
    int("started", "ns", "sacct Start", "since 1970, UTC"),
    int("ended", "ns", "sacct End", "since 1970, UTC"),
    Column {
        name: "claimed",
        shape: Shape::List,
        unit: "",
        origin: "the context chain",
        doc: "columns that only the environment tells, which the user may write",
    },
    int(
        "present",
        "",
        READINGS,
        "1: a process of it is there; 0: the last one is gone",
    ),
    int(
        "first_start_ns",
        "ns",
        READINGS,
        "start of the first of its processes that was seen, since boot",
    ),
    int(
        "last_seen_ns",
        "ns",
        READINGS,
        "when a process of it was last seen, since boot; if present is 0, when that ended, if an \
         event told",
    ),
    Column {
        name: "steps",
        shape: Shape::List,
        unit: "",
        origin: "the context chain",
        doc: "the parts of it that were seen, as subidentifier in the table process",
    },
    int(
        "steps_cut",
        "",
        "the context chain",
        "1: there were more of them than are kept",
    ),
    text(
        "environment_absent",
        "/proc/PID/environ",
        "why no process told it: no_answer, no_permission, gone; not_applicable: those read are \
         not the job's",
    ),
    text(
        "exit_absent",
        "the agent",
        "why there is no state and no exit status: off, the scheduler's accounting was not asked",
    ),
    int(
        "cgroup_memory_peak",
        "bytes",
        "memory.peak, memory.max_usage_in_bytes of the job's group",
        "the most that its control group was charged here, page cache included, at the last \
         reading; exact, but for what came after that",
    ),
    int(
        "cgroup_cpu_time",
        "ns",
        "cpu.stat usage_usec, cpuacct.usage of the job's group",
        "CPU time that its control group counted here since it was made, those made anew added, \
         at the last reading: those too whose end nobody told",
    ),
];

const READINGS: &str = "readings; sched_process_fork, sched_process_exit";

/// Appends the row of a job.
pub fn put(out: &mut Vec<u8>, job: &JobRecord, seen: &Presence) {
    put_seen(out, job, Some(seen));
}

/// Appends the row of a job that was told of elsewhere: it may never have been here.
pub fn put_told(out: &mut Vec<u8>, job: &JobRecord) {
    put_seen(out, job, None);
}

fn put_seen(out: &mut Vec<u8>, job: &JobRecord, seen: Option<&Presence>) {
    let is_seen = seen.is_some();
    let nothing = Presence::default();
    let seen = seen.unwrap_or(&nothing);
    let count = |count: Option<u64>| Some(Cell::Int(i64::try_from(count?).ok()?));
    let time = |time: Option<Nanos>| count(time.map(|time| time.0));
    let claims = job.facts().filter(|(_, fact)| fact.trust == Trust::Claimed);
    let claims = list(claims.map(|(column, _)| column));
    let steps = list(seen.steps.iter().map(String::as_str));
    let reason = |absent: Option<Absent>| absent.map(|absent| Cell::Text(absent.name().as_bytes()));
    let value = |column: &Column| match column.name {
        "claimed" => claims.clone().map(Cell::List),
        "present" => is_seen.then_some(Cell::Int(seen.is_present.into())),
        "first_start_ns" => time(seen.first_start),
        "last_seen_ns" => time(seen.last_seen),
        "steps" => steps.clone().map(Cell::List),
        "steps_cut" => seen.steps_cut.then_some(Cell::Int(1)),
        "environment_absent" => reason(seen.environment_absent),
        "exit_absent" => reason(seen.exit_absent),
        "cgroup_memory_peak" => count(seen.cgroup_memory_peak.map(|bytes| bytes.0)),
        "cgroup_cpu_time" => time(seen.cgroup_cpu_time),
        name => Some(match &job.fact(name)?.value {
            JobValue::Int(value) => Cell::Int(*value),
            JobValue::Text(text) => Cell::Text(text.as_bytes()),
        }),
    };
    let all = TABLE.key.iter().chain(TABLE.columns).enumerate();
    put_row(
        out,
        all.filter_map(|(place, column)| Some((u8::try_from(place).ok()?, value(column)?))),
    );
}

/// Several texts, if there are any.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Vec<&'a [u8]>> {
    let texts: Vec<_> = texts.map(str::as_bytes).collect();
    (!texts.is_empty()).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::cells::take_row;

    #[test]
    fn each_fact_finds_its_column_and_claims_are_named() {
        let mut job = JobRecord::default();
        job.tell_text("scheduler", Some("slurm"), "x", Trust::Enforced);
        job.tell_text("identifier", Some("7"), "x", Trust::Enforced);
        job.tell_text("account", Some("physics"), "x", Trust::Claimed);
        job.tell_int("memory_limit", Some(5), "x", Trust::Enforced);
        let seen = Presence {
            is_present: true,
            last_seen: Some(Nanos(9)),
            steps: vec!["batch".to_owned(), "0".to_owned()],
            exit_absent: Some(Absent::Off),
            cgroup_memory_peak: Some(Bytes(5 << 20)),
            cgroup_cpu_time: Some(Nanos(3)),
            ..Presence::default()
        };
        let mut row = Vec::new();
        put(&mut row, &job, &seen);
        let cells = take_row(&mut row.as_slice()).unwrap();
        let all: Vec<_> = TABLE.key.iter().chain(TABLE.columns).collect();
        let told = cells.iter().map(|(place, cell)| {
            let name = all[usize::from(*place)].name;
            (name, cell.clone())
        });
        let expected = [
            ("scheduler", Cell::Text(b"slurm")),
            ("identifier", Cell::Text(b"7")),
            ("account", Cell::Text(b"physics")),
            ("memory_limit", Cell::Int(5)),
            ("claimed", Cell::List(vec![b"account"])),
            ("present", Cell::Int(1)),
            ("last_seen_ns", Cell::Int(9)),
            ("steps", Cell::List(vec![b"batch", b"0"])),
            ("exit_absent", Cell::Text(b"off")),
            ("cgroup_memory_peak", Cell::Int(5 << 20)),
            ("cgroup_cpu_time", Cell::Int(3)),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
