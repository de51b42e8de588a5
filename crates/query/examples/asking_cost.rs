//! What asking costs: seconds, CPU seconds and the most memory of each report and of one job.
//!
//! `cargo run -p plimsoll-store --release --example dataset_cost -- FOLDER 2778 3600 5` makes ten
//! million samples and `... --example dataset_people -- FOLDER 2778 100` tells whose they are;
//! `cargo run -p plimsoll-query --release --example asking_cost -- FOLDER RUNS NAME...` asks for
//! reports or, as `job`, for one job; `sql:...` is any question, `rows:...` too, with its rows.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an example for the developer"
)]

use query::job::Job;
use query::{Dialect, Engine, FORMATS, Heed, Look, Options, Out, Params};
use record::unit::Bytes;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant as Clock;

/// The job that is asked for.
const JOB: &str = "1007";

fn main() {
    let words: Vec<_> = std::env::args().collect();
    for name in &words[3..] {
        ask(Path::new(&words[1]), words[2].parse().unwrap(), name);
    }
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
