//! Totals and counts of processes against tasks whose truth is known by construction.

mod scene;

use record::event::Event;
use record::sample::{Counters, ProcessSample};
use record::unit::{Bytes, Nanos};
use record::value::{Absent, Method};
use reduce::settings::KernelCounts;
use reduce::settings::Mechanism::{Bpf, Connector, Procfs, Ptrace, Taskstats};
use reduce::space::Space;
use reduce::summary::Summary;
use reduce::tree::Tree;
use scene::*;

#[test]
fn two_readers_under_a_shell_are_read_once_each() {
    let (each, all) = (64 * MIB, 128 * MIB);
    let mut task = tree(Bpf);
    for pid in [2, 3] {
        spawn(&mut task, 5, 1, pid, "reader");
        exit(&mut task, 50, pid, reading(each));
    }
    // The shell has waited for both: its /proc/PID/io holds them too.
    task.sample(ms(60), &[sample(1, 0, reading(0), reading(all))]);
    let live = task.live(ms(60));
    assert_eq!(live.read.unwrap().value, all as f64);
    exit(&mut task, 70, 1, reading(0));
    let usage = task.finish(&end(70, Some(chain(reading(all))))).usage;
    assert_eq!(whole(&usage, "bytes_read"), all);
    assert_eq!(whole(&usage, "reads"), all / 4096);
    assert_eq!(method(&usage, "bytes_read"), Method::Exact);
}

#[test]
fn a_shell_that_lives_on_is_added_to_the_chain_with_its_children() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "daemon");
    spawn(&mut task, 6, 2, 3, "reader");
    gone(&mut task, 50, 3);
    gone(&mut task, 60, 1);
    let daemon = sample(2, 5, reading(MIB), reading(65 * MIB));
    task.sample(ms(60), &[daemon]);
    let mut ending = end(60, Some(chain(reading(10 * MIB))));
    ending.survivors = vec![2];
    let summary = task.finish(&ending);
    assert_eq!(whole(&summary.usage, "bytes_read"), 75 * MIB);
    assert_eq!(method(&summary.usage, "bytes_read"), Method::Exact);
    assert_eq!(summary.survivors[0].command, "daemon");
}

#[test]
fn a_survivor_not_read_since_the_end_makes_a_lower_bound() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "daemon");
    task.sample(ms(20), &[sample(2, 5, cpu(10), cpu(10))]);
    gone(&mut task, 60, 1);
    let mut ending = end(60, Some(chain(cpu(40))));
    ending.survivors = vec![2];
    let usage = task.usage(&ending);
    assert_eq!(whole(&usage, "cpu_time"), 50_000_000);
    assert_eq!(method(&usage, "cpu_time"), LOWER);
}

#[test]
fn cores_are_a_mean_of_the_time_that_descendants_took_too() {
    let cores = |usage: &record::report::Usage| {
        let field = usage.get("cores_mean").unwrap();
        field.value().unwrap().value.as_f64()
    };
    let mut task = tree(Bpf);
    spawn(&mut task, 5, 1, 2, "daemon");
    exit(&mut task, 10, 1, cpu(5));
    exit(&mut task, 205, 2, cpu(200));
    let waited = task.usage(&end(10, Some(chain(cpu(205)))));
    assert_eq!(whole(&waited, "wall_time"), 10_000_000);
    assert!((cores(&waited) - 1.0).abs() < 1e-9, "{waited:?}");
    // One that lives on was read later than it was seen to do anything.
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "daemon");
    gone(&mut task, 10, 1);
    task.sample(ms(400), &[sample(2, 5, cpu(300), cpu(300))]);
    let mut ending = end(10, Some(chain(cpu(100))));
    ending.until = ms(500);
    ending.survivors = vec![2];
    let usage = task.usage(&ending);
    assert!((cores(&usage) - 0.8).abs() < 1e-9, "{usage:?}");
}

