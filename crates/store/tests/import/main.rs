//! Files of other tools become attempts: those that the tools write, hostile ones, any bytes, and
//! what our own formats wrote.
#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking"
)]

mod any;
mod bounds;
mod golden;
mod round;

use record::attempt::Attempt;
use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use store::import::{self, Format, Options, Rejected, Row, Summary};

/// What came out of an input.
#[derive(Debug, Default, PartialEq)]
struct Told {
    attempts: Vec<Attempt>,
    rejected: Vec<Rejected>,
    rows: Vec<Row>,
    summary: Summary,
}

fn read(format: &Format, input: impl BufRead, options: &Options) -> Result<Told, store::Error> {
    let mut told = Told::default();
    let mut sink = |row: Row| {
        told.rows.push(row);
        ControlFlow::Continue(())
    };
    told.summary = import::read(format, input, options, &mut sink)?;
    for row in &told.rows {
        match row {
            Row::Attempt(attempt, _) => told.attempts.push((**attempt).clone()),
            Row::Rejected(rejected) => told.rejected.push(rejected.clone()),
        }
    }
    Ok(told)
}

/// Every record is one of the three, and every row was counted.
fn accounted(told: &Told) {
    let Summary {
        records,
        attempts,
        rejected,
        joined,
        supposed,
    } = told.summary;
    assert_eq!(records, attempts + rejected + joined);
    assert_eq!(attempts, told.attempts.len() as u64);
    assert!(supposed <= attempts);
    assert_eq!(rejected, told.rejected.len() as u64);
    let mut ids: Vec<_> = told.attempts.iter().map(|one| &one.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len() as u64, attempts, "two attempts have one id");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import")
}

fn named(name: &str) -> &'static Format {
    import::format(name).unwrap()
}
