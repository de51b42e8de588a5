//! What a reading of the machine costs, printed, by source and in all: `cargo run -p
//! plimsoll-source --release --no-default-features --example ambient_cost`.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints and may fail loudly"
)]

use record::unit::Nanos;
use source::node::{Ambient, SOURCES};
use source::root::Root;

/// Readings of each.
const ROUNDS: u64 = 200;

/// CPU time of this thread by the scheduler's clock. The file is brought up to date when the thread
/// gives way.
fn cpu_ns() -> u64 {
    std::thread::sleep(std::time::Duration::from_millis(2));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Rows of a reading, and its CPU time in us: sources that are read now and then are due each time.
fn measure(ambient: &mut Ambient) -> (usize, f64) {
    let period = 100;
    ambient.read(Nanos::from_secs(period));
    let before = cpu_ns();
    let mut rows = 0;
    for round in 1..=ROUNDS {
        // Never so late that files are looked for again.
        rows = ambient.read(Nanos::from_secs(period + round)).len();
    }
    let spent = cpu_ns() - before;
    (rows, spent as f64 / ROUNDS as f64 / 1000.0)
}

/// The kernel's part: one file, kept open, read to its end and not parsed.
fn raw(path: &str) -> Option<f64> {
    use std::os::unix::fs::FileExt;
    // A device would wait for more.
    let file = std::fs::File::open(path)
        .ok()
        .filter(|_| path.starts_with("/proc"))?;
    let mut buffer = vec![0; 1 << 20];
    let before = cpu_ns();
    for _ in 0..ROUNDS {
        let mut length = 0;
        while let Ok(more @ 1..) = file.read_at(&mut buffer[length..], length as u64) {
            length += more;
        }
    }
    Some((cpu_ns() - before) as f64 / ROUNDS as f64 / 1000.0)
}

fn main() {
    for source in SOURCES {
        let mut ambient = Ambient::of(&Root::default(), std::slice::from_ref(source));
        let (rows, us) = measure(&mut ambient);
        let absent = ambient.absent().next();
        match absent {
            Some((_, absent)) => println!("{:24} {}", source.name, absent.words()),
            None => {
                let period = source.period.0 / 1_000_000_000;
                let name = source.name;
                print!("{name:24} {us:8.1} us, {rows} rows, period {period} s");
                let kernel = raw(source.file).map(|us| format!(", the kernel alone {us:.1} us"));
                println!("{}", kernel.unwrap_or_default());
            }
        }
    }
    for _ in 0..3 {
        let mut ambient = Ambient::open(&Root::default());
        let (rows, us) = measure(&mut ambient);
        println!("all of them              {us:8.1} us, {rows} rows");
    }
}
