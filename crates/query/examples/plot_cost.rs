//! What the picture of a job of many processes costs to ask for; the dataset stays for others.
//!
//! `cargo run -p plimsoll-query --release --example plot_cost -- FOLDER PROCESSES PASSES`
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "an example for the developer"
)]

use query::plot::Plot;
use query::{Engine, Heed, Options, Params};
use record::codec::cells::{Cell, put_row};
use record::codec::key;
use record::codec::series::Row;
use record::table::{by_name, process, sample};
use record::unit::{Bytes, Nanos};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant as Clock;
use store::compact::{Options as CompactOptions, compact};
use store::disk::RealDisk;
use store::segment::{Instant, Options as SegmentOptions, Origin, Sheet, Writer};

const BOOT: i64 = 1_795_179_600_000_000_000;
const SECOND: u64 = 1_000_000_000;
const PROGRAMS: [&[u8]; 5] = [b"solver", b"cc1plus", b"python3", b"gzip", b"sh"];

fn main() {
    let words: Vec<_> = std::env::args().collect();
    let folder = PathBuf::from(&words[1]);
    let number = |n: usize| words[n].parse::<u64>().unwrap();
    let (processes, passes) = (number(2), number(3));
    write(&folder, processes, passes);
    let options = CompactOptions::default();
    compact(&RealDisk, &folder, options, &mut |_| {}).unwrap();
    let params = Params {
        job: Some("4711".to_owned()),
        ..Params::default()
    };
    let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    for _ in 0..5 {
        let begin = Clock::now();
        let options = Options {
            memory: Bytes(1 << 30),
            spill: std::env::temp_dir(),
            threads,
        };
        let engine = Engine::open(&folder, options).unwrap();
        let now = Nanos(u64::MAX / 2);
        let found = Plot::of(&engine, &params, now, &mut |_| Heed::Go).unwrap();
        let took = begin.elapsed();
        let query::plot::Found::Plot(plot) = found else {
            println!("{found:?}");
            return;
        };
        let readings: usize = plot.lines.iter().map(|line| line.rss.len()).sum();
        let lines = plot.lines.len();
        println!(
            "{lines} lines of {readings} readings in {:.3} s",
            took.as_secs_f64()
        );
    }
}

fn write(folder: &Path, processes: u64, passes: u64) {
    let origin = Origin::of_writer("node", "01234567-89ab", 1, "0.1.0");
    let mut writer = Writer::new(RealDisk, folder, origin, SegmentOptions::default()).unwrap();
    identities(&mut writer, processes, passes);
    let mut sheet = Sheet::new(&sample::TABLE);
    let column = |name: &str| {
        let mut columns = sample::TABLE.columns.iter();
        columns.position(|column| column.name == name).unwrap()
    };
    let places = [
        "rss",
        "rss_anon",
        "rss_shmem",
        "cpu_time",
        "bytes_read",
        "bytes_written",
    ];
    let [rss, anon, shmem, cpu, read, written] = places.map(column);
    let told = [rss, anon, shmem, cpu, read, written];
    let present = told.iter().fold(0, |all, place| all | (1 << place));
    for pass in 1..=passes {
        let is_new = writer.begin(Nanos(pass * SECOND)).unwrap();
        sheet.begin(when(pass), is_new);
        for n in
            (0..processes).filter(|n| (life(*n, passes).0..=life(*n, passes).1).contains(&pass))
        {
            let mut values = [0; sample::COLUMN_COUNT];
            let age = (pass - life(n, passes).0) as f64;
            let busy = [1.0, 0.9, 0.5, 0.2, 0.05][(n % 5) as usize];
            let size = f64::from(8 << 20) * (1.0 + (n % 97) as f64 / 7.0) * busy;
            let wave = 1.0 + 0.1 * (age / 5.0 + n as f64).sin();
            values[anon] = (size * (1.0 - (-age / 9.0).exp()) * wave) as i64;
            values[rss] = values[anon] + (2 << 20);
            values[cpu] = (age * busy * SECOND as f64 * (0.8 + 0.2 * wave)) as i64;
            values[read] = (age.min(10.0) * 1e6) as i64;
            values[written] = ((age - 50.0).max(0.0) * 4e5) as i64;
            let mut key = Vec::new();
            key::put_int(&mut key, 1000 + n as i64);
            key::put_int(&mut key, (life(n, passes).0 * SECOND) as i64);
            let values = &values;
            let row = Row {
                key: &key,
                present,
                values,
            };
            sheet.row(&mut writer, row);
        }
        sheet.end(&mut writer, Nanos(1)).unwrap();
    }
    writer.close().unwrap();
}

/// Born in the first third, dead in the last one.
fn life(n: u64, passes: u64) -> (u64, u64) {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let part = passes / 3 + 1;
    (1 + mixed % part, passes - (mixed >> 20) % part)
}

fn when(at: u64) -> Instant {
    Instant {
        at: Nanos(at * SECOND),
        real_offset_ns: BOOT,
        span: Nanos(0),
    }
}

fn identities(writer: &mut Writer<RealDisk>, processes: u64, passes: u64) {
    writer.begin(Nanos(SECOND)).unwrap();
    for n in 0..processes {
        let columns = by_name(process::TABLE.name).unwrap();
        let all = || columns.key.iter().chain(columns.columns);
        let place = |name: &str| all().position(|column| column.name == name).unwrap() as u8;
        let program = PROGRAMS[(n % 5) as usize];
        let mut cells = vec![
            (place("pid"), Cell::Int(1000 + n as i64)),
            (
                place("start_ns"),
                Cell::Int((life(n, passes).0 * SECOND) as i64),
            ),
            (place("comm"), Cell::Text(program)),
            (place("identifier"), Cell::Text(b"4711")),
        ];
        cells.sort_by_key(|(at, _)| *at);
        let mut payload = Vec::new();
        put_row(&mut payload, cells.into_iter());
        let what = (columns.id, true);
        writer.frame(what, (0, 0), when(1), (&payload, 1)).unwrap();
    }
}
