//! `exit`: a process that ended, with all that it used.

use super::sample::{KEY, OWN, OWN_COUNT, own_values};
use super::{Column, Form, Table, int, text};
use crate::codec::cells::{Cell, put_row};
use crate::identity::{Ending, ProcessId};
use crate::sample::{Counters, MemoryPeaks};
use crate::unit::Nanos;

/// The table.
pub const TABLE: Table = Table {
    id: 4,
    name: "exit",
    form: Form::Cells,
    key: KEY,
    once: Some("end_ns"),
    columns: &COLUMNS,
    doc: "A process that ended while the agent was there, however short it lived.",
};

/// A process that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Who.
    pub id: ProcessId,
    /// When.
    pub at: Nanos,
    /// Its parent then.
    pub parent: u32,
    /// Its real user, if that is told.
    pub uid: Option<u32>,
    /// Its short name, if that is told; a process can make it empty.
    pub comm: Option<Vec<u8>>,
    /// How.
    pub ending: Ending,
    /// What it used itself: threads in, children out.
    pub own: Counters,
    /// What it used of CPUs at least, where all of it is not known.
    pub cpu_least: Option<Nanos>,
    /// Its memory peaks.
    pub peaks: MemoryPeaks,
}

const EVENT: &str = "sched_process_exit";
/// The columns in front of the counters, and behind them.
const FRONT_COUNT: usize = 6;
const COLUMN_COUNT: usize = FRONT_COUNT + OWN_COUNT + 5;

const COLUMNS: [Column; COLUMN_COUNT] = columns();

const FRONT: [Column; FRONT_COUNT] = [
    int("end_ns", "ns", EVENT, "when it ended, since boot"),
    int("ppid", "", "task->real_parent", "its parent at its end"),
    int("uid", "", "task->real_cred", "real user id"),
    text("comm", "task->comm", "short name"),
    int(
        "exit_code",
        "",
        "task->exit_code",
        "the code that it exited with",
    ),
    int("signal", "", "task->exit_code", "the signal that killed it"),
];

const RSS_PEAK: Column = int(
    "rss_peak",
    "bytes",
    "mm->hiwater_rss; signal->maxrss",
    "highest resident set since the last exec",
);

const VIRTUAL_PEAK: Column = int(
    "virtual_peak",
    "bytes",
    "mm->hiwater_vm",
    "largest address space since the last exec",
);

const CPU_LEAST: Column = int(
    "cpu_time_min",
    "ns",
    "taskstats cpu_run_virtual_total",
    "CPU time at least, where `cpu_time` is not known: without what came after the kernel last \
     counted, up to a tick",
);

const JOB: &str = "sched_process_exit task->cgroups; the context chain";

const IDENTIFIER: Column = text(
    "identifier",
    JOB,
    "the job, or what stands for one, as in the table process",
);

const SUBIDENTIFIER: Column = text("subidentifier", JOB, "the part of the job: its step");

#[allow(
    clippy::indexing_slicing,
    reason = "of a constant: the compiler checks the bounds"
)]
const fn columns() -> [Column; COLUMN_COUNT] {
    let mut columns = [RSS_PEAK; COLUMN_COUNT];
    let mut index = 0;
    while index < FRONT_COUNT + OWN_COUNT {
        columns[index] = match index < FRONT_COUNT {
            true => FRONT[index],
            false => OWN[index - FRONT_COUNT],
        };
        index += 1;
    }
    columns[COLUMN_COUNT - 4] = VIRTUAL_PEAK;
    columns[COLUMN_COUNT - 3] = IDENTIFIER;
    columns[COLUMN_COUNT - 2] = SUBIDENTIFIER;
    columns[COLUMN_COUNT - 1] = CPU_LEAST;
    columns
}

