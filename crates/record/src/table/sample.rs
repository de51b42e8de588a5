//! `sample`: one living process as one reading saw it.

use super::{Column, Form, Shape, Table, int};
use crate::codec::key::put_int;
use crate::identity::ProcessId;
use crate::sample::{Counters, Memory, ProcessSample};
use crate::unit::{Bytes, Nanos};

/// The table.
pub const TABLE: Table = Table {
    id: 1,
    name: "sample",
    form: Form::Series,
    key: KEY,
    once: None,
    columns: &COLUMNS,
    doc: "A living process at one instant; there is a row for every reading, changed or not.",
};

/// Who a process is, in every table that has processes.
pub(super) const KEY: &[Column] = &[
    int("pid", "", "/proc/PID", "process id in the root namespace"),
    int(
        "start_ns",
        "ns",
        "/proc/PID/stat starttime",
        "start since boot, in steps of 10 ms: with pid and boot_id nobody else's",
    ),
];

/// Where the value of a column is.
enum Get {
    Whole(fn(&ProcessSample) -> Option<i64>),
    Own(fn(&Counters) -> Option<i64>),
    Tree(fn(&Counters) -> Option<i64>),
    Memory(fn(&Memory) -> Option<i64>),
}

/// A column with where its value is in a sample.
struct Field {
    column: Column,
    get: Get,
}

/// Columns of a row.
pub const COLUMN_COUNT: usize = FIELDS.len();

const COLUMNS: [Column; COLUMN_COUNT] = columns();

/// How many of them are counters of the process itself.
pub(super) const OWN_COUNT: usize = 16;

/// These: the same of a process that ended.
pub(super) const OWN: [Column; OWN_COUNT] = own_columns();

const STATE: Column = Column {
    name: "state",
    shape: Shape::Letter,
    unit: "",
    origin: "/proc/PID/stat state",
    doc: "R running, S asleep, D waiting for a device, Z ended, T stopped, I idle",
};

const CPU: &str = "sum_exec_runtime; clock_getcpuclockid(3), /proc/PID/task/TID/schedstat";
const WAIT: &str = "sched_info.run_delay; /proc/PID/task/TID/schedstat";
const STAT: &str = "/proc/PID/stat";
const STAT_ALL: &str = "/proc/PID/stat, with cutime, cstime, cminflt, cmajflt";
const SWITCHES: &str = "/proc/PID/task/TID/status";
const IO: &str = "/proc/PID/task/TID/io, threads that ended included";
const IO_ALL: &str = "/proc/PID/io";
const STATUS: &str = "/proc/PID/status";

