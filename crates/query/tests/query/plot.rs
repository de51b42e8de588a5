//! A job over time, of a dataset whose every number is known.

use crate::dataset::{Agent, HALF, HOUR, MIB, OLD, SECOND, Value, engine, make, to_parquet};
use query::plot::{Found, Plot, Step};
use query::{Heed, Params};
use record::unit::Nanos;
use std::path::Path;

fn found(dataset: &Path, params: Params) -> Found {
    let now = Nanos(HOUR + 3_600_000_000_000);
    Plot::of(&engine(dataset), &params, now, &mut |_| Heed::Go).unwrap()
}

fn of(job: &str) -> Params {
    Params {
        job: Some(job.to_owned()),
        ..Params::default()
    }
}

fn plot(dataset: &Path, params: Params) -> Plot {
    match found(dataset, params) {
        Found::Plot(plot) => *plot,
        other => panic!("{other:?}"),
    }
}

/// What was counted, whatever was read when: nanoseconds of CPU, or bytes.
fn whole(steps: &[Step], scale: f64) -> f64 {
    let of = |step: &Step| step.rate * (step.to - step.from) as f64 / scale;
    steps.iter().map(of).sum()
}

#[test]
fn a_job_is_told_over_both_its_compacted_and_its_live_rows() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    for job in ["7", "3_1"] {
        let plot = plot(folder.path(), of(job));
        assert_eq!((plot.processes, plot.lines.len()), (2, 1), "{job}");
        let line = &plot.lines[0];
        let program = &plot.programs[line.program];
        assert_eq!((line.pid, program.name.as_str()), (100, "train.py"));
        assert_eq!((program.rss_max, program.processes), (100 * MIB, 1));
        // One reading a second, of the same 100 MiB.
        assert_eq!(line.rss.len(), 120);
        assert!(line.rss.iter().all(|point| point.value == Some(100 * MIB)));
        let real = |second: i64| HOUR as i64 + second * SECOND as i64;
        assert_eq!((line.rss[0].at, plot.from), (real(-HALF), real(-HALF)));
        assert_eq!((line.rss[119].at, plot.to), (real(59), real(59)));
        assert_eq!(plot.period_ns, Some(SECOND as i64));
        assert!(line.cores.iter().all(|step| (step.rate - 0.5).abs() < 1e-9));
        // It had used 100 s before anybody watched; the short one was met by no reading.
        assert!((whole(&plot.totals.cores, 1e9) - 59.8).abs() < 1e-6);
        let read = whole(&plot.totals.read, 1e9);
        assert!((read - (124 * MIB) as f64).abs() < 1.0, "{read}");
        assert!(plot.totals.written.is_empty() && plot.totals.held.is_empty());
        assert_eq!(plot.peaks.rss, Some(100 * MIB));
        assert_eq!((plot.memory_had, plot.cpus_had), (Some(400 * MIB), Some(2)));
        let boot = HOUR as i64 - 1_000_000_000_000;
        assert_eq!((plot.began, plot.goes_on), (boot + OLD, true));
        assert!(!plot.phases.is_empty());
    }
}

#[test]
fn a_part_of_the_time_is_told_of_that_part() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let params = Params {
        from: Some(Nanos(HOUR)),
        ..of("7")
    };
    let plot = plot(folder.path(), params);
    // The short one was over by then.
    assert_eq!((plot.processes, plot.lines[0].rss.len()), (1, 60));
    assert_eq!(plot.from, HOUR as i64);
    assert!((whole(&plot.totals.cores, 1e9) - 29.5).abs() < 1e-6);
}

#[test]
fn what_cannot_be_drawn_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    assert_eq!(found(folder.path(), of("8")), Found::NoJob);
    let far = Params {
        from: Some(Nanos(HOUR + 2 * 3_600_000_000_000)),
        ..of("7")
    };
    assert_eq!(found(folder.path(), far), Found::NoReading);
    let second = Params {
        from: Some(Nanos(HOUR)),
        to: Some(Nanos(HOUR + SECOND)),
        ..of("7")
    };
    assert_eq!(found(folder.path(), second), Found::OneReading);
    let empty = tempfile::tempdir().unwrap();
    std::fs::create_dir(empty.path().join("live")).unwrap();
    assert_eq!(found(empty.path(), of("7")), Found::NoJob);
}

