//! The lines of the process table, and what a task does past the kernel's counts.

#![allow(clippy::unwrap_used, reason = "a test that lacks a row must fail")]

mod scene;

use record::event::Event;
use record::report::Process;
use record::sample::{Counters, WaitTotals};
use record::unit::Nanos;
use record::value::{Absent, Method};
use reduce::fold::Lines;
use reduce::settings::Mechanism::{Bpf, Connector, Procfs};
use reduce::settings::{KernelCounts, Settings};
use reduce::tree::Tree;
use scene::*;

fn row(rows: &Lines, pid: u32) -> Process {
    rows.iter().find(|row| row.pid == pid).unwrap()
}

fn ticks(cpu_ms: u64, user_ms: u64, system_ms: u64) -> Counters {
    Counters {
        cpu: Some(Nanos::from_millis(cpu_ms)),
        cpu_user: Some(Nanos::from_millis(user_ms)),
        cpu_system: Some(Nanos::from_millis(system_ms)),
        ..Counters::default()
    }
}

#[test]
fn the_main_process_of_a_sampled_task_has_its_end_and_its_parent() {
    let mut task = tree(Procfs);
    let (mut main, child) = (sample(1, 0, cpu(5), cpu(5)), sample(7, 20, cpu(9), cpu(9)));
    main.ppid = 4711;
    task.sample(ms(30), &[main, child]);
    let rows = task.finish(&end(90, Some(chain(cpu(20))))).processes;
    let main = row(&rows, 1);
    assert_eq!((main.code, main.ppid), (Some(0), Some(4711)));
    assert_eq!(main.end_ns, Some(Nanos::from_millis(90)));
    assert_eq!(method(&main.usage, "wall_time"), Method::Exact);
    // The other one was alive at 30 ms and is none of the survivors.
    let other = row(&rows, 7);
    assert_eq!(other.end_ns, Some(Nanos::from_millis(90)));
    assert_eq!(method(&other.usage, "wall_time"), Method::UpperBound);
    assert_eq!(other.code, None);
}

/// After its end is told a process is switched away from once more, for good.
#[test]
fn switches_of_a_process_are_no_more_than_a_lower_bound() {
    let settings = Settings {
        mechanism: Bpf,
        keep_processes: true,
        ..Settings::default()
    };
    let mut task = Tree::new(ms(0), 1, settings);
    fork(&mut task, 5, 1, 7);
    let own = Counters {
        switches_voluntary: Some(5),
        switches_involuntary: Some(0),
        ..cpu(2).counters()
    };
    task.event(Event::Exit {
        at: ms(10),
        pid: 7,
        ending: None,
        own: Some(Box::new(own)),
        peaks: None,
    });
    task.event(Event::Final {
        pid: 7,
        start: None,
        cpu_ns: Nanos::from_millis(2),
    });
    let rows = task.finish(&end(90, None)).processes;
    let usage = &row(&rows, 7).usage;
    assert_eq!(method(usage, "cpu_time"), Method::Exact);
    for name in ["switches_voluntary", "switches_involuntary"] {
        assert_eq!(method(usage, name), Method::LowerBound { upper: None });
    }
}

/// It waits for its exec before the task begins.
#[test]
fn the_main_process_lives_no_longer_than_the_task() {
    let settings = Settings {
        mechanism: Bpf,
        keep_processes: true,
        ..Settings::default()
    };
    let mut task = Tree::new(ms(30), 1, settings);
    fork(&mut task, 5, 99, 1);
    let rows = task.finish(&end(90, None)).processes;
    let main = row(&rows, 1);
    assert_eq!(
        (main.start_ns, main.end_ns),
        (Nanos(0), Some(Nanos::from_millis(60)))
    );
    assert_eq!(whole(&main.usage, "wall_time"), Nanos::from_millis(60).0);
}

#[test]
fn a_main_process_that_a_pass_missed_still_has_its_own_end() {
    let mut task = tree(Procfs);
    task.sample(ms(10), &[sample(1, 0, cpu(5), cpu(5))]);
    task.sample(ms(50), &[]);
    let rows = task.finish(&end(40, None)).processes;
    assert_eq!(row(&rows, 1).end_ns, Some(Nanos::from_millis(40)));
    assert_eq!(row(&rows, 1).code, Some(0));
}

/// The kernel would have told: nobody asked while it lived.
#[test]
fn threads_of_a_process_that_no_sample_met_are_gone() {
    let mut task = tree(Bpf);
    for pid in [2, 3] {
        spawn(&mut task, 5, 1, pid, "child");
    }
    task.sample(ms(20), &[sample(3, 5, cpu(1), cpu(1))]);
    for pid in [2, 3] {
        exit(&mut task, 30, pid, cpu(9));
    }
    let rows = task.finish(&end(90, None)).processes;
    let threads = |pid| absent(&row(&rows, pid).usage, "threads_peak");
    assert_eq!((threads(2), threads(3)), (Some(Absent::Gone), None));
    let waited = absent(&row(&rows, 2).usage, "io_wait");
    assert_eq!(waited, Some(Absent::NoKernelSupport));
}