#[test]
fn cpu_at_exit_is_corrected_by_the_last_switch() {
    let mut task = tree(Bpf);
    task.event(Event::Exit {
        at: ms(100),
        pid: 1,
        ending: None,
        own: Some(Box::new(cpu(29).counters())),
        peaks: None,
    });
    let early = task.usage(&end(100, None));
    assert_eq!(method(&early, "cpu_time"), LOWER);
    task.event(Event::Final {
        pid: 1,
        start: None,
        cpu_ns: Nanos::from_millis(198),
    });
    let summary = task.finish(&end(100, None));
    assert_eq!(whole(&summary.usage, "cpu_time"), 198_000_000);
    assert_eq!(method(&summary.usage, "cpu_time"), Method::Exact);
    assert_eq!(summary.top[0].cpu, Some(Nanos::from_millis(198)));
    assert_eq!(
        whole(&summary.processes.iter().next().unwrap().usage, "cpu_time"),
        198_000_000
    );
}

#[test]
fn the_microseconds_of_the_chain_hide_no_nanoseconds_that_every_process_told() {
    for (told, total) in [
        (198_000_999, 198_000_999),
        (198_002_001, 198_000_000),
        (197_999_999, 198_000_000),
    ] {
        let mut task = tree(Bpf);
        task.event(Event::Exit {
            at: ms(200),
            pid: 1,
            ending: None,
            own: Some(Box::new(cpu(198).counters())),
            peaks: None,
        });
        task.event(Event::Final {
            pid: 1,
            start: None,
            cpu_ns: Nanos(told),
        });
        let mut waited = chain(cpu(198));
        waited.counters.cpu_user = Some(Nanos::from_millis(150));
        waited.counters.cpu_system = Some(Nanos::from_millis(48));
        let usage = task.usage(&end(200, Some(waited)));
        assert_eq!(whole(&usage, "cpu_time"), total);
        assert_eq!(method(&usage, "cpu_time"), Method::Exact);
        let parts = ["cpu_user", "cpu_system"].map(|part| whole(&usage, part));
        assert_eq!(parts.iter().sum::<u64>(), total);
    }
}

#[test]
fn children_that_nobody_waited_for_are_found_by_final_values() {
    let mut task = tree(Bpf);
    spawn(&mut task, 5, 1, 2, "busy");
    exit(&mut task, 500, 2, cpu(400));
    exit(&mut task, 501, 1, cpu(5));
    // SIGCHLD was ignored: the chain holds the shell alone.
    let usage = task.usage(&end(501, Some(chain(cpu(5)))));
    assert_eq!(whole(&usage, "cpu_time"), 405_000_000);
    assert_eq!(method(&usage, "cpu_time"), Method::Exact);
}

#[test]
fn children_that_nobody_waited_for_leave_a_lower_bound_without_final_values() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "busy");
    task.auto_reaped();
    gone(&mut task, 500, 2);
    gone(&mut task, 501, 1);
    let usage = task.usage(&end(501, Some(chain(cpu(5)))));
    assert_eq!(method(&usage, "cpu_time"), LOWER);
}

#[test]
fn children_that_nobody_waited_for_count_as_far_as_they_were_seen() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "busy");
    task.auto_reaped();
    task.sample(ms(400), &[sample(2, 5, cpu(390), cpu(390))]);
    gone(&mut task, 500, 2);
    gone(&mut task, 501, 1);
    let usage = task.usage(&end(501, Some(chain(cpu(5)))));
    assert_eq!(whole(&usage, "cpu_time"), 390_000_000);
    assert_eq!(method(&usage, "cpu_time"), LOWER);
}

#[test]
fn a_command_too_short_for_a_sample_was_one_process() {
    let mut task = tree(Procfs);
    task.sample(ms(1), &[]);
    let usage = task.finish(&end(2, Some(chain(cpu(1))))).usage;
    assert_eq!(whole(&usage, "processes_peak"), 1);
    assert_eq!(method(&usage, "processes_peak"), LOWER);
}

