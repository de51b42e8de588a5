//! Many processes and any processes: bounds of the table, and what holds for every stream.

mod scene;

use proptest::prelude::*;
use record::event::Event;
use record::identity::Ending;
use record::report::{Process, Usage};
use record::sample::GroupSample;
use record::unit::{Bytes, Nanos};
use record::value::{Method, Number};
use reduce::settings::{End, Mechanism, SeriesKind, Settings};
use reduce::tree::Tree;
use scene::*;

fn storm(count: u32, max_processes: usize) -> Tree {
    let settings = Settings {
        mechanism: Mechanism::Bpf,
        keep_processes: true,
        max_processes,
        ..Settings::default()
    };
    let mut task = Tree::new(ZERO, 1, settings);
    exec(&mut task, 0, 1, "sh");
    for i in 0..count {
        let (pid, at) = (2 + i % 30_000, u64::from(i) + 1);
        // Arguments of all kinds for a fifth of them.
        let command = match i % 5 {
            0 => format!("cc {i}.c"),
            _ => "true".to_owned(),
        };
        spawn(&mut task, at, 1, pid, &command);
        let used = Used {
            cpu_ms: u64::from(i % 3),
            read: u64::from(i % 7) * 4096,
            rss: u64::from(i % 11) * MIB,
            ..Used::default()
        };
        exit(&mut task, at + 1, pid, used);
    }
    task
}

fn sums(lines: impl Iterator<Item = Process>) -> (u64, u64, u64, u64) {
    let lines: Vec<_> = lines.collect();
    let sum = |name: &str| {
        lines
            .iter()
            .filter_map(|p| p.usage.get(name)?.whole())
            .sum()
    };
    let folded = lines.iter().map(|p| p.folded).sum();
    let rss = lines
        .iter()
        .filter_map(|p| p.usage.get("rss_peak")?.whole())
        .max();
    (folded, sum("cpu_time"), sum("bytes_read"), rss.unwrap_or(0))
}

#[test]
fn folded_lines_hold_what_single_lines_held() {
    let count = 20_000;
    let at = u64::from(count) + 5;
    let single = storm(count, usize::MAX).finish(&end(at, None));
    let folded = storm(count, 100).finish(&end(at, None));
    assert_eq!(sums(single.processes.iter()), sums(folded.processes.iter()));
    assert_eq!(single.usage, folded.usage);
    assert_eq!(single.folded, 0);
    assert_eq!(folded.processes.len(), 100);
    let alone = folded.processes.iter().filter(|p| p.folded == 1).count();
    assert!(alone >= 50, "{alone} lines of one process");
    assert!(folded.folded >= u64::from(count) + 1 - alone as u64);
    let exact = |line: Process| line.usage.get("cpu_time").unwrap().value().unwrap().method;
    let mut ended = folded.processes.iter().filter(|line| line.pid != 1);
    assert!(ended.all(|line| exact(line) == Method::Exact));
}

/// Survivors and the main process take lines too, and none is lost.
#[test]
fn no_number_of_survivors_takes_more_lines_than_allowed() {
    for max_processes in [2, 3, 10] {
        let settings = Settings {
            mechanism: Mechanism::Bpf,
            keep_processes: true,
            max_processes,
            ..Settings::default()
        };
        let mut task = Tree::new(ZERO, 1, settings);
        exec(&mut task, 0, 1, "sh");
        for pid in 2..30 {
            spawn(&mut task, 1, 1, pid, "sleep");
        }
        for pid in 2..10 {
            exit(&mut task, 2, pid, cpu(1));
        }
        let end = End {
            survivors: task.alive(),
            ..end(3, None)
        };
        let lines = task.finish(&end).processes;
        assert!(
            lines.len() <= max_processes,
            "{} lines of {max_processes}",
            lines.len()
        );
        assert_eq!(sums(lines.iter()).0, 29);
        assert_eq!(sums(lines.iter()).1, 8_000_000);
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.pid == 1 && line.folded == 1)
                .count(),
            1
        );
    }
}

