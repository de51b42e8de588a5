//! What sampling costs, printed: `cargo run -p plimsoll-source --release --no-default-features
//! --example sampler_cost`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints and may fail loudly"
)]

use record::sample::ProcessSample;
use source::query::sampler::{Sampler, Settings};
use source::root::Root;
use std::process::{Child, Command};

/// CPU time of this thread by the scheduler's clock. The file is brought up to date when the thread
/// gives way.
fn cpu_ns() -> u64 {
    std::thread::sleep(std::time::Duration::from_millis(2));
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

fn measure(sampler: &mut Sampler, pids: &[u32], passes: u32) -> f64 {
    let mut out: Vec<ProcessSample> = Vec::new();
    sampler.sample(pids, &mut out);
    sampler.sample(pids, &mut out);
    let before = cpu_ns();
    for _ in 0..passes {
        sampler.sample(pids, &mut out);
    }
    let spent = cpu_ns() - before;
    assert_eq!(out.len(), pids.len());
    spent as f64 / f64::from(passes) / pids.len() as f64 / 1000.0
}

fn raw(files: &[std::fs::File]) -> f64 {
    use std::os::unix::fs::FileExt;
    let (passes, mut buffer) = (100, [0; 4096]);
    let before = cpu_ns();
    for file in (0..passes).flat_map(|_| files) {
        file.read_at(&mut buffer, 0).unwrap();
    }
    (cpu_ns() - before) as f64 / f64::from(passes) / files.len() as f64 / 1000.0
}

fn main() {
    cost_of_parsing();
    cost_with_300_sleepers();
}

fn cost_with_300_sleepers() {
    let sleep = || Command::new("sleep").arg("300").spawn().unwrap();
    let mut children: Vec<Child> = (0..300).map(|_| sleep()).collect();
    let pids: Vec<u32> = children.iter().map(Child::id).collect();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let variants = [
        ("default", Settings::default()),
        (
            "details of all each pass",
            Settings {
                detail_files: 1 << 20,
                ..Settings::default()
            },
        ),
        (
            "details never after the first",
            Settings {
                detail_files: 1,
                ..Settings::default()
            },
        ),
        (
            "no files kept",
            Settings {
                files_kept: Some(0),
                ..Settings::default()
            },
        ),
    ];
    let mut samplers =
        variants.map(|(name, settings)| (name, Sampler::new(Root::default(), settings)));
    // The yardstick: one kernel file, kept open and not parsed.
    let stat = |pid: &u32| std::fs::File::open(format!("/proc/{pid}/stat")).unwrap();
    let files: Vec<std::fs::File> = pids.iter().map(stat).collect();
    for round in 0..3 {
        println!(
            "round {round}: stat alone, not parsed: {:.2} us",
            raw(&files)
        );
        for (name, sampler) in &mut samplers {
            let us = measure(sampler, &pids, 100);
            println!("round {round}: {name}: {us:.2} us CPU per process");
        }
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

fn cost_of_parsing() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let stat = std::fs::read(format!("{folder}/proc_pid_stat/input")).unwrap();
    let status = std::fs::read(format!("{folder}/proc_pid_status/input")).unwrap();
    let rounds = 200_000;
    for _ in 0..3 {
        let start = cpu_ns();
        for _ in 0..rounds {
            std::hint::black_box(source::query::proc_pid_stat::parse(std::hint::black_box(
                &stat,
            )));
        }
        let middle = cpu_ns();
        for _ in 0..rounds {
            std::hint::black_box(source::query::proc_pid_status::parse(std::hint::black_box(
                &status,
            )));
        }
        let end = cpu_ns();
        println!(
            "stat {} ns, status {} ns",
            (middle - start) / rounds,
            (end - middle) / rounds
        );
    }
}
