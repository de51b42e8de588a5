//! Ready-made reports, against numbers that are known.

use crate::dataset::{AT, Agent, HOUR, SECOND, Value, make, rows_told};
use query::{Category, Params, REPORTS, by_name};
use record::unit::Nanos;
use std::path::Path;

fn report(dataset: &Path, name: &str, params: &Params) -> Vec<String> {
    let lines = rows_told(dataset, by_name(name).unwrap(), params).into_iter();
    // Of fractions six digits.
    let short = |cell: &str| match cell.split_once('.') {
        Some((whole, part)) if part.len() > 6 && part.bytes().all(|b| b.is_ascii_digit()) => {
            format!("{whole}.{}", &part[..6])
        }
        _ => cell.to_owned(),
    };
    let rows = lines.map(|line| line.split(',').map(short).collect::<Vec<_>>().join(","));
    rows.collect()
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    folder
}

fn all(name: &str) -> Vec<String> {
    report(made().path(), name, &Params::default())
}

#[test]
fn cpu_time_is_what_was_used_while_somebody_watched() {
    // The old one had used 100 s before; the short one was met by no reading.
    assert_eq!(
        all("top-cpu"),
        [
            "train.py,other,1,1,59500000000,0.993670,,119000000000,0.5,104857600",
            "sh -c,other,1,1,300000000,0.005010,,400000000,0.75,3145728",
            "cp,other,1,1,79000000,0.001319,,79000000000,0.001,10485760"
        ]
    );
}

#[test]
fn a_part_of_the_time_is_told_of_that_part() {
    let folder = made();
    let half = |from, to| {
        let params = Params {
            from,
            to,
            ..Params::default()
        };
        let rows = report(folder.path(), "top-cpu", &params);
        let used = |row: &String| row.split(',').nth(4).unwrap().to_owned();
        rows.iter().map(used).collect::<Vec<_>>()
    };
    let hour = Some(Nanos(HOUR));
    assert_eq!(half(hour, None), ["29500000000", "59000000"]);
    assert_eq!(half(None, hour), ["29500000000", "300000000", "19000000"]);
    let after = Some(Nanos(HOUR + 3_600_000_000_000));
    assert!(half(after, None).is_empty());
    // It ended 29.6 s before the hour and was told of a second later.
    let at = |seconds: u64| Some(Nanos(HOUR - seconds * 100_000_000));
    assert!(half(at(300), at(295)).contains(&"300000000".to_owned()));
    assert!(!half(at(295), at(280)).contains(&"300000000".to_owned()));
}

