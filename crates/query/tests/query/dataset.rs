//! Two minutes of one host across a full hour: the first one compacted, the second one live.

use query::{Dialect, Engine, Error, FORMATS, Heed, Look, Options, Out, Params, Report, Writing};
use record::codec::cells::{Cell, put_row};
use record::codec::key;
use record::codec::series::Row;
use record::identity::ProcessId;
use record::table::{self, Table, by_name};
use record::unit::{Bytes, Nanos};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use store::compact::{self, compact};
use store::disk::RealDisk;
use store::segment::{self, Instant, Origin, Sheet, Writer};

/// 2026-11-20 13:00 UTC, since 1970.
pub(crate) const HOUR: u64 = 1_795_179_600_000_000_000;
/// The time since boot then.
pub(crate) const AT: u64 = 1_000_000_000_000;
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MIB: i64 = 1 << 20;

/// Readings before and behind the full hour.
pub(crate) const HALF: i64 = 60;

/// A value of a cell.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Int(i64),
    Text(&'static str),
    List(Vec<&'static str>),
}

/// A process (pid, start) with its values by column.
type Sample<'a> = ((i64, i64), Vec<(&'a str, i64)>);

pub(crate) struct Agent {
    writer: Writer<RealDisk>,
    samples: Sheet,
    nodes: Sheet,
    gpus: Sheet,
}

impl Agent {
    pub(crate) fn new(dataset: &Path, stream: u32) -> Self {
        Self::of_host(dataset, stream, ("n1", "01234567-89ab"))
    }

    /// Of a host and a boot.
    pub(crate) fn of_host(dataset: &Path, stream: u32, (host, boot): (&str, &str)) -> Self {
        let origin = Origin::of_writer(host, boot, stream, "0.1.0");
        let options = segment::Options {
            segment_bytes_max: 1 << 30,
            segment_age_max: Nanos::from_secs(36_000),
            sync_period: Nanos::from_secs(36_000),
        };
        Self {
            writer: Writer::new(RealDisk, dataset, origin, options).unwrap(),
            samples: Sheet::new(&table::sample::TABLE),
            nodes: Sheet::new(&table::node::TABLE),
            gpus: Sheet::new(&table::gpu::TABLE),
        }
    }

    /// Seconds from the full hour on.
    pub(crate) fn when(second: i64) -> Instant {
        let at = AT.checked_add_signed(second * SECOND as i64).unwrap();
        Instant {
            at: Nanos(at),
            real_offset_ns: (HOUR - AT) as i64,
            span: Nanos(0),
        }
    }

