//! `job`: what is known of a job, a row whenever more is known of it.

use super::{Column, Form, Shape, Table, int, text};

/// The table.
pub const TABLE: Table = Table {
    id: 5,
    name: "job",
    form: Form::Cells,
    key: KEY,
    columns: COLUMNS,
    doc: "What is known of a job: one row when it is first seen, one more when more is known.",
};

const KEY: &[Column] = &[
    text(
        "scheduler",
        "the context chain",
        "who gave the job its name: slurm, pbs, lsf, htcondor, gridengine",
    ),
    text(
        "identifier",
        "the context chain",
        "the job, as in the table process",
    ),
];

const CPUSET: &str = "cpuset of the job's group; sacct AllocCPUS";
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
];
