//! Memory whose process is not who it seems: an address space of several processes, one whose main
//! thread has ended, one that nobody may look at, and files that are memory.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds, memory, number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use crate::limits::broken;
use record::value::Method;
use std::ffi::OsString;

each_mechanism!(
    vfork_shares_with_its_parent,
    who_ends_after_vfork_shared_with_its_parent,
    clones_share_with_their_parent,
    a_sibling_shares,
    a_sibling_keeps_what_it_shared,
    orphans_share_with_one_another,
    a_shared_space_breaks_no_limit,
    main_thread_ended,
    rss_limit_after_main_thread,
    virtual_limit_after_main_thread,
    memory_limit_after_main_thread,
    memory_limit_of_a_hidden_process,
    hidden_bytes_are_noted,
    files_in_memory_are_within_the_bounds,
);

/// Without a control group, which knows it all: what processes tell is in question.
const ALONE: [&str; 3] = ["--no-cgroup", "--interval", "100ms"];

fn spaces(mode: &str, mib: u64, hold: u64) -> Vec<OsString> {
    let hold = hold * slowness().min(5);
    words![
        program("spaces.static"),
        mode,
        mib.to_string(),
        hold.to_string()
    ]
}

fn watched(mechanism: Mechanism, command: Vec<OsString>) -> Done {
    let done = Run::watched(mechanism, command).options(ALONE).finish();
    done.expect_status(0);
    done
}

fn vfork_shares_with_its_parent(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("vfork", 200, 200));
    for name in ["memory_peak", "rss_peak"] {
        holds(&done, name, memory(200), mechanism.peaks());
    }
}

/// Of who ended before anybody looked it is not known that it shared: the bounds may be wide.
fn clones_share_with_their_parent(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("clone", 60, 300));
    for name in ["memory_peak", "rss_peak"] {
        let mib = number(&done, name) / MIB as f64;
        assert!(
            (59.0..=63.0).contains(&mib),
            "{name}: {mib}\n{}",
            done.context()
        );
    }
}

/// Where each process is told as it is born, so is whether its memory is its own. Elsewhere who
/// ended before anybody looked may have had a copy of everything.
fn who_ends_after_vfork_shared_with_its_parent(mechanism: Mechanism) {
    for hold in [0, 200] {
        let done = watched(mechanism, spaces("dead", 100, hold));
        for name in ["memory_peak", "rss_peak"] {
            if mechanism.peaks() == Rigour::Near {
                holds(&done, name, memory(100), Rigour::Near);
            }
            once(&done, name, 100);
        }
    }
}

/// Memory of `mib` MiB is counted once.
fn once(done: &Done, name: &str, mib: u64) {
    let (value, mib) = (number(done, name) / MIB as f64, mib as f64);
    let context = done.context();
    assert!(value <= mib * 1.01 + 2.0, "{name}: {value}\n{context}");
    let value = field(done, name).value().map(|value| value.method);
    if let Some(Method::LowerBound { upper: Some(upper) }) = value {
        assert!(
            upper as f64 >= mib * MIB as f64,
            "{name}: {upper}\n{context}"
        );
    }
}

fn a_sibling_shares(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("sibling", 100, 300));
    for name in ["memory_peak", "rss_peak"] {
        holds(&done, name, memory(100), mechanism.peaks());
    }
    once(&done, "virtual_peak", 102);
}

/// Which of the two ends first makes no difference.
fn a_sibling_keeps_what_it_shared(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("heir", 100, 300));
    for name in ["memory_peak", "rss_peak"] {
        holds(&done, name, memory(100), mechanism.peaks());
    }
}

fn orphans_share_with_one_another(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("orphans", 60, 300));
    for name in ["memory_peak", "rss_peak", "virtual_peak"] {
        once(&done, name, 60);
    }
}

fn a_shared_space_breaks_no_limit(mechanism: Mechanism) {
    for limit in ["memory=150MiB", "rss=150MiB"] {
        for mode in ["vfork", "clone", "sibling"] {
            let done = Run::watched(mechanism, spaces(mode, 100, 200))
                .options(ALONE)
                .options(["--limit", limit])
                .finish();
            done.expect_status(0);
        }
    }
}

fn main_thread_ended(mechanism: Mechanism) {
    let done = watched(mechanism, spaces("headless", 200, 600));
    for name in ["memory_peak", "rss_peak"] {
        holds(&done, name, memory(200), mechanism.peaks());
    }
    holds(&done, "threads_peak", Truth::exactly(2), mechanism.counts());
}

fn is_ended(mechanism: Mechanism, limit: &str) {
    let command = spaces("headless", 300, 30_000);
    broken(mechanism, limit, &["--no-cgroup"], command, 137);
}

fn rss_limit_after_main_thread(mechanism: Mechanism) {
    is_ended(mechanism, "rss=100MiB");
}

fn virtual_limit_after_main_thread(mechanism: Mechanism) {
    is_ended(mechanism, "virtual=250MiB");
}

fn memory_limit_after_main_thread(mechanism: Mechanism) {
    is_ended(mechanism, "memory=100MiB");
}

/// Whether `/proc` shows a user nothing of processes that he may not trace.
fn are_invisible() -> bool {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let hides = |line: &&str| line.contains(" /proc proc ") && line.contains("hidepid=");
    !process::is_root() && mounts.lines().any(|line| hides(&line))
}

fn memory_limit_of_a_hidden_process(mechanism: Mechanism) {
    if are_invisible() {
        skip!("processes that may not be traced are invisible here");
    }
    let command = spaces("hidden", 100, 30_000);
    broken(mechanism, "memory=50MiB", &["--no-cgroup"], command, 137);
    let enough = Run::watched(mechanism, spaces("hidden", 100, 500))
        .options(ALONE)
        .options(["--limit", "memory=150MiB"])
        .finish();
    enough.expect_status(0);
}

/// What is not watched is said, once.
fn hidden_bytes_are_noted(mechanism: Mechanism) {
    if process::is_root() || are_invisible() {
        skip!("root may read what others write, and what is invisible is not read at all");
    }
    for (limit, times) in [("written=200MiB", 1), ("wall=1h", 0)] {
        let done = Run::watched(mechanism, spaces("hidden", 100, 500))
            .options(ALONE)
            .options(["--limit", limit])
            .finish();
        done.expect_status(0);
        let notes = &done.report().monitor.notes;
        let told = notes.iter().filter(|note| note.contains("/proc/PID/io"));
        assert_eq!(told.count(), times, "{}", done.context());
    }
}

/// The machine's own count alone tells of them where no group does: what others give back at the
/// very moment, between the same two looks, hides as much. That is seldom so more than once.
fn files_in_memory_are_within_the_bounds(mechanism: Mechanism) {
    const TRIES: u32 = 3;
    for left in (0..TRIES).rev() {
        let done = watched(mechanism, spaces("memfd", 100, 300));
        let Some(value) = field(&done, "memory_peak").value() else {
            panic!("no memory_peak\n{}", done.context());
        };
        let number = value.value.as_f64() as u64;
        let (low, high) = match value.method {
            Method::Exact => (number, number),
            Method::LowerBound { upper } => (number, upper.unwrap_or(u64::MAX)),
            Method::UpperBound => (0, number),
            _ => (number, u64::MAX),
        };
        assert!(low <= 105 * MIB, "{value:?}\n{}", done.context());
        if high >= 100 * MIB {
            return;
        }
        assert!(left > 0, "{value:?}\n{}", done.context());
    }
}