#[test]
fn users_jobs_hosts_and_categories_choose() {
    let folder = made();
    let of = |params: Params| {
        let rows = report(folder.path(), "top-cpu", &params);
        let front = |row: &String| row.split(',').take(3).collect::<Vec<_>>().join(",");
        rows.iter().map(front).collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    let user = |user| Params {
        user: text(user),
        ..Params::default()
    };
    assert_eq!(of(user("tom")), ["cp,other,1"]);
    assert!(of(user("o'brien \\ }} {{")).is_empty());
    for job in ["7", "3_1"] {
        let params = Params {
            job: text(job),
            ..Params::default()
        };
        assert_eq!(of(params), ["train.py,other,1", "sh -c,other,1"], "{job}");
    }
    let host = |host| Params {
        host: text(host),
        ..Params::default()
    };
    assert_eq!(of(host("n1")).len(), 3);
    assert!(of(host("n2")).is_empty());
    let category = |name: &str, programs: &[&str]| Category {
        name: name.to_owned(),
        programs: programs.iter().map(|text| (*text).to_owned()).collect(),
    };
    let params = Params {
        categories: vec![
            category("shells", &["sh *"]),
            category("learning", &["*.py"]),
        ],
        limit: Some(2),
        ..Params::default()
    };
    assert_eq!(of(params), ["train.py,learning,1", "sh -c,shells,1"]);
}

#[test]
fn blocked_time_is_sampled() {
    assert_eq!(
        all("top-wall"),
        [
            "cp,other,1,79000000000,79000000,,,10000000000,68921000000",
            "train.py,other,1,119000000000,59500000000,,,0,59500000000",
            "sh -c,other,1,400000000,300000000,,,0,100000000"
        ]
    );
}

#[test]
fn files_tell_the_mounts_of_a_job() {
    let row = |mount: &str, written: i64, free: &str| {
        format!(
            "{mount},upper_bound,eva,physics,7,1,1,{written},{},,{free}",
            119u64 << 20
        )
    };
    let free = (1u64 << 39) - 119;
    assert_eq!(
        all("filesystems"),
        [row("/", 0, &free.to_string()), row("/scratch", 1, "")]
    );
}

#[test]
fn batch_and_other_work_stand_side_by_side() {
    let read = 124u64 << 20;
    assert_eq!(
        all("interactive"),
        [
            format!("batch,2,2,1,59800000000,0.998680,119400000000,59700000000,{read},,104857600"),
            "other,1,1,0,79000000,0.001319,79000000000,79000000000,,,10485760".to_owned()
        ]
    );
}

#[test]
fn a_job_is_told_against_what_it_had() {
    assert_eq!(
        all("efficiency"),
        [
            "slurm,7,3_1,eva,physics,,,,1,2,119000000000,,2,59800000000,0.251260,104857600,\
             419430400,0.25"
        ]
    );
}

/// Of one the end alone tells that it was of the job, of another the end tells another one.
#[test]
fn the_memory_of_a_job_is_that_of_all_who_were_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    let start = AT as i64;
    let text = |name: &'static str, value| (name, Value::Text(value));
    agent.cells(
        0,
        "job",
        &[text("scheduler", "slurm"), text("identifier", "9")],
    );
    let key = |pid| [("pid", Value::Int(pid)), ("start_ns", Value::Int(start))];
    for pid in [100, 300] {
        agent.cells(
            0,
            "process",
            &[&key(pid)[..], &[text("identifier", "9")]].concat(),
        );
    }
    for at in 1..=3 {
        let there = [(100, 10), (200, 20), (300, 40), (400, 80)];
        let there = there.map(|(pid, rss)| ((pid, start), vec![("rss", rss * at)]));
        agent.reading(at, &there, &[]);
    }
    for (pid, job) in [(200, "9"), (300, "8")] {
        let end = [text("identifier", job), ("end_ns", Value::Int(start + 1))];
        agent.cells(4, "exit", &[&key(pid)[..], &end].concat());
    }
    agent.close();
    let rows = report(folder.path(), "efficiency", &Params::default());
    let cells: Vec<_> = rows[0].split(',').collect();
    assert_eq!((cells[9], cells[15]), ("3", "210"), "{rows:?}");
}

/// Of the one job both machines tell what it had there, of the other two of three, one of which
/// does not tell it.
#[test]
fn a_job_over_several_hosts_is_told_against_what_it_had_on_them() {
    let folder = tempfile::tempdir().unwrap();
    let start = AT as i64;
    let two = |name: &'static str, int| (name, Value::Int(int));
    for (stream, (host, boot)) in [("n1", "01234567-89ab"), ("n2", "11234567-89ab")]
        .into_iter()
        .enumerate()
    {
        let mut agent = Agent::of_host(folder.path(), stream as u32 + 1, (host, boot));
        for (pid, job) in [(100, "9"), (200, "8")] {
            let text = |name, value| (name, Value::Text(value));
            let mut row = vec![text("scheduler", "slurm"), text("identifier", job)];
            row.push(two("nodes", if job == "9" { 3 } else { 2 }));
            if job == "8" || host == "n1" {
                row.extend([two("cpus_requested", 4), two("memory_requested", 100)]);
            }
            agent.cells(0, "job", &row);
            let key = [two("pid", pid), two("start_ns", start)];
            agent.cells(
                0,
                "process",
                &[&key[..], &[text("identifier", job)]].concat(),
            );
        }
        for at in 1..=3 {
            let there = [100, 200].map(|pid| {
                let values = vec![("rss", 10 * at), ("cpu_time", at * SECOND as i64)];
                ((pid, start), values)
            });
            agent.reading(at, &there, &[]);
        }
        agent.close();
    }
    let rows = report(folder.path(), "efficiency", &Params::default());
    let cells = |job: &str| -> Vec<String> {
        let row = rows.iter().find(|row| row.split(',').nth(1) == Some(job));
        row.unwrap().split(',').map(str::to_owned).collect()
    };
    // nodes, hosts; cpus; the largest of both hosts, what it had there, its part.
    let told = |job| {
        let cells = cells(job);
        [7, 8, 12, 15, 16, 17].map(|place| cells[place].clone())
    };
    assert_eq!(told("8"), ["2", "2", "8", "60", "200", "0.3"], "{rows:?}");
    assert_eq!(told("9"), ["3", "2", "", "60", "", ""], "{rows:?}");
}