#[test]
fn without_the_launcher_sums_over_processes_are_a_lower_bound() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "short");
    spawn(&mut task, 6, 1, 3, "long");
    gone(&mut task, 10, 2);
    let pass = [
        sample(1, 0, cpu(1), cpu(31)),
        sample(3, 6, cpu(100), cpu(100)),
    ];
    task.sample(ms(200), &pass);
    gone(&mut task, 300, 3);
    gone(&mut task, 301, 1);
    let summary = task.finish(&end(301, None));
    // `short` is known only as what the shell had waited for.
    assert_eq!(whole(&summary.usage, "cpu_time"), 131_000_000);
    assert_eq!(method(&summary.usage, "cpu_time"), LOWER);
    let short = summary.processes.iter().find(|p| p.pid == 2).unwrap();
    assert_eq!(absent(&short.usage, "cpu_time"), Some(Absent::Gone));
    assert!(summary.notes.iter().any(|n| n.starts_with("1 of 3")));
}

#[test]
fn the_state_so_far_adds_the_chain_to_the_living() {
    let mut task = tree(Connector);
    task.waited(&chain(cpu(30)));
    task.sample(ms(1000), &[sample(1, 0, cpu(100), cpu(600))]);
    let live = task.live(ms(1000));
    assert_eq!(live.cpu.unwrap().value, 630e6);
    assert!((live.cores.unwrap().value - 0.63).abs() < 1e-9);
    // A child that ended and was not waited for yet hides for a moment: totals never fall.
    task.sample(ms(1100), &[sample(1, 0, cpu(100), cpu(100))]);
    assert_eq!(task.live(ms(1100)).cpu.unwrap().value, 630e6);
}

#[test]
fn two_hundred_children_two_at_a_time_are_counted() {
    let mut task = tree(Connector);
    for i in 0..100u32 {
        let at = u64::from(i) * 30;
        for pid in [1000 + 2 * i, 1001 + 2 * i] {
            spawn(&mut task, at, 1, pid, "busy");
        }
        for pid in [1000 + 2 * i, 1001 + 2 * i] {
            gone(&mut task, at + 20, pid);
        }
    }
    gone(&mut task, 3001, 1);
    let usage = task.usage(&end(3001, Some(chain(cpu(4000)))));
    assert_eq!(whole(&usage, "processes_total"), 201);
    assert_eq!(whole(&usage, "processes_peak"), 3);
    assert_eq!(method(&usage, "processes_peak"), Method::Exact);
    assert_eq!(whole(&usage, "cpu_time"), 4_000_000_000);
    let mean = usage.get("cores_mean").unwrap().value().unwrap();
    assert!((mean.value.as_f64() - 4000.0 / 3001.0).abs() < 1e-6);
    assert_eq!(mean.method, Method::Exact);
}

#[test]
fn counts_of_the_kernel_come_first() {
    let mut task = tree(Bpf);
    task.counts(&KernelCounts {
        processes_total: Some(6001),
        processes_peak: Some(5),
        threads_peak: Some(17),
        exact: true,
        ..KernelCounts::default()
    });
    exit(&mut task, 10, 1, cpu(1));
    let usage = task.usage(&end(10, None));
    for (name, value) in [
        ("processes_total", 6001),
        ("processes_peak", 5),
        ("threads_peak", 17),
    ] {
        assert_eq!(whole(&usage, name), value);
        assert_eq!(method(&usage, name), Method::Exact);
    }
}

#[test]
fn processes_whose_ends_were_told_late_are_between_bounds() {
    let mut task = tree(Connector);
    task.counts(&KernelCounts {
        processes_peak: Some(4),
        processes_peak_least: Some(3),
        exact: true,
        ..KernelCounts::default()
    });
    let usage = task.usage(&end(10, None));
    assert_eq!(whole(&usage, "processes_peak"), 3);
    let upper = Some(4);
    assert_eq!(
        method(&usage, "processes_peak"),
        Method::LowerBound { upper }
    );
}

