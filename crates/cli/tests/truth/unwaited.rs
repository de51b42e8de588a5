//! Processes for whom nobody waits: the kernel adds what they used to nobody, so the totals of the
//! wait chain are without it.

use crate::harness::expect::{MIB, Rigour, Truth, field, holds, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::run::{Done, Run};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::value::Method;

each_mechanism!(
    children_of_one_that_takes_no_ends,
    children_of_one_with_a_handler,
    children_of_one_that_ignores_ends,
    those_left_in_a_namespace_that_ends,
    programs_too_short_to_be_read,
    children_that_are_waited_for,
    children_that_are_waited_for_late,
);

const COUNT: u64 = 4;
const MS: u64 = 150;
/// Exit status of the workload if it cannot be done here.
const SKIP: i32 = 77;

fn unwaited(mechanism: Mechanism, how: &str, count: u64, ms: u64) -> Option<Done> {
    let (count, ms) = (count.to_string(), ms.to_string());
    let command = words![program("unwaited"), how, count, ms];
    let done = Run::watched(mechanism, command)
        .options(["--interval", "100ms"])
        .finish();
    if done.status == SKIP {
        return None;
    }
    done.expect_status(0);
    Some(done)
}

/// Where the end of each process tells what it used, that is known; else what was seen of it is
/// a lower bound. Nothing is called exact without them.
fn told(mechanism: Mechanism, how: &str) {
    // Nobody tells level query of an end, and on a slow machine samples are far apart.
    if mechanism.counts() == Rigour::Sampled && slowness() > 1 {
        skip!("samples may miss the children");
    }
    let Some(done) = unwaited(mechanism, how, COUNT, MS) else {
        skip!("no PID namespace for this user");
    };
    let rigour = match mechanism.peaks() {
        Rigour::Near => Rigour::Near,
        Rigour::Bound | Rigour::Sampled => Rigour::Sampled,
    };
    let cpu = Truth::cpu(COUNT * MS * 1_000_000, 400_000_000);
    holds(&done, "cpu_time", cpu, rigour);
    let read = Truth::between(COUNT * MIB, COUNT * MIB + MIB / 2);
    holds(&done, "bytes_read", read, rigour);
}

fn children_of_one_that_takes_no_ends(mechanism: Mechanism) {
    told(mechanism, "nocldwait");
}

fn children_of_one_with_a_handler(mechanism: Mechanism) {
    told(mechanism, "handler");
}

fn children_of_one_that_ignores_ends(mechanism: Mechanism) {
    told(mechanism, "ignored");
}

fn those_left_in_a_namespace_that_ends(mechanism: Mechanism) {
    told(mechanism, "namespace");
}

/// Their parent has not taken over a fault of theirs, and no program starts without one.
fn programs_too_short_to_be_read(mechanism: Mechanism) {
    if mechanism.counts() == Rigour::Sampled {
        skip!("nobody tells of processes too short for a sample");
    }
    let Some(done) = unwaited(mechanism, "programs", 20, 800 * slowness()) else {
        panic!("it needs no namespace");
    };
    let method = field(&done, "cpu_time").value().map(|value| value.method);
    let by_finals = mechanism.peaks() == Rigour::Near && method == Some(Method::Exact);
    assert!(
        by_finals || method == Some(Method::LowerBound { upper: None }),
        "{method:?}\n{}",
        done.context()
    );
}

fn children_that_are_waited_for(mechanism: Mechanism) {
    waited_for(mechanism, "wait");
}

/// Until then their parent has nothing of them, and nobody else has.
fn children_that_are_waited_for_late(mechanism: Mechanism) {
    waited_for(mechanism, "late");
}

fn waited_for(mechanism: Mechanism, how: &str) {
    let Some(done) = unwaited(mechanism, how, COUNT, MS) else {
        panic!("it needs no namespace");
    };
    let cpu = Truth::cpu(COUNT * MS * 1_000_000, 400_000_000);
    holds(&done, "cpu_time", cpu, Rigour::Near);
}
