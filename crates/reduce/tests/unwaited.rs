//! Totals where the wait chain lacks processes for whom nobody waited.

mod scene;

use record::event::Event;
use record::identity::Ending;
use record::unit::Nanos;
use record::value::Method;
use reduce::era::{Faults, OfOne};
use reduce::settings::KernelCounts;
use reduce::settings::Mechanism::{self, Bpf, Connector, Procfs};
use reduce::tree::Tree;
use scene::*;

fn used(cpu_ms: u64, faults: u64) -> Used {
    Used {
        faults: Some(faults),
        ..cpu(cpu_ms)
    }
}

/// A shell with a child that used 100 ms and had 50 faults when it was read, at 50.
fn with_child(mechanism: Mechanism) -> Tree {
    let mut task = tree(mechanism);
    if mechanism.tells_tree() {
        spawn(&mut task, 5, 1, 2, "busy");
    }
    let shell = sample(1, 0, used(1, 90), used(1, 90));
    let child = sample(2, 5, used(100, 50), used(100, 50));
    task.sample(ms(50), &[shell, child]);
    task
}

fn cpu_time(task: Tree, waited: Used) -> (u64, Method, usize) {
    let summary = task.finish(&end(500, Some(chain(waited))));
    let usage = &summary.usage;
    let notes = summary.notes.iter();
    let notes = notes.filter(|note| note.starts_with("nobody waited"));
    let value = whole(usage, "cpu_time") / 1_000_000;
    (value, method(usage, "cpu_time"), notes.count())
}

#[test]
fn a_chain_with_less_than_was_seen_is_a_lower_bound() {
    for mechanism in [Connector, Procfs] {
        let missed = cpu_time(with_child(mechanism), used(2, 95));
        assert_eq!(missed, (101, LOWER, 1), "{mechanism:?}");
        let whole = cpu_time(with_child(mechanism), used(110, 150));
        assert_eq!(whole, (110, Method::Exact, 0), "{mechanism:?}");
    }
}

/// The shell is read again after that, and has none of the child's faults.
#[test]
fn a_parent_that_took_nothing_over_waits_for_nobody() {
    let told = |children: u64, passes: u64| {
        let mut task = with_child(Procfs);
        for pass in 1..=passes {
            let (own, all) = (used(1, 90), used(1, 90 + children));
            task.sample(ms(50 + 50 * pass), &[sample(1, 0, own, all)]);
        }
        cpu_time(task, used(400, 900))
    };
    assert_eq!(told(0, 2), (400, LOWER, 1));
    assert_eq!(told(49, 2), (400, LOWER, 1));
    assert_eq!(told(50, 2), (400, Method::Exact, 0));
    // It may have been in no list for a moment.
    assert_eq!(told(0, 1), (400, Method::Exact, 0));
}

#[test]
fn who_is_missed_once_and_there_again_is_not_gone() {
    let mut task = with_child(Procfs);
    let shell = || sample(1, 0, used(1, 90), used(1, 90));
    let child = sample(2, 5, used(100, 50), used(100, 50));
    task.sample(ms(100), &[shell()]);
    task.sample(ms(150), &[shell(), child]);
    task.sample(ms(200), &[shell()]);
    assert_eq!(cpu_time(task, used(400, 900)), (400, Method::Exact, 0));
}

/// A look at the family: `children` is what the shell took over.
#[test]
fn a_look_at_the_family_tells_who_took_nothing_over() {
    let told = |unwaited: bool, children: u64| {
        let mut task = tree(Connector);
        task.paging(PAGES, 0);
        spawn(&mut task, 5, 1, 2, "short");
        gone(&mut task, 10, 2);
        let dead = vec![(2, ms(5))];
        assert_eq!(task.kin().map(|kin| kin.dead), Some(dead.clone()));
        let (unwaited, gone) = match unwaited {
            true => (dead, Vec::new()),
            false => (Vec::new(), dead),
        };
        let faults = Faults {
            living: vec![OfOne {
                pid: 1,
                own: 90,
                children,
            }],
            of_the_dead: children,
            unwaited,
            gone,
        };
        task.family(ms(20), ms(20), faults);
        cpu_time(task, used(400, 900)).1
    };
    assert_eq!(told(false, 0), LOWER);
    assert_eq!(told(false, 60), Method::Exact);
    assert_eq!(told(true, 0), Method::Exact);
}