const FIELDS: [Field; 46] = [
    whole(
        int("ppid", "", "/proc/PID/stat ppid", "its parent now"),
        |s| Some(s.ppid.into()),
    ),
    whole(
        int("pgid", "", "/proc/PID/stat pgrp", "process group"),
        |s| Some(s.pgid.into()),
    ),
    whole(int("sid", "", "/proc/PID/stat session", "session"), |s| {
        Some(s.sid.into())
    }),
    whole(STATE, |s| Some(i64::from(u32::from(s.state)))),
    whole(
        int(
            "threads",
            "count",
            STAT,
            "live threads, the main one counted",
        ),
        |s| count(s.threads),
    ),
    own(
        int("cpu_time", "ns", CPU, "CPU time by the scheduler's clock"),
        |c| ns(c.cpu),
    ),
    own(
        int(
            "cpu_user",
            "ns",
            STAT,
            "user part of the CPU time, by ticks",
        ),
        |c| ns(c.cpu_user),
    ),
    own(
        int(
            "cpu_system",
            "ns",
            STAT,
            "system part of the CPU time, by ticks",
        ),
        |c| ns(c.cpu_system),
    ),
    own(
        int("cpu_wait", "ns", WAIT, "ready to run, waiting for a CPU"),
        |c| ns(c.cpu_wait),
    ),
    own(
        int(
            "io_wait",
            "ns",
            STAT,
            "waiting for block I/O, where delay accounting is on",
        ),
        |c| ns(c.io_wait),
    ),
    own(
        int(
            "faults_minor",
            "count",
            STAT,
            "page faults without disk I/O",
        ),
        |c| count(c.faults_minor),
    ),
    own(
        int("faults_major", "count", STAT, "page faults with disk I/O"),
        |c| count(c.faults_major),
    ),
    own(
        int(
            "switches_voluntary",
            "count",
            SWITCHES,
            "context switches by waiting",
        ),
        |c| count(c.switches_voluntary),
    ),
    own(
        int(
            "switches_involuntary",
            "count",
            SWITCHES,
            "context switches by preemption",
        ),
        |c| count(c.switches_involuntary),
    ),
    own(
        int("bytes_read", "bytes", IO, "bytes through read-like calls"),
        |c| bytes(c.bytes_read),
    ),
    own(
        int(
            "bytes_written",
            "bytes",
            IO,
            "bytes through write-like calls",
        ),
        |c| bytes(c.bytes_written),
    ),
    own(int("reads", "count", IO, "read-like calls"), |c| {
        count(c.reads)
    }),
    own(int("writes", "count", IO, "write-like calls"), |c| {
        count(c.writes)
    }),
    own(
        int("disk_read", "bytes", IO, "bytes fetched from storage"),
        |c| bytes(c.disk_read),
    ),
    own(
        int("disk_written", "bytes", IO, "bytes sent to storage"),
        |c| bytes(c.disk_written),
    ),
    own(
        int(
            "disk_cancelled",
            "bytes",
            IO,
            "bytes whose writing was cancelled by truncation",
        ),
        |c| bytes(c.disk_cancelled),
    ),
    tree(
        int(
            "tree_cpu_user",
            "ns",
            STAT_ALL,
            "user part of the CPU time, of the children waited for too",
        ),
        |c| ns(c.cpu_user),
    ),
    tree(
        int(
            "tree_cpu_system",
            "ns",
            STAT_ALL,
            "system part of the CPU time, of the children waited for too",
        ),
        |c| ns(c.cpu_system),
    ),
    tree(
        int(
            "tree_faults_minor",
            "count",
            STAT_ALL,
            "page faults without disk I/O, of the children waited for too",
        ),
        |c| count(c.faults_minor),
    ),
    tree(
        int(
            "tree_faults_major",
            "count",
            STAT_ALL,
            "page faults with disk I/O, of the children waited for too",
        ),
        |c| count(c.faults_major),
    ),
    tree(
        int(
            "tree_bytes_read",
            "bytes",
            IO_ALL,
            "bytes through read-like calls, of the children waited for too",
        ),
        |c| bytes(c.bytes_read),
    ),
    tree(
        int(
            "tree_bytes_written",
            "bytes",
            IO_ALL,
            "bytes through write-like calls, of the children waited for too",
        ),
        |c| bytes(c.bytes_written),
    ),
    tree(
        int(
            "tree_reads",
            "count",
            IO_ALL,
            "read-like calls, of the children waited for too",
        ),
        |c| count(c.reads),
    ),
    tree(
        int(
            "tree_writes",
            "count",
            IO_ALL,
            "write-like calls, of the children waited for too",
        ),
        |c| count(c.writes),
    ),
    tree(
        int(
            "tree_disk_read",
            "bytes",
            IO_ALL,
            "bytes fetched from storage, of the children waited for too",
        ),
        |c| bytes(c.disk_read),
    ),
    tree(
        int(
            "tree_disk_written",
            "bytes",
            IO_ALL,
            "bytes sent to storage, of the children waited for too",
        ),
        |c| bytes(c.disk_written),
    ),
    tree(
        int(
            "tree_disk_cancelled",
            "bytes",
            IO_ALL,
            "bytes whose writing was cancelled by truncation, of the children waited for too",
        ),
        |c| bytes(c.disk_cancelled),
    ),
    memory(
        int(
            "rss",
            "bytes",
            STATUS,
            "resident set: anonymous, file and shared memory",
        ),
        |m| bytes(m.rss),
    ),
    memory(
        int("rss_anon", "bytes", STATUS, "resident anonymous pages"),
        |m| bytes(m.rss_anon),
    ),
    memory(
        int("rss_file", "bytes", STATUS, "resident file pages"),
        |m| bytes(m.rss_file),
    ),
    memory(
        int("rss_shmem", "bytes", STATUS, "resident shared memory"),
        |m| bytes(m.rss_shmem),
    ),
    memory(int("swap", "bytes", STATUS, "swapped-out pages"), |m| {
        bytes(m.swap)
    }),
    memory(
        int("virtual_size", "bytes", STATUS, "size of the address space"),
        |m| bytes(m.virtual_size),
    ),
    memory(
        int(
            "rss_peak",
            "bytes",
            STATUS,
            "highest resident set since the last exec",
        ),
        |m| bytes(m.rss_peak),
    ),
    memory(
        int(
            "virtual_peak",
            "bytes",
            STATUS,
            "largest address space since the last exec",
        ),
        |m| bytes(m.virtual_peak),
    ),
    memory(
        int(
            "pss",
            "bytes",
            "/proc/PID/smaps_rollup",
            "each resident page divided by its users; rarely read",
        ),
        |m| bytes(m.pss),
    ),
    whole(
        int(
            "io_uring",
            "",
            "/proc/PID/fd; task->io_uring",
            "1: it holds an io_uring, past which no count of calls sees",
        ),
        |s| s.io_uring.then_some(1),
    ),
    memory(
        int(
            "hugetlb",
            "bytes",
            STATUS,
            "pages of the pool of huge pages, in no other number",
        ),
        |m| bytes(m.hugetlb),
    ),
    memory(
        int(
            "swap_pss",
            "bytes",
            "/proc/PID/smaps_rollup",
            "each swapped-out page divided by its users; read when pss is",
        ),
        |m| bytes(m.swap_pss),
    ),
    // Of one that ended nobody tells it: it is none of `OWN`.
    whole(
        int(
            "cpu_guest",
            "ns",
            "/proc/PID/stat guest_time",
            "part of the user time that ran processors of a virtual machine, by ticks",
        ),
        |s| ns(s.own.cpu_guest),
    ),
    memory(
        int(
            "data_size",
            "bytes",
            "/proc/PID/statm data; /proc/PID/status VmData, VmStk",
            "the private and writable part of the address space, stacks included",
        ),
        |m| bytes(m.data),
    ),
];

