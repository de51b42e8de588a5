//! `process`: who a process is, written when it is first seen and when any of it changes.

use super::sample::KEY;
use super::{Column, Form, Shape, Table, int, text};

/// The table.
pub const TABLE: Table = Table {
    id: 2,
    name: "process",
    form: Form::Cells,
    key: KEY,
    once: None,
    columns: COLUMNS,
    doc: "Who a process is: one row when it is first seen, one more after each exec or change.",
};

const COLUMNS: &[Column] = &[
    int(
        "exec",
        "count",
        "exec events; a changed program",
        "programs it has executed since it was first seen",
    ),
    int("ppid", "", "/proc/PID/stat ppid", "its parent then"),
    text("comm", "/proc/PID/comm", "short name"),
    Column {
        name: "command",
        shape: Shape::List,
        unit: "",
        origin: "/proc/PID/cmdline",
        doc: "the arguments, secrets in them replaced",
    },
    text("exe", "/proc/PID/exe", "the program's file"),
    text("cwd", "/proc/PID/cwd", "working directory"),
    text(
        "cgroup",
        "/proc/PID/cgroup",
        "control group, of the unified hierarchy or of memory",
    ),
    int("uid", "", "/proc/PID/status Uid", "real user id"),
    int("euid", "", "/proc/PID/status Uid", "effective user id"),
    int("gid", "", "/proc/PID/status Gid", "real group id"),
    int("egid", "", "/proc/PID/status Gid", "effective group id"),
    text(
        "user",
        "/etc/passwd",
        "name of the real user, where it can be told",
    ),
    int(
        "command_cut",
        "",
        "/proc/PID/cmdline",
        "1: the arguments are longer than what is kept of them",
    ),
    int(
        "exec_ns",
        "ns",
        "sched_process_exec",
        "of a row that an exec made: when that was, since boot",
    ),
    text(
        "identifier",
        "the context chain",
        "the job, or what stands for one (docs/context.md)",
    ),
    text(
        "subidentifier",
        "the context chain",
        "the part of the job: its step",
    ),
    text(
        "command_absent",
        "/proc/PID/cmdline",
        "why there is no command: no_answer, no_permission, gone",
    ),
    Column {
        name: "environment",
        shape: Shape::List,
        unit: "",
        origin: "/proc/PID/environ",
        doc: "NAME=VALUE of the variables that were asked for, secrets in them replaced",
    },
    text(
        "environment_absent",
        "/proc/PID/environ",
        "why there is no environment: no_answer, no_permission, gone",
    ),
    int(
        "tty",
        "",
        "/proc/PID/stat tty_nr",
        "controlling terminal: its device, the major number in bits 8-15, the minor in the others",
    ),
    int(
        "tpgid",
        "",
        "/proc/PID/stat tpgid",
        "process group in the foreground of that terminal",
    ),
    int(
        "priority",
        "",
        "/proc/PID/stat priority",
        "of the main thread: 20 and its nice value, or -1 less its real-time priority",
    ),
    int(
        "nice",
        "",
        "/proc/PID/stat nice",
        "nice value of the main thread",
    ),
    text(
        "policy",
        "/proc/PID/stat policy",
        "how the main thread is scheduled: other, batch, idle, fifo, rr, deadline, ext",
    ),
    int(
        "rt_priority",
        "",
        "/proc/PID/stat rt_priority",
        "real-time priority of the main thread; 0: none",
    ),
    int(
        "rss_limit",
        "bytes",
        "/proc/PID/stat rsslim",
        "soft limit of the resident set (RLIMIT_RSS)",
    ),
    int(
        "signals_pending",
        "",
        "/proc/PID/status ShdPnd, SigPnd",
        "signals that wait for any thread, or for the main one: bit N-1 for signal N",
    ),
    int(
        "signals_blocked",
        "",
        "/proc/PID/status SigBlk",
        "signals that the main thread holds back, by bits",
    ),
    int(
        "signals_ignored",
        "",
        "/proc/PID/status SigIgn",
        "signals that it ignores, by bits",
    ),
    int(
        "signals_caught",
        "",
        "/proc/PID/status SigCgt",
        "signals that it has handlers for, by bits",
    ),
    text(
        "cpus_allowed",
        "/proc/PID/status Cpus_allowed_list",
        "CPUs that the main thread may use (0-3,8)",
    ),
    int(
        "text_size",
        "bytes",
        "/proc/PID/status VmExe",
        "size of the program's own code",
    ),
];