#[test]
fn threads_whose_ends_were_told_late_are_no_more_than_counted() {
    let mut task = tree(Connector);
    task.counts(&KernelCounts {
        threads_peak: Some(3),
        threads_at_most: true,
        exact: true,
        ..KernelCounts::default()
    });
    let usage = task.usage(&end(10, None));
    assert_eq!(whole(&usage, "threads_peak"), 3);
    assert_eq!(method(&usage, "threads_peak"), Method::UpperBound);
}

#[test]
fn the_root_told_twice_is_one_process() {
    let mut task = tree(Bpf);
    fork(&mut task, 0, 99, 1);
    task.sample(ms(5), &[sample(1, 0, cpu(1), cpu(1))]);
    exit(&mut task, 10, 1, cpu(1));
    assert_eq!(whole(&task.usage(&end(10, None)), "processes_total"), 1);
}

#[test]
fn a_late_sample_brings_nobody_back_and_a_used_again_pid_is_another() {
    let mut task = tree(Connector);
    spawn(&mut task, 100, 1, 2, "a");
    gone(&mut task, 200, 2);
    task.sample(ms(200), &[sample(2, 100, cpu(5), cpu(5))]);
    assert_eq!(task.alive(), [1]);
    spawn(&mut task, 900, 1, 2, "b");
    task.sample(ms(950), &[sample(2, 900, cpu(7), cpu(7))]);
    assert_eq!(task.alive(), [1, 2]);
    // Its end was lost and the pid is used once more.
    fork(&mut task, 1900, 1, 2);
    let usage = task.usage(&end(2000, None));
    assert_eq!(whole(&usage, "processes_total"), 4);
}

/// A program elsewhere that has the id of a process whose end was lost.
fn stranger(pid: u32, start: u64) -> ProcessSample {
    let stranger = sample(pid, start, cpu(7000), cpu(7000));
    ProcessSample {
        ppid: 4000,
        ..stranger
    }
}

#[test]
fn a_stranger_with_the_id_of_one_whose_end_was_lost_is_not_of_the_task() {
    let mut task = tree(Bpf);
    fork(&mut task, 100, 1, 2);
    task.event(Event::Lost {
        at: ms(200),
        count: 1,
    });
    task.sample(ms(900), &[stranger(2, 800)]);
    assert_eq!(task.alive(), [1]);
    assert!(!task.knows(2, Some(ms(800))) && task.knows(2, Some(ms(100))));
    let usage = task.usage(&end(2000, None));
    assert_eq!(whole(&usage, "processes_total"), 2);
}

#[test]
fn a_glance_at_the_id_of_one_that_ended_finds_nobody() {
    for mechanism in [Procfs, Connector] {
        let mut task = tree(mechanism);
        fork(&mut task, 100, 1, 2);
        task.sample(ms(150), &[sample(2, 100, cpu(5), cpu(5))]);
        gone(&mut task, 200, 2);
        task.glance(ms(300), &[stranger(2, 250)]);
        assert_eq!(task.alive(), [1], "{mechanism:?}");
        assert_eq!(whole(&task.usage(&end(400, None)), "processes_total"), 2);
    }
}

#[test]
fn where_nobody_tells_of_ends_an_id_that_is_used_again_is_of_another_process() {
    let mut task = tree(Procfs);
    task.sample(ms(100), &[sample(2, 50, cpu(30), cpu(30))]);
    task.sample(ms(9000), &[sample(2, 8000, cpu(5), cpu(5))]);
    assert_eq!(task.alive(), [1, 2]);
    assert_eq!(whole(&task.usage(&end(9100, None)), "processes_total"), 3);
}