#[test]
fn six_thousand_four_at_a_time_are_none_missed_and_none_double() {
    let mut task = tree(Mechanism::Bpf);
    for i in 0..6000u64 {
        if i >= 4 {
            exit(&mut task, i, 10 + (i as u32 - 4), cpu(1));
        }
        spawn(&mut task, i, 1, 10 + i as u32, "true");
    }
    for i in 5996..6000 {
        exit(&mut task, 6000, 10 + i, cpu(1));
    }
    exit(&mut task, 6001, 1, cpu(3));
    let usage = task.finish(&end(6001, None)).usage;
    assert_eq!(whole(&usage, "processes_total"), 6001);
    assert_eq!(whole(&usage, "processes_peak"), 5);
    assert_eq!(whole(&usage, "cpu_time"), 6_003_000_000);
    assert_eq!(method(&usage, "cpu_time"), Method::Exact);
}

/// One step of a random stream; pids are few, so that they meet again.
#[derive(Debug, Clone)]
enum Step {
    Fork(u32, u32),
    Exec(u32, u8),
    Exit(u32, Option<(u64, u64)>),
    Final(u32, u64),
    Lost(u64),
    Pass(Vec<(u32, u64, u64, Option<u64>, bool)>),
    Group(u64, u64),
    Waited(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let pid = 1u32..12;
    let size = prop_oneof![0u64..1 << 40, Just(u64::MAX), Just(0)];
    let row = (
        pid.clone(),
        size.clone(),
        0u64..1 << 40,
        proptest::option::of(0u64..1 << 30),
        any::<bool>(),
    );
    prop_oneof![
        4 => (pid.clone(), pid.clone()).prop_map(|(a, b)| Step::Fork(a, b)),
        3 => (pid.clone(), any::<u8>()).prop_map(|(a, b)| Step::Exec(a, b)),
        4 => (pid.clone(), proptest::option::of((size.clone(), size.clone())))
            .prop_map(|(a, b)| Step::Exit(a, b)),
        2 => (pid, 0u64..1 << 40).prop_map(|(a, b)| Step::Final(a, b)),
        1 => (0u64..3).prop_map(Step::Lost),
        3 => proptest::collection::vec(row, 0..6).prop_map(Step::Pass),
        1 => (size.clone(), size.clone()).prop_map(|(a, b)| Step::Group(a, b)),
        1 => (0u64..1 << 40, size).prop_map(|(a, b)| Step::Waited(a, b)),
    ]
}

fn apply(task: &mut Tree, at: Nanos, step: &Step) {
    match step {
        Step::Fork(parent, pid) => task.event(Event::Fork {
            at,
            parent: Some(*parent),
            pid: *pid,
            start: None,
            memory_of: None,
        }),
        Step::Exec(pid, name) => task.event(Event::Exec {
            at,
            pid: *pid,
            command: vec![*name; usize::from(*name % 3)],
            truncated: false,
            path: None,
            former: None,
        }),
        Step::Exit(pid, used) => {
            let own = used.map(|(read, _)| {
                Box::new(
                    Used {
                        read,
                        ..cpu(read % 1000)
                    }
                    .counters(),
                )
            });
            task.event(Event::Exit {
                at,
                pid: *pid,
                ending: Some(Ending::Signal(9)),
                own,
                peaks: used.map(|(_, rss)| record::sample::MemoryPeaks {
                    rss: Some(Bytes(rss)),
                    virtual_size: None,
                    anon_at_end: Some(Bytes(rss / 2)),
                }),
            });
        }
        Step::Final(pid, cpu) => task.event(Event::Final {
            pid: *pid,
            start: None,
            cpu_ns: Nanos(*cpu),
        }),
        Step::Lost(count) => task.event(Event::Lost { at, count: *count }),
        Step::Pass(rows) => pass(task, at, rows),
        Step::Group(unreclaimable, peak) => task.group(
            at,
            &GroupSample {
                unreclaimable: Some(Bytes(*unreclaimable)),
                peak: Some(Bytes(*peak)),
                ..GroupSample::default()
            },
        ),
        Step::Waited(read, rss) => task.waited(&chain(Used {
            read: *read,
            rss: *rss,
            ..Used::default()
        })),
    }
}

fn pass(task: &mut Tree, at: Nanos, rows: &[(u32, u64, u64, Option<u64>, bool)]) {
    let samples: Vec<_> = rows
        .iter()
        .map(|&(pid, read, rss, pss, zombie)| {
            let own = Used {
                read,
                rss,
                anon: rss / 3,
                pss,
                ..cpu(read % 5000)
            };
            let mut one = sample(pid, 0, own, own);
            if zombie {
                (one.state, one.threads) = ('Z', None);
            }
            one
        })
        .collect();
    task.sample(at, &samples);
}

fn sane(usage: &Usage) -> Result<(), TestCaseError> {
    prop_assert_eq!(usage.0.len(), reduce::METRICS.len());
    for (name, field) in &usage.0 {
        let Some(value) = field.value() else { continue };
        if let Number::Real(x) = value.value {
            prop_assert!(x.is_finite() && x >= 0.0, "{} = {}", name, x);
        }
        if let (Method::LowerBound { upper: Some(upper) }, Number::Whole(low)) =
            (value.method, value.value)
        {
            prop_assert!(low <= upper, "{}: {} > {}", name, low, upper);
        }
        prop_assert!(!value.source.is_empty(), "{}", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_stream_gives_a_sane_report(
        steps in proptest::collection::vec((0u64..50_000_000, step()), 0..80),
        mechanism in 0usize..4,
        with_chain in any::<bool>(),
        by_process in any::<bool>(),
    ) {
        let all = [Mechanism::Bpf, Mechanism::Ptrace, Mechanism::Connector, Mechanism::Procfs];
        let settings = Settings {
            mechanism: all[mechanism],
            max_processes: 3,
            keep_processes: true,
            keep_series: if by_process { SeriesKind::Process } else { SeriesKind::Task },
            ..Settings::default()
        };
        let mut task = Tree::new(ZERO, 1, settings);
        let (mut now, mut cpu_before) = (ZERO, 0.0);
        for (wait, step) in &steps {
            now = now.plus(Nanos(*wait));
            apply(&mut task, now, step);
            let live = task.live(now);
            if let Some(memory) = live.memory {
                prop_assert!(memory.low <= memory.high);
            }
            if let Some(cpu) = live.cpu {
                prop_assert!(cpu.value >= cpu_before);
                cpu_before = cpu.value;
            }
            if let Some(cores) = live.cores {
                prop_assert!(cores.value.is_finite() && cores.value >= 0.0);
            }
        }
        let waited = with_chain.then(|| chain(memory(1 << 30, 0)));
        let end = End { at: now, until: now, main: None, waited, survivors: task.alive() };
        sane(&task.usage(&end))?;
        let alive = task.alive().len();
        let summary = task.finish(&end);
        sane(&summary.usage)?;
        prop_assert_eq!(summary.survivors.len(), alive);
        let counted: u64 = summary.processes.iter().map(|p| p.folded).sum();
        let total = summary.usage.get("processes_total").and_then(|f| f.whole());
        prop_assert_eq!(Some(counted), total);
    }

    /// Where every process tells its end, the sum of what each held never leaves the bounds.
    #[test]
    fn the_bounds_hold_the_truth(
        lives in proptest::collection::vec((1u64..2000, 1u64..400, 1u64..1 << 32), 1..20),
        passes in proptest::collection::vec(1u64..2500, 0..6),
    ) {
        let mut task = tree(Mechanism::Bpf);
        let mut moments: Vec<(u64, u8, usize)> = Vec::new();
        for (index, (start, length, _)) in lives.iter().enumerate() {
            moments.push((*start, 0, index));
            moments.push((start + length, 2, index));
        }
        moments.extend(passes.iter().map(|at| (*at, 1, 0)));
        moments.sort_unstable();
        let (mut alive, mut truth) = (std::collections::BTreeSet::new(), 0u64);
        for (at, kind, index) in moments {
            let held = |i: &usize| lives[*i].2;
            match kind {
                0 => {
                    alive.insert(index);
                    fork(&mut task, at, 1, 10 + index as u32);
                }
                1 => {
                    let rows: Vec<_> = alive
                        .iter()
                        .map(|i| {
                            let used = memory(held(i), held(i));
                            sample(10 + *i as u32, lives[*i].0, used, used)
                        })
                        .collect();
                    task.sample(ms(at), &rows);
                }
                _ => {
                    alive.remove(&index);
                    exit(&mut task, at, 10 + index as u32, memory(held(&index), held(&index)));
                }
            }
            truth = truth.max(alive.iter().map(held).sum());
        }
        exit(&mut task, 3000, 1, memory(0, 0));
        let usage = task.finish(&end(3000, None)).usage;
        let value = whole(&usage, "rss_peak");
        let slack = 2 * MIB + truth / 50;
        match method(&usage, "rss_peak") {
            Method::Exact => prop_assert!(value.abs_diff(truth) <= slack, "{} {}", value, truth),
            Method::LowerBound { upper: Some(upper) } => {
                prop_assert!(value <= truth && truth <= upper);
            }
            Method::Sampled { .. } => prop_assert!(value <= truth),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
