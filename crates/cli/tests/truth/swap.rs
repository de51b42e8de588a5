//! Swap: what was swapped out, and the limit on it. Where there is no swap all of it is skipped.

use crate::harness::expect::{MIB, Rigour, field, holds, memory, slowness};
use crate::harness::mechanism::{Mechanism, with};
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use crate::limits::{broken, unbroken};
use record::value::Method;
use std::ffi::OsString;
use std::fs;

each_mechanism!(
    peak_of_what_was_swapped_out,
    peak_without_a_group,
    limit,
    limit_that_is_only_measured,
    limit_that_is_not_reached,
);

/// What the program has in swap.
const MIB_OUT: u64 = 120;

/// Why nothing can be swapped out here, if so.
fn missing() -> Option<String> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let line = meminfo.lines().find_map(|it| it.strip_prefix("SwapFree:"));
    let free: u64 = line.map_or(0, |it| it.trim().trim_end_matches(" kB").parse().unwrap());
    (free << 10 < 2 * MIB_OUT * MIB).then(|| format!("{free} KiB of swap are free here"))
}

/// The program with this many children that share its pages; long enough for some passes.
fn swapped(children: u64) -> Vec<OsString> {
    let hold = (1000 * slowness().min(5)).to_string();
    let (mib, children) = (MIB_OUT.to_string(), children.to_string());
    words![program("swapped.static"), mib, hold, children]
}

/// The same for as long as nobody ends it.
fn swapped_for_good() -> Vec<OsString> {
    words![program("swapped.static"), MIB_OUT.to_string(), "300000"]
}

/// Runs the program; `None` if it could not be done.
fn finished(mechanism: Mechanism, options: &[&str], command: Vec<OsString>) -> Option<Done> {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return None;
    }
    let done = Run::watched(mechanism, command)
        .options(["--interval", "100ms"])
        .options(options)
        .finish();
    if let Some(why) = done.skipped() {
        println!("skipped: {why}");
        return None;
    }
    done.expect_status(0);
    Some(done)
}

/// Near the truth, and from an instant at which that much can have been swapped out.
#[track_caller]
fn peak_is_true(done: &Done) -> &Method {
    holds(done, "swap_peak", memory(MIB_OUT), Rigour::Near);
    let value = field(done, "swap_peak").value().unwrap();
    let at = value.at_ns.expect("an instant");
    let wall = field(done, "wall_time").whole().unwrap();
    let began = done.printed("began_ns");
    assert!((began..=wall).contains(&at.0), "{began} {at:?} {wall}");
    &value.method
}

fn peak_of_what_was_swapped_out(mechanism: Mechanism) {
    let Some(done) = finished(mechanism, &[], swapped(0)) else {
        return;
    };
    match peak_is_true(&done) {
        Method::Sampled { .. } => {}
        // The group's own peak; the kernel keeps one from 6.5 on.
        Method::Exact => assert!(field(&done, "cgroup_peak").value().is_some()),
        other => panic!("{other:?}"),
    }
}

fn peak_without_a_group(mechanism: Mechanism) {
    if let Some(done) = finished(mechanism, &["--no-cgroup"], swapped(0)) {
        let method = peak_is_true(&done);
        assert!(matches!(method, Method::Sampled { .. }), "{method:?}");
    }
}

/// Each process tells the pages that it shares with others as its own; the group has them once.
#[test]
fn root_pages_in_swap_that_are_shared_count_once() {
    let Some(done) = finished(Mechanism::Default, &[], swapped(3)) else {
        return;
    };
    if field(&done, "cgroup_peak").value().is_none() {
        skip!("no control group with memory");
    }
    peak_is_true(&done);
}

fn limit(mechanism: Mechanism) {
    if let Some(why) = missing() {
        skip!("{why}");
    }
    let done = broken(mechanism, "swap=50MiB", &[], swapped_for_good(), 137);
    let one = &done.report().exceeded[0];
    assert!(one.value.as_f64() <= (MIB_OUT * MIB) as f64 * 1.01);
    let process = one.process.as_deref().unwrap_or_default();
    assert!(process.contains("swapped"), "{process}");
}

fn limit_that_is_only_measured(mechanism: Mechanism) {
    let options = ["--limit", "swap=50MiB", "--measure-only"];
    let Some(done) = finished(mechanism, &options, swapped(0)) else {
        return;
    };
    let exceeded = &done.report().exceeded;
    assert_eq!(exceeded.len(), 1, "{}", done.context());
    assert_eq!(exceeded[0].resource, "swap");
    assert!(!exceeded[0].enforced, "{exceeded:?}");
    peak_is_true(&done);
}

fn limit_that_is_not_reached(mechanism: Mechanism) {
    if let Some(why) = missing() {
        skip!("{why}");
    }
    unbroken(mechanism, "swap=150MiB", swapped(0));
}

/// A limit of memory that the kernel keeps lets the task swap as much as the limit of swap says,
/// and not at all without one.
#[test]
fn root_a_limit_of_swap_beside_one_of_memory() {
    if let Some(why) = missing() {
        skip!("{why}");
    }
    with(Mechanism::Default, |mechanism| {
        let fill = || words![program("fill.static"), MIB_OUT.to_string(), "exit"];
        let limit = |limit| {
            Run::watched(mechanism, fill())
                .options(["--limit", limit])
                .finish()
        };
        let done = limit("memory=60MiB,swap=100MiB");
        if field(&done, "cgroup_peak").value().is_none() {
            skip!("no control group with memory");
        }
        done.expect_status(0);
        let least = 50 * MIB;
        let most = 100 * MIB;
        let out = field(&done, "swap_peak").whole().unwrap();
        assert!((least..=most).contains(&out), "{out}\n{}", done.context());
        limit("memory=60MiB,swap=20MiB").expect_status(137);
        limit("memory=60MiB").expect_status(137);
    });
}
