//! The archive against many writers, deaths, copies and damage: every attempt is there once.
#![cfg(feature = "archive")]
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking"
)]

mod ask;
mod deaths;
mod duckdb;
#[path = "../readers/environment.rs"]
mod environment;
mod newest;
mod workflow;
mod writers;

use record::attempt::{Amount, Attempt, End};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime};
use store::archive::folder::{Folder, Stored};
use store::archive::{Archive, Filter, Texts};

/// What spreads ids over all folders.
const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// An attempt by its number: so many MiB in as many seconds.
fn attempt(number: u64) -> Attempt {
    let mut one = Attempt {
        id: format!("{:032x}", u128::from(number).wrapping_mul(SPREAD)),
        format: "csv".to_owned(),
        category: format!("category {}", number % 7),
        description: Some(format!("Sample {number}")),
        command: vec!["sort".to_owned(), format!("{number}.txt")],
        began: Some(1_795_179_540_000_000_000),
        ended: Some(1_795_179_540_000_000_000 + number as i64 * 1_000_000_000),
        end: End::Done,
        ..Attempt::default()
    };
    one.used.set("memory", Amount::claimed(number << 20));
    one.used
        .set("wall", Amount::claimed(number * 1_000_000_000));
    one
}

/// Behind all that a test wrote.
fn now() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

fn archive(path: &Path) -> Archive {
    let archive = Archive::open(Folder::create(path).unwrap(), None).unwrap();
    archive.refresh(now(), &|_| true).unwrap();
    archive
}

fn add(folder: &Folder, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let report = format!("{{\"number\":{number}}}");
        let stored = Stored::new(attempt(number), Texts::report(report));
        folder.add(&stored).unwrap();
    }
}

/// The memory of all that are wanted, in MiB, in order.
fn all(archive: &Archive, filter: &Filter) -> Vec<u64> {
    let mut found = Vec::new();
    archive
        .scan(&["used_memory"], filter, &mut |batch, rows| {
            found.extend(
                rows.iter()
                    .map(|row| batch.int(0, *row).unwrap() as u64 >> 20),
            );
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    found.sort_unstable();
    found
}

fn numbers(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    numbers.collect()
}
