//! What is reduced without SQL is what SQL tells: many processes of two hosts, one of which booted
//! twice, with values that are missing, in files and in a live segment.

use crate::dataset::{Agent, MIB, SECOND, Value, rows_told, to_parquet};
use query::{Params, REPORTS};

/// Processes of each host and boot.
const PROCESSES: i64 = 150;

/// The boots, and their first readings.
const BOOTS: [(&str, &str, i64); 3] = [
    ("n1", "01234567-89ab", 0),
    ("n1", "11111111-2222-3333", 40),
    ("n2", "01234567-89ab", 5),
];

/// Readings of each.
const READINGS: i64 = 20;

const JOBS: [&str; 4] = ["7", "8", "9", "10"];

fn start(pid: i64) -> i64 {
    pid * 1000 + pid % 3
}

/// Who each process is. Told again, some are another program: which of both is told of is a matter
/// of when each was executed and, where that does not tell, of when it was told.
fn identities(agent: &mut Agent, second: i64, is_again: bool) {
    // Of some nobody tells who they are.
    for pid in (1..=PROCESSES).filter(|pid| pid % 15 > 0) {
        let comm = pid as usize + usize::from(is_again && pid % 7 < 4);
        let mut values = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(start(pid))),
            ("comm", Value::Text(["cc1", "ld", "as"][comm % 3])),
            ("uid", Value::Int(1000 + pid % 2)),
        ];
        let executed = match (pid % 7, is_again) {
            (0, _) => Some(1),
            (1, false) | (2, true) => Some(2),
            (1, true) | (2, false) => Some(1),
            _ => None,
        };
        if let Some(executed) = executed {
            // Behind every instant at which the others are told, which stands in its place.
            let executed = executed + 1000 * SECOND as i64;
            values.push(("exec_ns", Value::Int(executed)));
        }
        if pid % 2 > 0 {
            let words = vec!["python3", ["a.py", "b.py"][usize::from(is_again)]];
            values.push(("exe", Value::Text("/usr/bin/python3")));
            values.push(("command", Value::List(words)));
        }
        // Every fifth is of no job.
        if pid % 5 > 0 {
            let job = JOBS[pid as usize % JOBS.len()];
            values.push(("identifier", Value::Text(job)));
        }
        agent.cells(second, "process", &values);
    }
    for (place, job) in JOBS.into_iter().enumerate() {
        // One of them is no job of a batch system.
        let scheduler = ["slurm", "systemd"][usize::from(place == 3)];
        let values = [
            ("scheduler", Value::Text(scheduler)),
            ("identifier", Value::Text(job)),
            ("cpus_allocated", Value::Int(4)),
            ("memory_limit", Value::Int(400 * MIB)),
        ];
        agent.cells(second, "job", &values);
    }
}

/// Of every third the end says which job it was of: of some nothing else says so, and of a few it
/// is not what was told of them before.
fn ends(agent: &mut Agent, second: i64) {
    for pid in (3..=PROCESSES).step_by(3) {
        let mut values = vec![
            ("pid", Value::Int(pid)),
            ("start_ns", Value::Int(start(pid))),
            ("end_ns", Value::Int(start(pid) + 1)),
            ("uid", Value::Int(1000 + pid % 2)),
        ];
        if pid % 4 > 0 {
            let job = JOBS[(pid / 5) as usize % JOBS.len()];
            values.push(("identifier", Value::Text(job)));
        }
        agent.cells(second, "exit", &values);
    }
}

fn reading(agent: &mut Agent, second: i64, since: i64) {
    let sample = |pid: i64| {
        let mut values = vec![
            ("ppid", 1),
            ("state", i64::from(b"RSDZ"[((pid + since) % 4) as usize])),
            ("cpu_time", since * SECOND as i64 * (pid % 7) / 10),
        ];
        // Some have no memory of their own, or not always; others files that none may see.
        if pid % 11 > 0 && (pid + since) % 6 > 0 {
            values.push(("rss", (pid + since * 3 % 17) * MIB));
        }
        if pid % 13 > 0 {
            values.push(("bytes_read", pid * since));
        }
        ((pid, start(pid)), values)
    };
    // They come and go.
    let here = (1..=PROCESSES).filter(|pid| (pid % 4..16 + pid % 9).contains(&since));
    let samples: Vec<_> = here.map(sample).collect();
    let nodes = [("node_cpu_user", "", since * SECOND as i64)];
    agent.reading(second, &samples, &nodes);
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for is_live in [false, true] {
        for (stream, (host, boot, first)) in BOOTS.into_iter().enumerate() {
            let stream = stream as u32 + 1 + u32::from(is_live) * 10;
            let mut agent = Agent::of_host(folder.path(), stream, (host, boot));
            let half = READINGS / 2;
            let all = if is_live { half..READINGS } else { 0..half };
            identities(&mut agent, first + all.start, is_live);
            for since in all {
                reading(&mut agent, first + since, since);
            }
            if is_live {
                ends(&mut agent, first + READINGS);
            }
            agent.close();
        }
        if !is_live {
            to_parquet(folder.path());
        }
    }
    folder
}

#[test]
fn reports_are_what_their_text_says() {
    let folder = made();
    let text = |text: &str| Some(text.to_owned());
    let of = [
        Params::default(),
        Params {
            job: text("8"),
            ..Params::default()
        },
        Params {
            host: text("n1"),
            user: text("1001"),
            ..Params::default()
        },
    ];
    for params in &of {
        for report in REPORTS {
            if params.job.is_some() || !report.needs_job {
                let rows = rows_told(folder.path(), report, params);
                let is_told = !matches!(report.name, "filesystems" | "errors");
                assert_eq!(!rows.is_empty(), is_told, "{}", report.name);
            }
        }
    }
}

#[test]
fn of_what_is_told_of_a_process_the_latest_stays() {
    let folder = made();
    let tree = REPORTS.iter().find(|report| report.name == "tree").unwrap();
    let params = Params {
        job: Some("8".to_owned()),
        host: Some("n2".to_owned()),
        ..Params::default()
    };
    let rows = rows_told(folder.path(), tree, &params);
    let program = |pid: i64| {
        let row = rows
            .iter()
            .find(|row| row.split(',').nth(3) == Some(&pid.to_string()));
        row.unwrap().split(',').nth(4).unwrap().to_owned()
    };
    // Executed earlier though told later, the other way round, at once, and not told when.
    assert_eq!(program(29), "a.py");
    assert_eq!(program(9), "b.py");
    assert_eq!(program(49), "b.py");
    assert_eq!(program(17), "b.py");
}
