//! Whose the processes of `dataset_cost` are: rows of `process` and `job`. The first process of a
//! job is the parent of its others.
//!
//! `cargo run -p plimsoll-store --release --example dataset_people -- FOLDER PROCESSES JOBS`
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "an example for the developer"
)]

use record::codec::cells::{Cell, put_row};
use record::table::by_name;
use record::unit::Nanos;
use std::path::Path;
use store::compact::{self, compact};
use store::disk::RealDisk;
use store::segment::{self, Instant, Origin, Writer};

fn main() {
    let words: Vec<_> = std::env::args().collect();
    let folder = Path::new(&words[1]);
    let number = |n: usize| words[n].parse::<i64>().unwrap();
    let (processes, jobs) = (number(2), number(3));
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
        let all = table.key.iter().chain(table.columns);
        let place = |name| all.clone().position(|column| column.name == name).unwrap() as u8;
        let mut cells: Vec<_> = values
            .iter()
            .map(|(name, cell)| (place(*name), cell.clone()))
            .collect();
        cells.sort_by_key(|(place, _)| *place);
        let mut payload = Vec::new();
        put_row(&mut payload, cells.into_iter());
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
