//! What asking costs: seconds, CPU seconds and the most memory of each report and of one job.
//!
//! `cargo run -p plimsoll-store --release --example dataset_cost -- FOLDER 2778 3600 5` makes ten
//! million samples; `cargo run -p plimsoll-query --release --example asking_cost -- people FOLDER
//! 2778 100` tells whose they are (so many processes in so many jobs), and `... ask FOLDER RUNS
//! NAME` asks for a report or, as `job`, for one job; `sql:...` is any question, `rows:...` too,
//! with its rows.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an example for the developer"
)]

use query::job::Job;
use query::{Dialect, Engine, FORMATS, Heed, Look, Options, Out, Params};
use record::codec::cells::{Cell, put_row};
use record::table::by_name;
use record::unit::{Bytes, Nanos};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant as Clock;
use store::compact::{self, compact};
use store::disk::RealDisk;
use store::segment::{self, Instant, Origin, Writer};

/// The job that is asked for.
const JOB: &str = "1007";

fn main() {
    let words: Vec<_> = std::env::args().collect();
    let folder = Path::new(&words[2]);
    match words[1].as_str() {
        "people" => people(folder, words[3].parse().unwrap(), words[4].parse().unwrap()),
        _ => {
            for name in &words[4..] {
                ask(folder, words[3].parse().unwrap(), name);
            }
        }
    }
}

/// Rows of `process` and `job`. The first process of a job is the parent of its others.
fn people(folder: &Path, processes: i64, jobs: i64) {
    let origin = Origin::of_writer("node", "01234567-89ab", 2, "0.1.0");
    let mut writer = Writer::new(RealDisk, folder, origin, segment::Options::default()).unwrap();
    let when = Instant {
        at: Nanos::from_secs(1),
        real_offset_ns: 1_700_000_000_000_000_000,
        span: Nanos(0),
    };
    writer.begin(when.at).unwrap();
    let mut row = |name: &str, values: &[(&str, Cell<'_>)]| {
        let table = by_name(name).unwrap();
        let mut all = table.key.iter().chain(table.columns);
        let place = |name| all.clone().position(|column| column.name == name).unwrap() as u8;
        let mut cells: Vec<_> = values
            .iter()
            .map(|(name, cell)| (place(*name), cell.clone()))
            .collect();
        cells.sort_by_key(|(place, _)| *place);
        let mut payload = Vec::new();
        put_row(&mut payload, cells.into_iter());
        all.next();
        writer
            .frame((table.id, true), (0, 0), when, (&payload, 1))
            .unwrap();
    };
    for n in 0..processes {
        let job = n % jobs;
        let (user, name) = (format!("user{}", job % 20), (1000 + job).to_string());
        let script = format!("/home/{user}/step{}.py", n % 7);
        row(
            "process",
            &[
                ("pid", Cell::Int(n + 1000)),
                ("start_ns", Cell::Int(n * 10_000_000)),
                ("ppid", Cell::Int(if n < jobs { 1 } else { job + 1000 })),
                ("comm", Cell::Text(b"python3")),
                ("exe", Cell::Text(b"/usr/bin/python3.11")),
                (
                    "command",
                    Cell::List(vec![b"python3", b"-u", script.as_bytes()]),
                ),
                ("user", Cell::Text(user.as_bytes())),
                ("identifier", Cell::Text(name.as_bytes())),
                ("subidentifier", Cell::Text(b"batch")),
            ],
        );
    }
    for job in 0..jobs {
        let (user, name) = (format!("user{}", job % 20), (1000 + job).to_string());
        row(
            "job",
            &[
                ("scheduler", Cell::Text(b"slurm")),
                ("identifier", Cell::Text(name.as_bytes())),
                ("user", Cell::Text(user.as_bytes())),
                ("account", Cell::Text(b"physics")),
                ("cpus_allocated", Cell::Int(8)),
                ("memory_limit", Cell::Int(64 << 30)),
                ("present", Cell::Int(1)),
            ],
        );
    }
    writer.close().unwrap();
    compact(&RealDisk, folder, compact::Options::default(), &mut |_| {}).unwrap();
}

fn ask(folder: &Path, runs: usize, name: &str) {
    let options = Options {
        memory: Bytes(1 << 30),
        spill: std::env::temp_dir(),
        threads: NonZeroUsize::new(2).unwrap(),
    };
    let mut took = Vec::new();
    let before = cpu_seconds();
    for _ in 0..runs {
        let begin = Clock::now();
        let engine = Engine::open(folder, options.clone()).unwrap();
        once(&engine, name);
        took.push(begin.elapsed().as_secs_f64());
    }
    let cpu = (cpu_seconds() - before) / runs as f64;
    took.sort_by(f64::total_cmp);
    println!(
        "{name}: {:.2} s ({:.2}-{:.2}), {cpu:.2} CPU s, {}",
        took[runs / 2],
        took[0],
        took[runs - 1],
        peak()
    );
}

fn once(engine: &Engine, name: &str) {
    let mut params = Params::default();
    if name == "job" {
        params.job = Some(JOB.to_owned());
        let job = Job::of(engine, &params, &mut |_| Heed::Go)
            .unwrap()
            .unwrap();
        if std::env::var_os("SHOW").is_some() {
            println!("{job:#?}");
        }
        return;
    }
    let is_shown = name.starts_with("rows:") || std::env::var_os("SHOW").is_some();
    let out: Out = match is_shown {
        true => Box::new(std::io::stdout()),
        false => Box::new(std::io::sink()),
    };
    let mut writing = FORMATS[1].begin(out, Look::default());
    let go = &mut |_| Heed::Go;
    if let Some((_, question)) = name.split_once(':') {
        engine.ask(question, writing.as_mut(), go).unwrap();
        return;
    }
    let report = query::by_name(name).unwrap();
    if report.needs_job {
        params.job = Some(JOB.to_owned());
    }
    if std::env::var_os("TEXT").is_some() {
        println!("{}", report.sql(&params, Dialect::DataFusion));
        return;
    }
    engine
        .report(report, &params, writing.as_mut(), go)
        .unwrap();
}

/// Seconds of CPU that this process has used.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<_> = rest.split_whitespace().collect();
    let ticks: u64 = fields[11..13]
        .iter()
        .map(|field| field.parse::<u64>().unwrap())
        .sum();
    ticks as f64 / 100.0
}

/// The most memory that was there so far.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
