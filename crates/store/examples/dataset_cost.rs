//! What a dataset costs: bytes a row and time a row, of simulated samples.
//!
//! `cargo run -p plimsoll-store --release --example dataset_cost -- FOLDER PROCESSES PASSES BUSY_%
//! [MEMORY_MIB]`; with a folder alone, what merging the files there costs.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "an example for the developer"
)]

use record::codec::key;
use record::codec::series::Row;
use record::table::{self, sample::COLUMN_COUNT};
use record::unit::Nanos;
use std::path::{Path, PathBuf};
use std::time::Instant as Clock;
use store::compact::{Merge, Options, compact};
use store::disk::RealDisk;
use store::segment::{self, Instant, Origin, Sheet, Writer};

/// The columns that change in the rows of a busy process.
const MOVING: [&str; 16] = [
    "cpu_time",
    "cpu_user",
    "cpu_system",
    "cpu_wait",
    "faults_minor",
    "switches_voluntary",
    "switches_involuntary",
    "bytes_read",
    "reads",
    "bytes_written",
    "writes",
    "tree_cpu_user",
    "tree_bytes_read",
    "tree_reads",
    "rss",
    "rss_anon",
];

fn main() {
    let words: Vec<_> = std::env::args().collect();
    let folder = PathBuf::from(&words[1]);
    if words.len() > 2 {
        let number = |n: usize| words[n].parse::<u64>().unwrap();
        let memory = words.get(5).map(|mib| mib.parse::<usize>().unwrap() << 20);
        let (processes, passes) = (number(2), number(3));
        written(&folder, processes, passes, number(4));
        compacted(&folder, (processes * passes) as f64, memory);
    }
    merged(&folder);
}

/// Writes what `busy` of a hundred of so many processes change in so many readings, and says what
/// that cost.
fn written(folder: &Path, processes: u64, passes: u64, busy: u64) {
    let origin = Origin::of_writer("node", "01234567-89ab", 1, "0.1.0");
    let mut writer = Writer::new(RealDisk, folder, origin, segment::Options::default()).unwrap();
    let mut sheet = Sheet::new(&table::sample::TABLE);
    let column = |name: &str| {
        let mut columns = table::sample::TABLE.columns.iter();
        columns.position(|column| column.name == name).unwrap()
    };
    let (moving, absent) = (MOVING.map(column), column("swap_pss"));
    let mut rows = vec![[0i64; COLUMN_COUNT]; processes as usize];
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for row in &mut rows {
        for value in row.iter_mut() {
            *value = (random() % 1_000_000) as i64;
        }
    }
    let begin = Clock::now();
    let mut spent_here = 0u128;
    let keys = keys(processes);
    for pass in 0..passes {
        let made = Clock::now();
        for row in &mut rows {
            if random() % 100 < busy {
                for place in moving {
                    row[place] += (random() % 100_000) as i64;
                }
            }
        }
        spent_here += made.elapsed().as_nanos();
        let at = Nanos::from_secs(pass);
        let when = Instant {
            at,
            real_offset_ns: 1_700_000_000_000_000_000,
            span: Nanos(0),
        };
        let is_new = writer.begin(at).unwrap();
        sheet.begin(when, is_new);
        for (key, values) in keys.iter().zip(&rows) {
            let row = Row {
                key,
                present: (1 << COLUMN_COUNT) - 1 - (1 << absent),
                values,
            };
            sheet.row(&mut writer, row);
        }
        sheet.end(&mut writer, Nanos(1)).unwrap();
    }
    writer.close().unwrap();
    let rows = (processes * passes) as f64;
    let written = begin.elapsed().as_nanos() - spent_here;
    println!(
        "written: {:.1} bytes and {:.0} ns a row",
        writer.bytes_total() as f64 / rows,
        written as f64 / rows
    );
}

/// The keys of so many series.
fn keys(processes: u64) -> Vec<Vec<u8>> {
    let key = |process: u64| {
        let mut bytes = Vec::new();
        key::put_int(&mut bytes, process as i64 + 1000);
        key::put_int(&mut bytes, 10_000_000 * process as i64);
        bytes
    };
    (0..processes).map(key).collect()
}

/// Compacts, and says what that cost.
fn compacted(folder: &Path, rows: f64, memory: Option<usize>) {
    let begin = Clock::now();
    let mut options = Options::default();
    options.memory_bytes_max = memory.unwrap_or(options.memory_bytes_max);
    let summary = compact(&RealDisk, folder, options, &mut |_| {}).unwrap();
    let took = begin.elapsed();
    println!(
        "compacted: {:.2} bytes a row in {} files, {:.0} k rows a second, {:.0} % changed",
        summary.bytes_out as f64 / summary.rows_out as f64,
        summary.files,
        rows / took.as_secs_f64() / 1e3,
        100.0 * summary.rows_changed as f64 / summary.rows_in as f64,
    );
    println!("{}", peak());
}

/// Merges, and says what that cost.
fn merged(folder: &Path) {
    let options = Options {
        merge: Some(Merge {
            files: 2,
            now: Nanos(u64::MAX),
        }),
        ..Options::default()
    };
    let begin = Clock::now();
    let summary = compact(&RealDisk, folder, options, &mut |_| {}).unwrap();
    let took = begin.elapsed();
    println!(
        "merged: {} files to {}, {:.0} k rows a second",
        summary.files_merged,
        summary.files_of_merges,
        summary.rows_merged as f64 / took.as_secs_f64() / 1e3,
    );
    println!("{}", peak());
}

/// The most memory that was there so far.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    lines
        .find(|line| line.starts_with("VmHWM"))
        .unwrap()
        .to_owned()
}