#[test]
fn a_task_of_no_time_has_a_complete_report() {
    let task = tree(Connector);
    let usage = task.finish(&end(0, None)).usage;
    assert_eq!(usage.0.len(), reduce::METRICS.len());
    for ((name, _), metric) in usage.0.iter().zip(reduce::METRICS) {
        assert_eq!(name, metric.name);
    }
    assert_eq!(absent(&usage, "cpu_time"), Some(Absent::Gone));
    assert_eq!(whole(&usage, "wall_time"), 0);
}

#[test]
fn delays_that_the_kernel_does_not_account_are_absent_not_zero() {
    let mut task = tree(Bpf);
    let own = Counters {
        cpu: Some(Nanos(5)),
        cpu_wait: Some(Nanos(7)),
        ..Counters::default()
    };
    task.event(Event::Exit {
        at: ms(5),
        pid: 1,
        ending: None,
        own: Some(Box::new(own)),
        peaks: None,
    });
    let usage = task.usage(&end(5, Some(chain(cpu(1)))));
    assert_eq!(absent(&usage, "io_wait"), Some(Absent::NoKernelSupport));
    assert_eq!(whole(&usage, "cpu_wait"), 7);
    assert_eq!(method(&usage, "cpu_wait"), Method::Exact);
}

#[test]
fn work_that_left_makes_every_number_a_lower_bound() {
    let mut task = tree(Bpf);
    task.departed("ssh");
    task.departed("ssh");
    exit(&mut task, 50, 1, memory(10 * MIB, 9 * MIB));
    let summary = task.finish(&end(50, Some(chain(memory(10 * MIB, 0)))));
    for (name, field) in &summary.usage.0 {
        if let Some(value) = field.value() {
            let exact = name == "wall_time";
            assert_eq!(
                value.method,
                if exact { Method::Exact } else { LOWER },
                "{name}"
            );
        }
    }
    assert!(summary.notes[0].contains("through ssh:"));
}

#[test]
fn samples_alone_miss_processes_and_say_so() {
    let mut task = tree(Procfs);
    let pass = [sample(1, 0, cpu(1), cpu(1)), sample(2, 10, cpu(9), cpu(9))];
    task.sample(ms(100), &pass);
    task.sample(ms(200), &[sample(1, 0, cpu(1), cpu(21))]);
    assert_eq!(task.alive(), [1]);
    let usage = task.usage(&end(300, Some(chain(cpu(22)))));
    assert_eq!(method(&usage, "processes_total"), LOWER);
    assert_eq!(whole(&usage, "processes_peak"), 2);
    assert_eq!(method(&usage, "processes_peak"), SAMPLED);
}

#[test]
fn the_history_of_execs_is_kept_and_what_was_inherited_is_not() {
    let mut task = tree(Bpf);
    fork(&mut task, 5, 1, 2);
    for program in ["env X=1 nice", "nice job", "job"] {
        exec(&mut task, 6, 2, program);
    }
    exit(&mut task, 9, 2, cpu(1));
    let summary = task.finish(&end(10, None));
    let job = summary.processes.iter().find(|p| p.pid == 2).unwrap();
    assert_eq!(job.command, ["job"]);
    assert_eq!(
        job.exec_history,
        [vec!["env", "X=1", "nice"], vec!["nice", "job"]]
    );
    assert_eq!(job.ppid, Some(1));
}

#[test]
fn folders_carry_their_own_provenance() {
    let mut task = tree(Bpf);
    task.footprint(ms(1000), Bytes(500), 5, true);
    task.footprint(ms(3000), Bytes(300), 3, true);
    let usage = task.usage(&end(4000, None));
    assert_eq!(whole(&usage, "footprint_peak"), 500);
    let period_ns = Nanos::from_secs(2);
    assert_eq!(method(&usage, "files_peak"), Method::Sampled { period_ns });
    task.footprint(ms(3500), Bytes(900), 9, false);
    assert_eq!(
        method(&task.usage(&end(4000, None)), "footprint_peak"),
        LOWER
    );
}

