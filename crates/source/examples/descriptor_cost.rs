//! What it costs to look at one descriptor, printed: `cargo run -p plimsoll-source --release
//! --no-default-features --example descriptor_cost`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints and may fail loudly"
)]

use source::query::descriptors;
use source::root::Root;
use std::fs::File;
use sys::clock::{self, Clock};

/// Descriptors of each kind, and looks at them.
const COUNT: usize = 500;
const ROUNDS: u64 = 100;

/// CPU time of a look, us a descriptor.
fn measure() -> f64 {
    let (root, pid) = (Root::default(), std::process::id());
    let look = || descriptors::read(&root, pid, usize::MAX).unwrap().all.len();
    let count = look();
    let before = clock::now(Clock::Thread);
    for _ in 0..ROUNDS {
        look();
    }
    let spent = clock::now(Clock::Thread) - before;
    spent as f64 / 1000.0 / ROUNDS as f64 / count as f64
}

fn main() {
    let file = || File::open("/etc/passwd").unwrap();
    let files: Vec<_> = (0..COUNT).map(|_| file()).collect();
    println!("files: {:.1} us each", measure());
    drop(files);
    let _pipes: Vec<_> = (0..COUNT / 2).map(|_| std::io::pipe().unwrap()).collect();
    println!("pipes: {:.1} us each", measure());
}