    /// One reading: processes (pid, start) with their values, metrics with their instances.
    pub(crate) fn reading(
        &mut self,
        second: i64,
        samples: &[Sample<'_>],
        nodes: &[(&str, &str, i64)],
    ) {
        let when = Self::when(second);
        let is_new = self.writer.begin(when.at).unwrap();
        self.samples.begin(when, is_new);
        for ((pid, start), values) in samples {
            let mut key = Vec::new();
            key::put_int(&mut key, *pid);
            key::put_int(&mut key, *start);
            let mut row = vec![0; table::sample::COLUMN_COUNT];
            let mut present = 0;
            for (name, value) in values {
                let place = place(&table::sample::TABLE, name);
                row[place] = *value;
                present |= 1 << place;
            }
            let row = Row {
                key: &key,
                present,
                values: &row,
            };
            self.samples.row(&mut self.writer, row);
        }
        self.samples.end(&mut self.writer, Nanos(0)).unwrap();
        self.nodes.begin(when, is_new);
        for (metric, instance, value) in nodes {
            let mut key = Vec::new();
            table::node::key(metric, instance.as_bytes(), &mut key);
            let row = Row {
                key: &key,
                present: 1,
                values: &[*value],
            };
            self.nodes.row(&mut self.writer, row);
        }
        self.nodes.end(&mut self.writer, Nanos(0)).unwrap();
    }

    /// What processes (pid, start) have of devices in one reading: memory, millionths busy.
    pub(crate) fn devices(&mut self, second: i64, rows: &[((i64, i64), &str, [i64; 2])]) {
        let when = Self::when(second);
        let is_new = self.writer.begin(when.at).unwrap();
        self.gpus.begin(when, is_new);
        for ((pid, start), device, values) in rows {
            let id = ProcessId::new(*pid as u32, Nanos(*start as u64));
            let mut key = Vec::new();
            table::gpu::key(id, device, &mut key);
            let row = Row {
                key: &key,
                present: 0b11,
                values,
            };
            self.gpus.row(&mut self.writer, row);
        }
        self.gpus.end(&mut self.writer, Nanos(0)).unwrap();
    }

    /// A row of a table of cells.
    pub(crate) fn cells(&mut self, second: i64, name: &str, values: &[(&str, Value)]) {
        let when = Self::when(second);
        self.writer.begin(when.at).unwrap();
        let table = by_name(name).unwrap();
        let all = || table.key.iter().chain(table.columns);
        let lists: Vec<(usize, Vec<&[u8]>)> = values
            .iter()
            .filter_map(|(name, value)| match value {
                Value::List(texts) => {
                    let at = all().position(|column| column.name == *name).unwrap();
                    Some((at, texts.iter().map(|text| text.as_bytes()).collect()))
                }
                _ => None,
            })
            .collect();
        let mut cells: Vec<(u8, Cell<'_>)> = values
            .iter()
            .map(|(name, value)| {
                let at = all().position(|column| column.name == *name).unwrap();
                let cell = match value {
                    Value::Int(value) => Cell::Int(*value),
                    Value::Text(text) => Cell::Text(text.as_bytes()),
                    Value::List(_) => {
                        let list = lists.iter().find(|(place, _)| *place == at).unwrap();
                        Cell::List(list.1.clone())
                    }
                };
                (u8::try_from(at).unwrap(), cell)
            })
            .collect();
        cells.sort_by_key(|(at, _)| *at);
        let mut payload = Vec::new();
        put_row(&mut payload, cells.into_iter());
        let what = (table.id, true);
        self.writer
            .frame(what, (0, 0), when, (&payload, 1))
            .unwrap();
    }

    pub(crate) fn close(mut self) {
        self.writer.close().unwrap();
    }
}

fn place(table: &Table, name: &str) -> usize {
    let mut columns = table.columns.iter();
    columns.position(|column| column.name == name).unwrap()
}

/// All of `live` becomes Parquet.
pub(crate) fn to_parquet(dataset: &Path) {
    compact(&RealDisk, dataset, compact::Options::default(), &mut |_| {}).unwrap();
}

pub(crate) fn engine(dataset: &Path) -> Engine {
    engine_with(dataset, Bytes(256 << 20), 2)
}

/// An engine that may use so much memory and so many CPUs.
pub(crate) fn engine_with(dataset: &Path, memory: Bytes, threads: usize) -> Engine {
    let options = Options {
        memory,
        spill: std::env::temp_dir(),
        threads: NonZeroUsize::new(threads).unwrap(),
    };
    Engine::open(dataset, options).unwrap()
}

/// What a question is answered, in a format.
pub(crate) fn ask(dataset: &Path, question: &str, format: &str) -> Result<Vec<u8>, Error> {
    answered(dataset, format, |engine, out| {
        engine.ask(question, out, &mut |_| Heed::Go)
    })
}

/// What a report is answered, in a format.
pub(crate) fn told(
    dataset: &Path,
    report: &Report,
    params: &Params,
    format: &str,
) -> Result<Vec<u8>, Error> {
    answered(dataset, format, |engine, out| {
        engine.report(report, params, out, &mut |_| Heed::Go)
    })
}

fn answered(
    dataset: &Path,
    format: &str,
    ask: impl FnOnce(&Engine, &mut dyn Writing) -> Result<u64, Error>,
) -> Result<Vec<u8>, Error> {
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);
    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let kept = Kept::default();
    let out: Out = Box::new(kept.clone());
    let format = FORMATS.iter().find(|known| known.name == format).unwrap();
    let mut writing = format.begin(out, Look::default());
    ask(&engine(dataset), writing.as_mut())?;
    drop(writing);
    let bytes = kept.0.lock().unwrap().clone();
    Ok(bytes)
}

/// The rows as lines of comma-separated values, without the line of names.
pub(crate) fn lines(dataset: &Path, question: &str) -> Vec<String> {
    rows_of(ask(dataset, question, "csv").unwrap())
}

fn rows_of(csv: Vec<u8>) -> Vec<String> {
    let text = String::from_utf8(csv).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

/// The rows of a report, which are the same by its text as one question.
pub(crate) fn rows_told(dataset: &Path, report: &Report, params: &Params) -> Vec<String> {
    let rows = rows_of(told(dataset, report, params, "csv").unwrap());
    let question = report.sql(params, Dialect::DataFusion);
    assert_eq!(lines(dataset, &question), rows, "{}", report.name);
    rows
}

/// An old process that works half of the time, one that is born and ends between two readings, one
/// that waits for a device; a job, files, mounts, an error of the kernel.
pub(crate) fn make(dataset: &Path) {
    let mut first = Agent::new(dataset, 1);
    identities(&mut first, -HALF);
    for second in -HALF..0 {
        reading(&mut first, second);
    }
    short(&mut first, -30);
    first.close();
    to_parquet(dataset);
    let mut second = Agent::new(dataset, 2);
    identities(&mut second, 0);
    for at in 0..HALF {
        reading(&mut second, at);
    }
    second.close();
}

/// When the old one began, since boot.
pub(crate) const OLD: i64 = 5 * SECOND as i64;
/// The one that waits, 20 s before the hour.
pub(crate) const WAITING: i64 = AT as i64 - 20 * SECOND as i64;

fn reading(agent: &mut Agent, second: i64) {
    let since = second + HALF;
    let old = vec![
        ("ppid", 1),
        ("state", i64::from(b'R')),
        // Much before the first reading.
        ("cpu_time", 100 * SECOND as i64 + since * SECOND as i64 / 2),
        ("bytes_read", 7 * MIB + since * MIB),
        ("rss", 100 * MIB),
    ];
    let mut samples = vec![((100, OLD), old)];
    if second >= -20 {
        let blocked = (0..10).contains(&second);
        let waiting = vec![
            ("ppid", 1),
            ("state", i64::from(if blocked { b'D' } else { b'S' })),
            ("cpu_time", (second + 20) * 1_000_000),
            ("rss", 10 * MIB),
        ];
        samples.push(((300, WAITING), waiting));
    }
    let kernel = since * SECOND as i64 * 6 / 10;
    let nodes = [
        ("node_cpu_user", "", kernel),
        ("node_cpu_user", "cpu0", kernel),
        ("node_cpu_system", "", 0),
        ("file_system_size", "/", 1 << 40),
        ("file_system_available", "/", (1 << 39) - since),
        ("file_system_size", "/scratch", 1 << 40),
        ("kernel_log_events", "oom", i64::from(second >= 30)),
        ("agent_rows_lost", "", 0),
    ];
    agent.reading(second, &samples, &nodes);
}

fn identities(agent: &mut Agent, second: i64) {
    let who = |pid, start, comm, exe, command: &[&'static str], user, job| {
        let mut values = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(start)),
            ("ppid", Value::Int(1)),
            ("comm", Value::Text(comm)),
            ("exe", Value::Text(exe)),
            ("command", Value::List(command.to_vec())),
            ("uid", Value::Int(1001)),
            ("user", Value::Text(user)),
        ];
        if let Some(job) = job {
            values.push(("identifier", Value::Text(job)));
            values.push(("subidentifier", Value::Text("batch")));
        }
        values
    };
    let train = ["python3", "-u", "/home/eva/train.py", "--fast"];
    let old = who(
        100,
        OLD,
        "python3",
        "/usr/bin/python3.11",
        &train,
        "eva",
        Some("7"),
    );
    agent.cells(second, "process", &old);
    if second >= -20 {
        let copy = who(
            300,
            WAITING,
            "cp",
            "/usr/bin/cp",
            &["cp", "a", "b"],
            "tom",
            None,
        );
        agent.cells(second, "process", &copy);
    }
    agent.cells(
        second,
        "job",
        &[
            ("scheduler", Value::Text("slurm")),
            ("identifier", Value::Text("7")),
            ("array_job", Value::Text("3")),
            ("array_task", Value::Text("1")),
            ("user", Value::Text("eva")),
            ("account", Value::Text("physics")),
            ("cpus_allocated", Value::Int(2)),
            ("memory_limit", Value::Int(400 * MIB)),
            ("present", Value::Int(1)),
            ("first_start_ns", Value::Int(OLD)),
            ("last_seen_ns", Value::Int((AT + 59 * SECOND) as i64)),
        ],
    );
    files(agent, second);
}