/// Appends the row of a process, with the job and its part that it belonged to.
pub fn put(out: &mut Vec<u8>, exit: &Exit, job: [Option<&str>; 2]) {
    let int = |value: u64| i64::try_from(value).ok().map(Cell::Int);
    let (code, signal) = match exit.ending {
        Ending::Code(code) => (Some(Cell::Int(code.into())), None),
        Ending::Signal(signal) => (None, Some(Cell::Int(signal.into()))),
    };
    let front = [
        Some(Cell::Int(exit.id.pid.into())),
        int(exit.id.start_ns.0),
        int(exit.at.0),
        Some(Cell::Int(exit.parent.into())),
        exit.uid.map(|uid| Cell::Int(uid.into())),
        exit.comm.as_deref().map(Cell::Text),
        code,
        signal,
    ];
    let own = own_values(&exit.own).map(|value| value.map(Cell::Int));
    let peaks = [exit.peaks.rss, exit.peaks.virtual_size];
    let peaks = peaks.map(|peak| peak.and_then(|peak| int(peak.0)));
    let job = job.map(|name| name.map(|name| Cell::Text(name.as_bytes())));
    let least = [exit.cpu_least.and_then(|cpu| int(cpu.0))];
    let cells = front.into_iter().chain(own);
    let cells = cells.chain(peaks).chain(job).chain(least);
    let known = |(place, cell): (usize, Option<_>)| Some((u8::try_from(place).ok()?, cell?));
    put_row(out, cells.enumerate().filter_map(known));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::cells::take_row;
    use crate::unit::Bytes;

    #[test]
    fn an_empty_name_is_one_and_an_unknown_one_is_absent() {
        let mut exit = Exit {
            id: ProcessId::new(7, Nanos(0)),
            at: Nanos(9),
            parent: 3,
            uid: None,
            comm: Some(Vec::new()),
            ending: Ending::Code(0),
            own: Counters::default(),
            cpu_least: None,
            peaks: MemoryPeaks::default(),
        };
        let place = COLUMNS.iter().position(|it| it.name == "comm").unwrap() + KEY.len();
        let told = |exit: &Exit| {
            let mut row = Vec::new();
            put(&mut row, exit, [None, None]);
            let cells = take_row(&mut row.as_slice()).unwrap();
            cells
                .iter()
                .any(|(column, cell)| usize::from(*column) == place && *cell == Cell::Text(b""))
        };
        assert!(told(&exit));
        exit.comm = None;
        assert!(!told(&exit));
    }

    #[test]
    fn each_value_finds_its_column_and_what_is_absent_has_none() {
        let exit = Exit {
            id: ProcessId::new(7, Nanos(10_000_000)),
            at: Nanos(9),
            parent: 3,
            uid: Some(5),
            comm: Some(b"a b) S 1".to_vec()),
            ending: Ending::Signal(9),
            own: Counters {
                cpu: Some(Nanos(11)),
                disk_cancelled: Some(Bytes(12)),
                reads: Some(u64::MAX),
                ..Counters::default()
            },
            cpu_least: Some(Nanos(14)),
            peaks: MemoryPeaks {
                virtual_size: Some(Bytes(13)),
                ..MemoryPeaks::default()
            },
        };
        let mut row = Vec::new();
        put(&mut row, &exit, [Some("7"), None]);
        let cells = take_row(&mut row.as_slice()).unwrap();
        let all: Vec<_> = TABLE.key.iter().chain(TABLE.columns).collect();
        let of = |name: &str| {
            let found = cells
                .iter()
                .find(|cell| all[usize::from(cell.0)].name == name);
            found.map(|(_, cell)| cell.clone())
        };
        assert_eq!(
            (of("pid"), of("start_ns")),
            (Some(Cell::Int(7)), Some(Cell::Int(10_000_000)))
        );
        assert_eq!(
            (of("end_ns"), of("ppid")),
            (Some(Cell::Int(9)), Some(Cell::Int(3)))
        );
        assert_eq!(
            (of("uid"), of("comm")),
            (Some(Cell::Int(5)), Some(Cell::Text(b"a b) S 1")))
        );
        assert_eq!((of("exit_code"), of("signal")), (None, Some(Cell::Int(9))));
        assert_eq!(
            (of("cpu_time"), of("disk_cancelled")),
            (Some(Cell::Int(11)), Some(Cell::Int(12)))
        );
        assert_eq!((of("reads"), of("rss_peak")), (None, None));
        assert_eq!(of("virtual_peak"), Some(Cell::Int(13)));
        assert_eq!(of("identifier"), Some(Cell::Text(b"7")));
        assert_eq!(of("subidentifier"), None);
        assert_eq!(of("cpu_time_min"), Some(Cell::Int(14)));
    }
}