/// The last walk begins at the end.
#[test]
fn no_folder_is_fullest_after_the_end() {
    let mut task = tree(Bpf);
    let space = Space {
        device: "8:1".to_owned(),
        bytes: Bytes(500),
        files: 5,
        ..Space::default()
    };
    task.footprint(ms(9), Bytes(500), 5, true);
    task.footprint_by_system(ms(9), &[space]);
    let summary = task.finish(&end(4, None));
    let lines = summary.footprint.iter().map(|line| &line.usage);
    for usage in lines.chain([&summary.usage]) {
        for name in ["footprint_peak", "files_peak"] {
            let value = usage.get(name).and_then(|field| field.value()).unwrap();
            assert_eq!(value.at_ns, Some(Nanos::from_millis(4)), "{name}");
        }
    }
}

#[test]
fn each_file_system_has_its_own_peaks() {
    let mut task = tree(Bpf);
    let on = |device: &str, bytes, files| Space {
        device: device.to_owned(),
        mount: Some(format!("/{device}")),
        kind: None,
        bytes: Bytes(bytes),
        files,
    };
    let mut walk = |at, found: &[Space]| {
        let sum = |of: fn(&Space) -> u64| found.iter().map(of).sum();
        task.footprint(
            ms(at),
            Bytes(sum(|one| one.bytes.0)),
            sum(|one| one.files),
            true,
        );
        task.footprint_by_system(ms(at), found);
    };
    walk(1000, &[on("8:1", 100, 9)]);
    walk(2000, &[on("8:1", 500, 5), on("0:44", 700, 1)]);
    walk(3000, &[on("8:1", 300, 3)]);
    let many: Vec<_> = (0..300).map(|n| on(&format!("1:{n}"), 2, 1)).collect();
    walk(4000, &many);
    walk(5000, &many[298..]);
    let summary = task.finish(&end(6000, None));
    assert_eq!(whole(&summary.usage, "footprint_peak"), 1200);
    let lines = &summary.footprint;
    let told = |index: usize, name| {
        (
            lines[index].device.as_str(),
            whole(&lines[index].usage, name),
        )
    };
    assert_eq!(told(0, "footprint_peak"), ("0:44", 700));
    assert_eq!(told(1, "footprint_peak"), ("8:1", 500));
    assert_eq!(told(1, "files_peak"), ("8:1", 9));
    assert_eq!(lines[1].mount.as_deref(), Some("/8:1"));
    let period_ns = Nanos::from_secs(1);
    assert_eq!(
        method(&lines[0].usage, "files_peak"),
        Method::Sampled { period_ns }
    );
    // 256 have a line of their own, the other 46 are one.
    assert_eq!(lines.len(), 257);
    assert_eq!(told(256, "footprint_peak"), ("others", 92));
}

#[test]
fn a_process_whose_end_was_lost_is_not_counted_beside_the_chain() {
    let mut task = tree(Connector);
    spawn(&mut task, 5, 1, 2, "reader");
    let pass = [
        sample(1, 0, reading(0), reading(0)),
        sample(2, 5, reading(MIB), reading(MIB)),
    ];
    task.sample(ms(20), &pass);
    gone(&mut task, 60, 1);
    // Nobody survives: the chain holds the reader, though its exit event never came.
    let usage = task.usage(&end(60, Some(chain(reading(2 * MIB)))));
    assert_eq!(whole(&usage, "bytes_read"), 2 * MIB);
    assert_eq!(method(&usage, "bytes_read"), Method::Exact);
}

