//! The bounds of memory hold the truth, however the pages came: by faults, without, shared, handed
//! down.

use crate::harness::expect::{MIB, field, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Run, is_memory};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::value::{Method, Number};

each_mechanism!(
    populated, huge_pages, heir, orphan, memfd, cached, copied, spikes, storm,
);

/// Programs, libraries and the tables of pages beside the memory in question; a group is charged
/// in batches.
const BESIDE: u64 = 5 * MIB;

/// A wrong bound is a wrong bound in any of so many runs: what is seen of a short task is chance.
const RUNS: u64 = 4;

fn holds(mechanism: Mechanism, mode: &str, mib: u64, truth: u64) {
    for _ in 0..RUNS.div_ceil(slowness()) {
        once(mechanism, mode, mib, truth * MIB);
    }
}

fn once(mechanism: Mechanism, mode: &str, mib: u64, truth: u64) {
    let run = Run::watched(mechanism, Vec::new());
    let data = run.path("data");
    std::fs::write(&data, vec![7; usize::try_from(mib * MIB).unwrap()]).unwrap();
    let command = words![program("pages"), mode, mib.to_string(), data];
    let done = run
        .options(["--wait-descendants"])
        .command(command)
        .finish();
    done.expect_status(0);
    let Some(value) = field(&done, "memory_peak").value() else {
        // It came and went between two samples.
        assert_eq!(mechanism, Mechanism::Procfs, "{}", done.context());
        return;
    };
    let Number::Whole(number) = value.value else {
        panic!("{value:?}");
    };
    let (low, high) = match value.method {
        Method::Exact => (number, number),
        Method::LowerBound { upper } => (number, upper.unwrap_or(u64::MAX)),
        Method::UpperBound => (0, number),
        Method::Sampled { .. } => (number, u64::MAX),
        other => panic!("{other:?}"),
    };
    // Within one in a hundred is exact.
    let least = truth - truth / 100;
    assert!(
        low <= truth + BESIDE && high >= least,
        "{mode}: truth {truth}, got {value:?}\n{}",
        done.context()
    );
}

fn populated(mechanism: Mechanism) {
    holds(mechanism, "populate", 60, 60);
}

fn huge_pages(mechanism: Mechanism) {
    holds(mechanism, "huge", 100, 100);
}

fn heir(mechanism: Mechanism) {
    holds(mechanism, "heir", 50, 100);
}

fn orphan(mechanism: Mechanism) {
    holds(mechanism, "orphan", 50, 100);
}

fn memfd(mechanism: Mechanism) {
    holds(mechanism, "memfd", 40, 40);
}

fn cached(mechanism: Mechanism) {
    if is_memory(&std::env::temp_dir()) {
        skip!("files are memory here");
    }
    holds(mechanism, "cache", 40, 0);
}

fn copied(mechanism: Mechanism) {
    holds(mechanism, "copied", 40, 40);
}

fn spikes(mechanism: Mechanism) {
    holds(mechanism, "spikes", 50, 50);
}

fn storm(mechanism: Mechanism) {
    holds(mechanism, "storm", 60, 75);
}