/// 200 processes, each with its own size, its own beginning and its own end, read every 10 s, one
/// of which is of another job.
fn make_many(dataset: &Path) {
    let mut agent = Agent::new(dataset, 1);
    let start = |n: i64| 1_000_000_000_000 + n * SECOND as i64;
    for n in 0..200 {
        agent.cells(
            n,
            "process",
            &[
                ("pid", Value::Int(1000 + n)),
                ("start_ns", Value::Int(start(n))),
                ("comm", Value::Text("w")),
                ("identifier", Value::Text(if n == 7 { "x" } else { "9" })),
            ],
        );
    }
    for at in (0..300).step_by(10) {
        let living = (0..200).filter(|n| *n <= at && at <= n + 60);
        let samples: Vec<_> = living
            .map(|n| {
                let values = vec![
                    ("rss", n * MIB),
                    ("rss_anon", n * MIB / 2),
                    ("rss_shmem", 0),
                    ("cpu_time", (at - n) * SECOND as i64 / 4),
                ];
                ((1000 + n, start(n)), values)
            })
            .collect();
        agent.reading(at, &samples, &[]);
    }
    for n in 0..200 {
        agent.cells(
            n + 65,
            "exit",
            &[
                ("pid", Value::Int(1000 + n)),
                ("start_ns", Value::Int(start(n))),
                ("end_ns", Value::Int(start(n + 64))),
                ("cpu_time", Value::Int(16 * SECOND as i64)),
            ],
        );
    }
    agent.close();
}

#[test]
fn each_process_has_its_line_and_all_of_them_their_sum() {
    let folder = tempfile::tempdir().unwrap();
    make_many(folder.path());
    for is_cold in [false, true] {
        if is_cold {
            to_parquet(folder.path());
        }
        let plot = plot(folder.path(), of("9"));
        assert_eq!((plot.processes, plot.lines.len()), (199, 199));
        assert_eq!(plot.to, HOUR as i64 + 263 * SECOND as i64);
        assert!(!plot.goes_on);
        for line in &plot.lines {
            let size = (line.pid - 1000) * MIB;
            assert!(line.rss.iter().all(|point| point.value == Some(size)));
            assert!(
                line.cores
                    .iter()
                    .all(|step| (step.rate - 0.25).abs() < 1e-9)
            );
            // From its beginning to its end.
            let (first, last) = (line.cores.first().unwrap(), line.cores.last().unwrap());
            assert_eq!(last.to - first.from, 64 * SECOND as i64);
        }
        let at = HOUR as i64 + 100 * SECOND as i64;
        let sum: i64 = (40..=100).sum();
        let met = plot.totals.rss.iter().find(|point| point.at == at).unwrap();
        assert_eq!(met.value, Some(sum * MIB));
        let met = plot.totals.held.iter().find(|point| point.at == at);
        let halves: i64 = (40..=100).map(|n| n * MIB / 2).sum();
        assert_eq!(met.unwrap().value, Some(halves));
        let cpu = whole(&plot.totals.cores, 1e9);
        assert!((cpu - 199.0 * 16.0).abs() < 1e-3, "{cpu}");
    }
}

#[test]
fn of_too_many_readings_some_are_taken_and_no_sum_is_less() {
    let folder = tempfile::tempdir().unwrap();
    make_many(folder.path());
    let now = Nanos(HOUR + 3_600_000_000_000);
    // 199 processes of 64 s: a reading in 25.5 s, and there is one each 10 s.
    let found = Plot::within(&engine(folder.path()), &of("9"), (now, 500), &mut |_| {
        Heed::Go
    });
    let Found::Plot(some) = found.unwrap() else {
        panic!("no plot");
    };
    let all = plot(folder.path(), of("9"));
    let points = |plot: &Plot| plot.lines.iter().map(|line| line.rss.len()).sum::<usize>();
    let (some_points, all_points) = (points(&some), points(&all));
    assert!(
        some_points * 5 < all_points * 3,
        "{some_points} of {all_points}"
    );
    assert!(
        some_points * 4 > all_points,
        "{some_points} of {all_points}"
    );
    assert!(
        some.period_ns > Some(10 * SECOND as i64),
        "{:?}",
        some.period_ns
    );
    for line in &some.lines {
        let size = (line.pid - 1000) * MIB;
        assert!(line.rss.iter().all(|point| point.value == Some(size)));
    }
    let cpu = whole(&some.totals.cores, 1e9);
    assert!((cpu - 199.0 * 16.0).abs() < 1e-3, "{cpu}");
}