#[test]
fn what_the_launcher_waited_before_the_command_is_no_use_of_the_task() {
    let waited = |ms: u64| Counters {
        cpu_wait: Some(Nanos::from_millis(ms)),
        ..Counters::default()
    };
    for (mechanism, expected_ms) in [(Taskstats, 2), (Ptrace, 2), (Bpf, 12)] {
        let mut task = tree(mechanism);
        task.waited_before_exec(Nanos::from_millis(10));
        let mut seen = sample(1, 0, cpu(0), cpu(0));
        (seen.own, seen.with_children) = (waited(11), waited(11));
        task.sample(ms(5), &[seen]);
        task.event(Event::Exit {
            at: ms(50),
            pid: 1,
            ending: None,
            own: Some(Box::new(waited(12))),
            peaks: None,
        });
        let usage = task.finish(&end(50, None)).usage;
        let expected = expected_ms * 1_000_000;
        assert_eq!(whole(&usage, "cpu_wait"), expected, "{mechanism:?}");
        let exact = method(&usage, "cpu_wait") == Method::Exact;
        assert_eq!(exact, mechanism == Bpf, "{mechanism:?}");
    }
}

/// The report of a traced shell with a child and with what the launcher waited for in all.
fn traced(own: [Used; 2], waited: Used, how: impl FnOnce(&mut Tree)) -> Summary {
    let mut task = tree(Ptrace);
    fork(&mut task, 0, 99, 1);
    spawn(&mut task, 5, 1, 2, "child");
    task.counts(&KernelCounts {
        processes_total: Some(2),
        processes_peak: Some(2),
        threads_peak: Some(2),
        exact: true,
        ..KernelCounts::default()
    });
    how(&mut task);
    exit(&mut task, 300, 2, own[1]);
    exit(&mut task, 400, 1, own[0]);
    task.finish(&end(400, Some(chain(waited))))
}

fn says_untraced(summary: &Summary) -> bool {
    let noted = summary
        .notes
        .iter()
        .any(|note| note.contains("CLONE_UNTRACED"));
    let counts = ["processes_total", "processes_peak", "threads_peak"];
    let exact = counts.map(|name| method(&summary.usage, name) == Method::Exact);
    assert_eq!(exact, [!noted; 3]);
    assert_eq!(method(&summary.usage, "cpu_time"), Method::Exact);
    noted
}

#[test]
fn what_was_waited_for_and_not_traced_is_noticed() {
    let used = |cpu_ms, read| Used {
        cpu_ms,
        read,
        faults: Some(50),
        ..Used::default()
    };
    let own = [used(100, 4096), used(900, 4096)];
    for (cpu_ms, read, faults, untraced) in [
        (1000, 8192, 100, false),
        // What ends takes after it was read.
        (1049, 8192, 118, false),
        (1060, 8192, 100, true),
        (1000, 8193, 100, true),
        (1000, 8192, 119, true),
    ] {
        let mut waited = used(cpu_ms, read);
        waited.faults = Some(faults);
        // A look at the shell and its child, so that something was sampled.
        let summary = traced(own, waited, |task| {
            task.sample(ms(50), &[1, 2].map(|pid| sample(pid, 0, cpu(1), cpu(1))));
        });
        assert_eq!(
            says_untraced(&summary),
            untraced,
            "{cpu_ms} {read} {faults}"
        );
        assert_eq!(whole(&summary.usage, "bytes_read"), read);
    }
}

#[test]
fn who_is_not_traced_is_known_by_samples_and_gone_when_missed() {
    let summary = traced([cpu(5), cpu(5)], cpu(10), |task| {
        task.untraced();
        let shell = || [1, 2].map(|pid| sample(pid, 0, cpu(1), cpu(1))).to_vec();
        let mut all = shell();
        all.push(sample(7, 20, cpu(1), cpu(1)));
        task.sample(ms(50), &all);
        assert_eq!(task.live(ms(50)).processes.unwrap().value, 3.0);
        task.sample(ms(150), &shell());
        assert_eq!(task.alive(), [1, 2]);
    });
    assert!(says_untraced(&summary));
    assert_eq!(whole(&summary.usage, "processes_total"), 3);
}
