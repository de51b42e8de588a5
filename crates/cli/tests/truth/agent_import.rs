//! `plimsoll agent import`: what a recorded `sacct` told of jobs is in the dataset, each row once.

use crate::harness::dataset::{Row, compact, rows};
use crate::harness::process::{is_root, wait_until};
use crate::harness::run::{Done, Run, plimsoll};
use crate::harness::{skip, words};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What `sacct` of Slurm 22.05 wrote.
const RECORDED: &str = include_str!("../../../source/tests/fixtures/context/slurm.sacct");

#[track_caller]
fn import(dataset: &Path, text: &str, status: i32) -> Done {
    let run = Run::bare(Vec::new());
    let file = run.path("jobs");
    fs::write(&file, text).unwrap();
    let command = words![
        plimsoll(),
        "agent",
        "import",
        "--dataset",
        dataset,
        "--sacct",
        file
    ];
    let done = run.command(command).finish();
    done.expect_status(status);
    done
}

fn job<'a>(all: &'a [Row], identifier: &str) -> &'a Row {
    let mut found = all
        .iter()
        .filter(|row| row.text("identifier").as_deref() == Some(identifier));
    let job = found.next().unwrap();
    assert!(found.next().is_none(), "{identifier} is there twice");
    job
}

#[test]
fn a_recorded_accounting_is_there_once_however_often_it_is_brought() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("d");
    let lines = RECORDED.lines().skip(1);
    let jobs = lines.filter(|line| !line.split('|').next().unwrap().contains('.'));
    let jobs = jobs.count();
    let done = import(&dataset, RECORDED, 0);
    let told = format!("{jobs} rows written, 0 were there, 0 lines rejected");
    assert!(done.stderr.contains(&told), "{}", done.context());
    compact(&dataset);
    let first = rows(&dataset, "job");
    assert_eq!(first.len(), jobs);
    let failed = job(&first, "2");
    assert_eq!(failed.text("state").as_deref(), Some("FAILED"));
    assert_eq!(
        (failed.get("exit_status"), failed.get("exit_signal")),
        (Some(1), Some(0))
    );
    assert_eq!(failed.number("time"), 1_795_384_942_000_000);
    assert_eq!(failed.number("memory_allocated"), 300 << 20);
    assert_eq!(
        (failed.get("present"), failed.text("exit_absent")),
        (None, None)
    );
    assert_eq!(failed.text("host").as_deref(), Some("slurm"));
    assert_eq!(failed.text("boot_id").as_deref(), Some("sacct"));
    let element = job(&first, "4");
    assert_eq!(element.text("array_job").as_deref(), Some("3"));
    assert_eq!(element.text("name").as_deref(), Some("sweep|a"));
    let done = import(&dataset, RECORDED, 0);
    let told = format!("0 rows written, {jobs} were there");
    assert!(done.stderr.contains(&told), "{}", done.context());
    compact(&dataset);
    assert_eq!(rows(&dataset, "job"), first);
}

#[test]
fn what_is_no_job_is_named_and_the_rest_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let text = "JobIDRaw|End|State|JobName\n7|1795384942|COMPLETED|a\nx\n\n\
                8|2026-11-22T22:04:05|FAILED|b\n7.0|1795384942|COMPLETED|s\nnone|1|R|c\n";
    let done = import(folder.path(), text, 0);
    for words in [
        "line 3 has fewer or more fields than the first line",
        "line 7 has no job id",
        "job 8 has no time in seconds (SLURM_TIME_FORMAT=%s)",
        "1 rows written, 0 were there, 3 lines rejected; 1 lines of steps",
    ] {
        assert!(done.stderr.contains(words), "{words}: {}", done.context());
    }
    import(folder.path(), "not what sacct writes\n7|8\n", 1);
    import(folder.path(), "", 0);
    compact(folder.path());
    assert_eq!(rows(folder.path(), "job").len(), 1);
}

/// Nobody waits for whoever may write to a FIFO; who writes to it may be slow, and write much.
#[test]
fn an_accounting_comes_from_files_and_pipes() {
    let run = Run::bare(Vec::new());
    let (fifo, dataset) = (run.path("fifo"), run.path("d"));
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let agent = plimsoll();
    let import = |from| {
        words![
            agent,
            "agent",
            "import",
            "--dataset",
            dataset,
            "--sacct",
            from
        ]
    };
    // Of a process in no job the scheduler is not asked.
    let job = Run::bare(words!["/usr/bin/env", "SLURM_JOB_ID=7", "sleep", "1000"]).start();
    wait_until("it has executed sleep", || {
        let name = fs::read(format!("/proc/{}/comm", job.pid()));
        name.is_ok_and(|name| name == b"sleep\n")
    });
    let pid = job.pid().to_string();
    let explain = words![agent, "agent", "explain", pid, "--sacct", fifo];
    let both = [import(&fifo), explain].map(|words| Run::bare(words).start());
    for running in both {
        let done = running.finish();
        done.expect_status(1);
        let why = "nobody opened the pipe to write within 10 s";
        assert!(done.stderr.contains(why), "{}", done.context());
    }
    // Some MiB of steps, of which none has a row.
    let step = "7.0|1795384942|COMPLETED|s\n";
    let mut text = "JobIDRaw|End|State|JobName\n7|1795384942|COMPLETED|a\n".to_owned();
    text.extend(std::iter::repeat_n(step, 100_000));
    let file = run.path("jobs");
    fs::write(&file, &text).unwrap();
    let piped = |how: &str| {
        let script = format!("{how} \"$0\" agent import --dataset \"$1\" --sacct \"$4\"");
        let from = if how.contains('|') {
            "-".into()
        } else {
            fifo.clone()
        };
        let words = words!["/bin/sh", "-c", script, agent, dataset, file, fifo, from];
        Run::bare(words).finish()
    };
    for (how, rows) in [("cat \"$2\" |", 1), ("cat \"$2\" >\"$3\" &", 0)] {
        let done = piped(how);
        done.expect_status(0);
        let told = format!("{rows} rows written");
        assert!(done.stderr.contains(&told), "{}", done.context());
        assert!(
            done.stderr.contains("100000 lines of steps"),
            "{}",
            done.context()
        );
    }
    let done = Run::bare(import(&file)).finish();
    assert!(done.stderr.contains("1 were there"), "{}", done.context());
}

#[test]
fn root_brings_rows_as_the_owner_of_the_dataset() {
    if !is_root() {
        skip!("root alone becomes somebody else");
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65_534), Some(65_534)).unwrap();
    import(folder.path(), RECORDED, 0);
    let live = fs::read_dir(folder.path().join("live")).unwrap();
    for entry in live {
        assert_eq!(entry.unwrap().metadata().unwrap().uid(), 65_534);
    }
}