#[allow(
    clippy::indexing_slicing,
    reason = "of a constant: the compiler checks the bounds"
)]
const fn columns() -> [Column; COLUMN_COUNT] {
    let mut columns = [STATE; COLUMN_COUNT];
    let mut index = 0;
    while index < COLUMN_COUNT {
        columns[index] = FIELDS[index].column;
        index += 1;
    }
    columns
}

#[allow(
    clippy::indexing_slicing,
    reason = "of a constant: the compiler checks the bounds"
)]
const fn own_columns() -> [Column; OWN_COUNT] {
    let mut columns = [STATE; OWN_COUNT];
    let (mut index, mut count) = (0, 0);
    while index < COLUMN_COUNT {
        if matches!(FIELDS[index].get, Get::Own(_)) {
            columns[count] = FIELDS[index].column;
            count += 1;
        }
        index += 1;
    }
    columns
}

/// The values of [`OWN`], in their order.
pub(super) fn own_values(counters: &Counters) -> impl Iterator<Item = Option<i64>> {
    FIELDS.iter().filter_map(|field| match field.get {
        Get::Own(get) => Some(get(counters)),
        _ => None,
    })
}

const fn whole(column: Column, get: fn(&ProcessSample) -> Option<i64>) -> Field {
    let get = Get::Whole(get);
    Field { column, get }
}