#[test]
fn processes_of_several_hosts_are_on_one_axis() {
    let folder = tempfile::tempdir().unwrap();
    // The same pids and starts on both.
    for (stream, host, count) in [(1, "n1", 2), (2, "n2", 3)] {
        let boot = format!("{stream}1234567-89ab");
        let mut agent = Agent::of_host(folder.path(), stream, (host, &boot));
        let start = 1_000_000_000_000;
        for pid in 0..count {
            let cells = [
                ("pid", Value::Int(pid)),
                ("start_ns", Value::Int(start)),
                ("comm", Value::Text("rank")),
                ("identifier", Value::Text("9")),
            ];
            agent.cells(0, "process", &cells);
        }
        for at in 1..=10 {
            let values = |pid: i64| {
                let cpu = at * SECOND as i64;
                vec![("rss", (pid + 1) * MIB), ("cpu_time", cpu)]
            };
            let samples: Vec<_> = (0..count).map(|pid| ((pid, start), values(pid))).collect();
            agent.reading(at, &samples, &[]);
        }
        agent.close();
    }
    let plot = plot(folder.path(), of("9"));
    assert_eq!((plot.processes, plot.lines.len()), (5, 5));
    let at = HOUR as i64 + 5 * SECOND as i64;
    let met = plot.totals.rss.iter().find(|point| point.at == at).unwrap();
    // 1 + 2 of the one, 1 + 2 + 3 of the other.
    assert_eq!(met.value, Some(9 * MIB));
    let busy = plot
        .totals
        .cores
        .iter()
        .find(|step| step.from <= at && at < step.to);
    assert!((busy.unwrap().rate - 5.0).abs() < 1e-6, "{busy:?}");
    let one = Params {
        host: Some("n2".to_owned()),
        ..of("9")
    };
    assert_eq!(self::plot(folder.path(), one).lines.len(), 3);
}

/// It was told of before it was of the job, and its end tells that it was.
#[test]
fn one_whose_job_only_its_end_tells_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    let start = 1_000_000_000_000;
    let told = |agent: &mut Agent, pid: i64, job: Option<&'static str>, second: i64| {
        let mut cells = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(start)),
            ("comm", Value::Text("sh")),
        ];
        cells.extend(job.map(|job| ("identifier", Value::Text(job))));
        agent.cells(second, "process", &cells);
    };
    told(&mut agent, 1, Some("9"), 0);
    // It was told with its job, and after that without: the latest is what it is known by.
    told(&mut agent, 2, Some("9"), 0);
    told(&mut agent, 2, None, 1);
    told(&mut agent, 3, None, 0);
    told(&mut agent, 4, None, 0);
    for at in 0..=4 {
        let cpu = vec![("cpu_time", at * SECOND as i64)];
        agent.reading(at, &[((1, start), cpu)], &[]);
    }
    for (pid, job) in [(2, "9"), (3, "9"), (4, "8")] {
        let cells = [
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(start)),
            ("end_ns", Value::Int(start + 3 * SECOND as i64)),
            ("comm", Value::Text("true")),
            ("cpu_time", Value::Int(2 * SECOND as i64)),
            ("identifier", Value::Text(job)),
        ];
        agent.cells(3, "exit", &cells);
    }
    agent.close();
    let plot = plot(folder.path(), of("9"));
    assert_eq!((plot.processes, plot.lines.len()), (3, 1));
    let cpu = whole(&plot.totals.cores, 1e9);
    assert!((cpu - 8.0).abs() < 1e-6, "{cpu}");
}