#[test]
fn a_survivor_has_no_end() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "daemon");
    let mut ending = end(60, None);
    ending.survivors = vec![2];
    let rows = task.finish(&ending).processes;
    assert_eq!(row(&rows, 2).end_ns, None);
    assert_eq!(row(&rows, 1).end_ns, Some(Nanos::from_millis(60)));
}

#[test]
fn user_and_system_time_add_up_to_the_cpu_time_of_the_chain() {
    let mut task = tree(Bpf);
    // 198 ms of which the ticks of the process itself saw 250.
    task.event(record::event::Event::Exit {
        at: ms(100),
        pid: 1,
        ending: None,
        own: Some(Box::new(ticks(150, 200, 50))),
        peaks: None,
    });
    task.event(record::event::Event::Final {
        pid: 1,
        start: None,
        cpu_ns: Nanos::from_millis(198),
    });
    let waited = WaitTotals {
        counters: ticks(199, 100, 99),
        ..WaitTotals::default()
    };
    let with_chain = task.usage(&end(100, Some(waited)));
    assert_eq!(whole(&with_chain, "cpu_user"), 100_000_000);
    assert_eq!(whole(&with_chain, "cpu_system"), 99_000_000);
    let source = |usage: &record::report::Usage| {
        let field = usage.get("cpu_user").unwrap();
        field.value().unwrap().source.clone()
    };
    assert!(source(&with_chain).starts_with("wait chain"));

    let summary = task.finish(&end(100, None));
    let usage = &summary.usage;
    assert_eq!(whole(usage, "cpu_user"), 158_400_000);
    assert_eq!(whole(usage, "cpu_system"), 39_600_000);
    assert_eq!(method(usage, "cpu_user"), Method::Exact);
    assert!(source(usage).contains("ticks"), "{}", source(usage));
    let line = &row(&summary.processes, 1).usage;
    let parts = whole(line, "cpu_user") + whole(line, "cpu_system");
    assert_eq!(parts, whole(line, "cpu_time"));
}

#[test]
fn io_by_io_uring_makes_lower_bounds_of_the_calls_but_not_of_the_storage() {
    let io = |mut task: reduce::tree::Tree| {
        let waited = chain(reading(MIB));
        let notes = task.usage(&end(50, Some(waited)));
        task.unseen_io("never told twice");
        (notes, task.finish(&end(50, Some(waited))).notes)
    };
    let mut sampled = tree(Connector);
    let mut ring = sample(1, 0, reading(MIB), reading(MIB));
    ring.io_uring = true;
    sampled.sample(ms(20), &[ring]);
    let mut counted = tree(Bpf);
    counted.counts(&KernelCounts {
        io_uring_tasks: Some(1),
        exact: true,
        ..KernelCounts::default()
    });
    for task in [sampled, counted] {
        let (usage, notes) = io(task);
        assert_eq!(whole(&usage, "bytes_read"), MIB);
        assert_eq!(method(&usage, "bytes_read"), LOWER);
        assert_eq!(method(&usage, "reads"), LOWER);
        assert!(
            notes.iter().any(|note| note.contains("io_uring")),
            "{notes:?}"
        );
    }
    let mut counted = tree(Bpf);
    counted.counts(&KernelCounts {
        io_uring_tasks: Some(0),
        ..KernelCounts::default()
    });
    let usage = counted.usage(&end(50, Some(chain(reading(MIB)))));
    assert_eq!(method(&usage, "bytes_read"), Method::Exact);
}

#[test]
fn children_of_one_that_ignores_sigchld_may_pass_the_chain_by() {
    let bounded = |forks_before: bool, forks_after: bool| {
        let mut task = tree(Connector);
        if forks_before {
            fork(&mut task, 5, 1, 2);
            gone(&mut task, 10, 2);
        }
        let mut deaf = sample(1, 0, cpu(5), cpu(5));
        deaf.sigchld_ignored = true;
        task.sample(ms(20), &[deaf]);
        if forks_after {
            fork(&mut task, 25, 1, 3);
            gone(&mut task, 30, 3);
        }
        gone(&mut task, 50, 1);
        let usage = task.finish(&end(50, Some(chain(cpu(20))))).usage;
        method(&usage, "cpu_time") == LOWER
    };
    assert!(bounded(true, false));
    assert!(bounded(false, true));
    assert!(!bounded(false, false));
}

#[test]
fn what_nobody_read_is_gone_and_not_unsupported() {
    let mut task = tree(Procfs);
    task.sample(ms(1), &[]);
    let usage = task.finish(&end(2, Some(chain(cpu(1))))).usage;
    assert_eq!(absent(&usage, "cpu_wait"), Some(Absent::Gone));
    assert_eq!(absent(&usage, "virtual_peak"), Some(Absent::Gone));
    assert_eq!(method(&usage, "cpu_time"), Method::Exact);
}