const fn own(column: Column, get: fn(&Counters) -> Option<i64>) -> Field {
    let get = Get::Own(get);
    Field { column, get }
}

const fn tree(column: Column, get: fn(&Counters) -> Option<i64>) -> Field {
    let get = Get::Tree(get);
    Field { column, get }
}

const fn memory(column: Column, get: fn(&Memory) -> Option<i64>) -> Field {
    let get = Get::Memory(get);
    Field { column, get }
}

/// What is 2^63 or more means "unlimited" where the kernel has it: there is no value then.
fn signed(value: u64) -> Option<i64> {
    i64::try_from(value).ok()
}

fn count(value: Option<u64>) -> Option<i64> {
    signed(value?)
}

fn bytes(value: Option<Bytes>) -> Option<i64> {
    signed(value?.0)
}

fn ns(value: Option<Nanos>) -> Option<i64> {
    signed(value?.0)
}

/// The values of a sample by column; bit n of the mask is set if column n has one.
pub fn values(sample: &ProcessSample, into: &mut [i64; COLUMN_COUNT]) -> u128 {
    let mut present = 0;
    for (index, (field, slot)) in FIELDS.iter().zip(into).enumerate() {
        let value = match field.get {
            Get::Whole(get) => get(sample),
            Get::Own(get) => get(&sample.own),
            Get::Tree(get) => get(&sample.with_children),
            Get::Memory(get) => get(&sample.memory),
        };
        if let Some(value) = value {
            *slot = value;
            present |= 1 << index;
        }
    }
    present
}

/// The key of a process's series.
pub fn key(id: ProcessId, into: &mut Vec<u8>) {
    into.clear();
    put_int(into, id.pid.into());
    put_int(into, id.start_ns.0 as i64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::key::Part;

    fn sample() -> ProcessSample {
        ProcessSample {
            id: ProcessId::new(7, Nanos(10_000_000)),
            ppid: 1,
            pgid: 7,
            sid: 7,
            state: 'S',
            comm: (*b"x").into(),
            threads: Some(2),
            own: Counters {
                cpu: Some(Nanos(5)),
                cpu_guest: Some(Nanos(3)),
                reads: Some(u64::MAX),
                ..Counters::default()
            },
            with_children: Counters {
                reads: Some(9),
                ..Counters::default()
            },
            memory: Memory {
                data: Some(Bytes(8)),
                ..Memory::default()
            },
            io_uring: false,
            sigchld_ignored: false,
            is_init: false,
            memory_of: None,
            pss_denied: false,
            revision: None,
        }
    }

    #[test]
    fn each_value_finds_its_column_and_what_is_absent_has_none() {
        let mut values = [0; COLUMN_COUNT];
        let present = super::values(&sample(), &mut values);
        let of = |name| {
            let index = TABLE.columns.iter().position(|c| c.name == name).unwrap();
            (present >> index & 1 == 1).then_some(values[index])
        };
        assert_eq!(of("ppid"), Some(1));
        assert_eq!(of("state"), Some(i64::from(b'S')));
        assert_eq!(of("cpu_time"), Some(5));
        assert_eq!(of("tree_reads"), Some(9));
        assert_eq!(of("reads"), None, "unlimited");
        assert_eq!(of("rss"), None);
        assert_eq!((of("cpu_guest"), of("data_size")), (Some(3), Some(8)));
    }

    #[test]
    fn a_key_tells_who_it_is() {
        let mut bytes = Vec::new();
        key(sample().id, &mut bytes);
        let parts = crate::codec::key::parts(TABLE.key, &bytes);
        assert_eq!(parts, Ok(vec![Part::Int(7), Part::Int(10_000_000)]));
    }
}