#[test]
fn a_child_stands_below_its_parent() {
    let params = Params {
        job: Some("7".to_owned()),
        ..Params::default()
    };
    assert_eq!(
        report(made().path(), "tree", &params),
        [
            "n1,batch,0,100,train.py,0,119000000000,59500000000,104857600,124780544,,,,\
             python3 -u /home/eva/train.py --fast",
            "n1,,1,200,  sh -c,965000000000,400000000,300000000,3145728,5242880,,1,,\
             sh -c echo 'a b'"
        ]
    );
}

#[test]
fn what_is_held_is_told_against_what_the_kernel_counted() {
    assert_eq!(
        all("completeness"),
        [
            "n1,01234567-89ab,119000000000,120,1000000000,0,1000000000,71400000000,59879000000,\
             0.838641,59879000000,0.838641,3,1,0,0"
        ]
    );
}

/// CPU time is counted by the kernel from the first reading to the last: ends that were told after
/// that would make it more than all.
#[test]
fn what_ended_after_the_last_reading_is_held_against_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    let second = |second: u64| (AT + second * SECOND) as i64;
    for at in [0_u64, 10, 20] {
        let busy = (at * SECOND) as i64;
        let there = ((100, second(0) - 1000), vec![("cpu_time", busy / 2)]);
        agent.reading(at as i64, &[there], &[("node_cpu_user", "", busy)]);
    }
    // One that was met by readings, of which 3 s came later, and two that were not.
    let ends = [
        (100, second(0) - 1000, 40, 13),
        (200, second(12), 19, 2),
        (300, second(30), 40, 5),
    ];
    for (pid, start, end, cpu) in ends {
        agent.cells(
            end,
            "exit",
            &[
                ("pid", Value::Int(pid)),
                ("start_ns", Value::Int(start)),
                ("end_ns", Value::Int(second(end as u64))),
                ("comm", Value::Text("busy")),
                ("cpu_time", Value::Int(cpu * SECOND as i64)),
            ],
        );
    }
    agent.close();
    let rows = report(folder.path(), "completeness", &Params::default());
    let cells: Vec<&str> = rows.iter().flat_map(|row| row.split(',')).collect();
    // Of 20 s 10 by the first and 2 by the second.
    assert_eq!(
        cells.get(7..10),
        Some(&["20000000000", "12000000000", "0.6"][..]),
        "{rows:?}"
    );
}

#[test]
fn an_error_names_the_jobs_that_were_there() {
    let row = "2026-11-20T13:00:30Z,n1,kernel_log_events,oom,1,slurm,7,eva,physics,";
    assert_eq!(all("errors"), [row]);
}

#[test]
fn a_report_of_one_job_reads_less_and_says_the_same() {
    let folder = made();
    let of = |name: &str, job: &str, from| {
        let params = Params {
            from,
            job: Some(job.to_owned()),
            ..Params::default()
        };
        rows_told(folder.path(), by_name(name).unwrap(), &params)
    };
    for report in REPORTS {
        of(report.name, "7", None);
    }
    assert_eq!(of("tree", "3_1", Some(Nanos(HOUR))).len(), 1);
    assert!(of("tree", "no such", None).is_empty());
}

/// With it the mean is more than the usual interval.
#[test]
fn one_reading_that_was_left_out_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path(), 1);
    for at in (0..=20).filter(|at| *at != 7) {
        let there = ((100, AT as i64), vec![("cpu_time", 0)]);
        agent.reading(at, &[there], &[("node_cpu_user", "", at)]);
    }
    agent.close();
    let rows = report(folder.path(), "completeness", &Params::default());
    let cells: Vec<_> = rows[0].split(',').collect();
    assert_eq!(cells[3..7], ["20", "1052631578", "1", "2000000000"]);
}