/// What the old one has open.
fn files(agent: &mut Agent, second: i64) {
    for (fd, path, mode) in [(3, "/home/eva/in", "r"), (4, "/scratch/out", "w")] {
        agent.cells(
            second,
            "descriptor",
            &[
                ("pid", Value::Int(100)),
                ("start_ns", Value::Int(OLD)),
                ("fd", Value::Int(fd)),
                ("open", Value::Int(1)),
                ("type", Value::Text("file")),
                ("path", Value::Text(path)),
                ("mode", Value::Text(mode)),
            ],
        );
    }
}

/// Born at a second, ended 0.4 s later: no reading met it.
fn short(agent: &mut Agent, second: i64) {
    let start = AT as i64 + second * SECOND as i64;
    agent.cells(
        second + 1,
        "process",
        &[
            ("pid", Value::Int(200)),
            ("start_ns", Value::Int(start)),
            ("comm", Value::Text("sh")),
            ("exe", Value::Text("/usr/bin/dash")),
            ("command", Value::List(vec!["sh", "-c", "echo 'a b'"])),
            ("exec_ns", Value::Int(start + 1000)),
            ("identifier", Value::Text("7")),
        ],
    );
    agent.cells(
        second + 1,
        "exit",
        &[
            ("pid", Value::Int(200)),
            ("start_ns", Value::Int(start)),
            ("end_ns", Value::Int(start + 400_000_000)),
            ("ppid", Value::Int(100)),
            ("uid", Value::Int(1001)),
            ("comm", Value::Text("sh")),
            ("exit_code", Value::Int(1)),
            ("cpu_time", Value::Int(300_000_000)),
            ("bytes_read", Value::Int(5 * MIB)),
            ("rss_peak", Value::Int(3 * MIB)),
            ("identifier", Value::Text("7")),
        ],
    );
}