/// The kernel program knows who vanished; their final values are the totals, if none is lost.
#[test]
fn final_values_make_up_for_a_chain_that_lacks_some() {
    let told = |lost: bool| {
        let mut task = tree(Bpf);
        spawn(&mut task, 5, 1, 2, "busy");
        task.counts(&KernelCounts {
            auto_reaped: Some(1),
            exact: true,
            ..KernelCounts::default()
        });
        exit(&mut task, 480, 1, cpu(2));
        assert!(!task.lacks_finals());
        if lost {
            task.event(record::event::Event::Exit {
                at: ms(490),
                pid: 2,
                ending: None,
                own: Some(Box::new(cpu(3).counters())),
                peaks: None,
            });
            assert!(task.lacks_finals());
        } else {
            exit(&mut task, 490, 2, cpu(3));
        }
        cpu_time(task, cpu(2))
    };
    assert_eq!(told(false), (5, Method::Exact, 0));
    assert_eq!(told(true), (5, LOWER, 1));
}

const PAGES: record::sample::PageSizes = record::sample::PageSizes {
    page: record::unit::Bytes(4096),
    huge: None,
};

#[test]
fn a_child_without_a_fault_owes_nothing() {
    let mut task = tree(Connector);
    task.paging(PAGES, 0);
    fork(&mut task, 5, 1, 2);
    gone(&mut task, 6, 2);
    let faults = Faults {
        gone: vec![(2, ms(5))],
        ..Faults::default()
    };
    task.family(ms(20), Nanos(ms(20).0), faults);
    assert_eq!(cpu_time(task, cpu(4)), (4, Method::Exact, 0));
}

/// The first process of a PID namespace, with a child; at 100 both are gone, by `ending` the child.
fn with_namespace(mechanism: Mechanism, ending: Option<Ending>) -> Tree {
    let mut task = tree(mechanism);
    if mechanism.tells_tree() {
        spawn(&mut task, 5, 1, 2, "init");
        spawn(&mut task, 6, 2, 3, "child");
    }
    let mut init = sample(2, 5, used(1, 90), used(1, 90));
    init.is_init = true;
    let mut child = sample(3, 6, used(1, 50), used(1, 50));
    child.ppid = 2;
    let shell = || sample(1, 0, used(1, 90), used(1, 90));
    task.sample(ms(50), &[shell(), init.clone(), child]);
    match ending {
        None => task.sample(ms(60), &[shell(), init]),
        Some(_) if mechanism.tells_tree() => {
            let (at, own, peaks) = (ms(100), None, None);
            task.event(Event::Exit {
                at,
                pid: 3,
                ending,
                own,
                peaks,
            });
            gone(&mut task, 100, 2);
        }
        Some(_) => {}
    }
    task
}

/// They are in no sum, and nothing that was seen of them shows it.
#[test]
fn who_is_killed_with_a_namespace_is_waited_for_by_nobody() {
    let told = |mechanism, ending| cpu_time(with_namespace(mechanism, ending), used(400, 900)).1;
    let killed = Some(Ending::Signal(9));
    assert_eq!(told(Connector, killed), LOWER);
    assert_eq!(told(Connector, Some(Ending::Code(0))), Method::Exact);
    // Nobody tells how those ended that were there a moment before.
    assert_eq!(told(Procfs, killed), LOWER);
    assert_eq!(told(Procfs, None), Method::Exact);
}
