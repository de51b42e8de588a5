//! Processes that run in the address space of another: that memory is there once.

mod scene;

use record::event::Event;
use record::report::Usage;
use record::sample::{PageSizes, Shared};
use record::unit::Bytes;
use record::value::Method;
use reduce::settings::Mechanism::{self, Bpf, Connector};
use reduce::tree::Tree;
use scene::*;

const BIG: u64 = 100 * MIB;

fn forked(task: &mut Tree, at: u64, parent: u32, pid: u32, memory_of: Option<u32>) {
    task.event(Event::Fork {
        at: ms(at),
        parent: Some(parent),
        pid,
        start: None,
        memory_of,
    });
}

/// A program that holds 100 MiB.
fn holder(mechanism: Mechanism) -> Tree {
    let mut task = tree(mechanism);
    let page = Bytes(4096);
    task.paging(PageSizes { page, huge: None }, 0);
    task
}

fn held() -> Used {
    Used {
        faults: Some(BIG / 4096),
        ..memory(BIG + MIB, BIG)
    }
}

/// As a process without memory of its own tells it at its end: the marks are of the other's.
fn with_faults(faults: u64) -> Used {
    Used {
        faults: Some(faults),
        ..memory(BIG + MIB, BIG)
    }
}

fn peaks(usage: &Usage) -> [(u64, Method); 2] {
    ["rss_peak", "virtual_peak"].map(|name| (whole(usage, name), method(usage, name)))
}

const ONCE: [(u64, Method); 2] = [(BIG + MIB, Method::Exact), (2 * (BIG + MIB), Method::Exact)];

fn end_of(task: Tree) -> Usage {
    let used = Used {
        faults: Some(BIG / 4096 + 10),
        ..memory(BIG + MIB, BIG)
    };
    task.finish(&end(100, Some(chain(used)))).usage
}

#[test]
fn who_ends_in_the_space_of_its_parent_had_nothing() {
    for shares in [true, false] {
        let mut task = holder(Bpf);
        forked(&mut task, 50, 1, 2, shares.then_some(1));
        exit(&mut task, 51, 2, with_faults(10));
        exit(&mut task, 100, 1, held());
        let usage = end_of(task);
        assert_eq!(peaks(&usage) == ONCE, shares);
        if shares {
            let upper = match method(&usage, "memory_peak") {
                Method::LowerBound { upper } => upper,
                _ => Some(whole(&usage, "memory_peak")),
            };
            assert!(upper.is_some_and(|upper| upper < BIG + MIB), "{upper:?}");
        }
    }
}

/// The sibling is the youngest: who made it is not its parent.
#[test]
fn a_sibling_has_the_space_of_who_made_it() {
    let mut task = holder(Bpf);
    forked(&mut task, 50, 9, 2, Some(1));
    exit(&mut task, 90, 2, with_faults(10));
    exit(&mut task, 100, 1, held());
    assert_eq!(peaks(&end_of(task)), ONCE);
}

#[test]
fn the_oldest_has_the_space_when_its_owner_is_gone() {
    let mut task = holder(Bpf);
    for pid in 2..5 {
        forked(&mut task, 50, 1, pid, Some(1));
    }
    exit(&mut task, 60, 1, held());
    for pid in 2..5 {
        exit(&mut task, 60 + u64::from(pid), pid, with_faults(10));
    }
    assert_eq!(peaks(&end_of(task)), ONCE);
}

#[test]
fn an_owner_that_becomes_another_program_leaves_its_space_to_others() {
    let mut task = holder(Bpf);
    forked(&mut task, 50, 1, 2, Some(1));
    exec(&mut task, 60, 1, "small");
    exit(&mut task, 70, 2, with_faults(10));
    exit(&mut task, 100, 1, memory(10 * MIB, 9 * MIB));
    let (rss, how) = peaks(&end_of(task))[0];
    assert!(rss >= BIG + MIB);
    assert!(
        matches!(how, Method::LowerBound { upper: Some(upper) } if upper >= BIG + 11 * MIB)
            || how == LOWER,
        "{how:?}"
    );
}

/// An exec parts them: both are there then.
#[test]
fn who_executes_a_program_has_its_own_space() {
    let mut task = holder(Bpf);
    forked(&mut task, 50, 1, 2, Some(1));
    exec(&mut task, 55, 2, "other");
    exit(&mut task, 90, 2, memory(BIG, BIG));
    exit(&mut task, 100, 1, held());
    let usage = end_of(task);
    let Method::LowerBound { upper: Some(upper) } = method(&usage, "rss_peak") else {
        panic!("{:?}", usage.get("rss_peak"));
    };
    assert!(upper >= 2 * BIG, "{upper}");
}

/// Where no event tells, a reading does, for all the time since the fork.
#[test]
fn a_reading_tells_that_it_shared_from_the_start() {
    for proven in [true, false] {
        let mut task = holder(Connector);
        forked(&mut task, 50, 1, 2, None);
        let owner = sample(1, 0, held(), held());
        let mut other = sample(2, 50, with_faults(10), with_faults(10));
        other.memory_of = Some(Shared { pid: 1, proven });
        task.sample(ms(60), &[owner, other]);
        gone(&mut task, 70, 2);
        gone(&mut task, 100, 1);
        assert_eq!(peaks(&end_of(task))[0] == ONCE[0], proven);
    }
}
