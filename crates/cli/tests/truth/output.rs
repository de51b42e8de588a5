//! What is written where: the report on stderr, PREFIX.json, one line a task, processes, series.

use crate::harness::expect::{number, slowness};
use crate::harness::mechanism::Mechanism;
use crate::harness::process;
use crate::harness::run::{Run, plimsoll};
use crate::harness::workload::program;
use crate::harness::{each_mechanism, skip, words};
use record::report::{Process, Report};
use record::value::{Method, Number};
use std::fs;
use std::path::Path;

each_mechanism!(
    processes_and_series_are_written,
    short_children_are_folded_and_sums_stay
);

fn report_line(text: &str) -> Report {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn the_text_report_goes_to_stderr_and_opens_with_the_verdict() {
    let done = Run::plain(
        &[],
        words!["/bin/sh", "-c", "echo out; echo err >&2; exit 3"],
    )
    .finish();
    done.expect_status(3);
    assert_eq!(done.stdout, "out\n");
    let report = done
        .stderr
        .strip_prefix("err\n")
        .expect("the task's own stderr comes first");
    let first = report.lines().next().unwrap();
    assert!(first.starts_with("exit 3 after "), "{first}");
    assert!(
        first.contains("peak memory") && first.contains("cores"),
        "{first}"
    );
    let lines = report.lines().count();
    assert!(
        (2..=40).contains(&lines),
        "one screen, not {lines} lines:\n{report}"
    );
    assert!(!report.contains('\x1b'), "no colours into a file");
}

#[test]
fn the_first_line_tells_a_signal_and_a_limit() {
    let done = Run::plain(&[], words!["/bin/sh", "-c", "kill -SEGV $$"]).finish();
    let first = done.stderr.lines().next().unwrap();
    assert!(
        first.contains("SEGV") || first.contains("signal 11"),
        "{first}"
    );
    let done = Run::plain(&["--limit", "wall=200ms"], words!["sleep", "300"]).finish();
    let first = done.stderr.lines().next().unwrap();
    assert!(first.contains("wall"), "{first}");
}

#[test]
fn quiet_writes_nothing() {
    let done = Run::plain(&["--quiet"], words!["/bin/echo", "x"]).finish();
    done.expect_status(0);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("x\n", ""));
}

#[test]
fn json_on_stderr_is_the_report() {
    let done = Run::plain(&["--format", "json"], words!["true"]).finish();
    done.expect_status(0);
    assert_eq!(report_line(&done.stderr).schema, "plimsoll.task/1");
}

#[test]
fn a_prefix_with_json_means_the_same_file() {
    for name in ["a", "b.json", "c.d"] {
        let run = Run::plain(&[], words!["true"]);
        let path = run.path(name);
        let done = run.options(words!["--output", path]).finish();
        done.expect_status(0);
        assert_eq!(done.stderr, "");
        let file = format!("{}.json", name.trim_end_matches(".json"));
        report_line(&fs::read_to_string(done.path(&file)).unwrap());
    }
}

/// What the schema promises under `usage`.
const USAGE: &[&str] = &[
    "wall_time",
    "cpu_time",
    "cpu_user",
    "cpu_system",
    "cores_mean",
    "cores_peak",
    "cpu_wait",
    "io_wait",
    "rss_peak",
    "rss_peak_process",
    "memory_peak",
    "cgroup_peak",
    "virtual_peak",
    "swap_peak",
    "processes_total",
    "processes_peak",
    "threads_peak",
    "bytes_read",
    "bytes_written",
    "reads",
    "writes",
    "disk_read",
    "disk_written",
    "faults_minor",
    "faults_major",
    "switches_voluntary",
    "switches_involuntary",
    "footprint_peak",
    "files_peak",
    "gpu_time",
];

/// The fields of the schema, absent ones with their reason and never 0.
#[test]
fn the_schema_is_complete() {
    let done = Run::watched(Mechanism::Default, words![program("burn"), "20"])
        .options([
            "--id",
            "name",
            "--category",
            "test",
            "--label",
            "a=b",
            "--attempt",
            "3",
        ])
        .options(["--inputs-bytes", "5MiB", "--limit", "memory=4GiB,wall=1h"])
        .finish();
    done.expect_status(0);
    let report = done.report();
    for name in USAGE {
        assert!(
            report.usage.get(name).is_some(),
            "no {name}\n{}",
            done.context()
        );
    }
    let task = &report.task;
    assert_eq!((task.id.as_str(), task.attempt), ("name", 3));
    assert_eq!(task.category.as_deref(), Some("test"));
    assert_eq!(task.labels.get("a").map(String::as_str), Some("b"));
    assert_eq!(task.inputs_bytes, Some(5 << 20));
    assert_eq!(task.uid, crate::harness::process::uid());
    assert_eq!(task.command.last().map(String::as_str), Some("20"));
    assert_eq!(
        Path::new(&task.cwd),
        done.path("cwd").canonicalize().unwrap()
    );
    assert_eq!(report.limits.len(), 2);
    assert_eq!(report.request["memory"].value, Number::Whole(4 << 30));
    assert!(
        report.allocation.contains_key("cores"),
        "{:?}",
        report.allocation
    );
    assert!(report.host.cpus > 0 && report.host.memory_bytes > 0);
    assert!(report.monitor.cpu_time_ns.0 > 0 && report.monitor.memory_peak_bytes.0 > 0);
    // Most of it are pages of the program's file, without optimisation a large one; of one that was
    // just written the kernel maps larger pieces.
    assert!(
        report.monitor.memory_peak_bytes.0 <= 64 << 20,
        "{:?}",
        report.monitor
    );
}

#[test]
fn appended_reports_are_one_line_each_however_many_write() {
    let run = Run::bare(Vec::new());
    let file = run.path("all.jsonl");
    let script = "for i in 1 2 3 4 5 6 7 8; do \"$0\" run --append \"$1\" -- sh -c \"exit $i\" & \
                  done; wait";
    let done = run
        .command(words!["/bin/sh", "-c", script, plimsoll(), file])
        .finish();
    assert_eq!(done.stderr, "");
    let text = fs::read_to_string(done.path("all.jsonl")).unwrap();
    let mut codes: Vec<_> = text
        .lines()
        .map(|line| report_line(line).exit.code)
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, (1..=8).map(Some).collect::<Vec<_>>());
}

fn processes(text: &str) -> Vec<Process> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn processes_and_series_are_written(mechanism: Mechanism) {
    let ms = 400 * slowness().min(10);
    let script = format!("{0} {ms}; {0} {ms}; exit 0", program("burn").display());
    let done = Run::watched(mechanism, words!["/bin/sh", "-c", script])
        .options(["--with", "processes,series", "--interval", "20ms"])
        .finish();
    done.expect_status(0);
    let all = processes(&fs::read_to_string(done.path("r.processes.jsonl")).unwrap());
    let burners = all
        .iter()
        .filter(|one| one.command.iter().any(|word| word.contains("burn")));
    assert!(burners.count() >= 2, "{all:#?}");
    let total: u64 = all.iter().map(|one| one.folded).sum();
    let least = if mechanism == Mechanism::Procfs { 2 } else { 3 };
    assert!((least..=3).contains(&total), "{all:#?}");
    let series = fs::read_to_string(done.path("r.series.csv")).unwrap();
    let header = series.lines().next().unwrap();
    assert!(
        header.contains("_ns") && header.contains("_bytes"),
        "{header}"
    );
    let columns = header.split(',').count();
    // Passes keep their share of the time: on a slow machine they are few.
    let rows = if slowness() > 1 { 1 } else { 2 };
    assert!(series.lines().count() > rows, "{series}");
    assert!(
        series
            .lines()
            .all(|line| line.split(',').count() == columns),
        "{series}"
    );
}

/// Bounded output, exact sums.
fn short_children_are_folded_and_sums_stay(mechanism: Mechanism) {
    if mechanism == Mechanism::Procfs {
        skip!("level query does not see every process");
    }
    let command = words![
        program("storm"),
        "200",
        "1",
        "fork",
        program("burn.static"),
        "3"
    ];
    let done = Run::watched(mechanism, command)
        .options(["--with", "processes", "--max-processes", "20"])
        .finish();
    done.expect_status(0);
    let all = processes(&fs::read_to_string(done.path("r.processes.jsonl")).unwrap());
    assert!(all.len() <= 20, "{} lines", all.len());
    let total: u64 = all.iter().map(|one| one.folded).sum();
    assert_eq!(total, 201);
    let times = all
        .iter()
        .filter_map(|one| one.usage.get("cpu_time")?.whole());
    let (sum, whole) = (times.sum::<u64>() as f64, number(&done, "cpu_time"));
    let low = if all.iter().all(|one| {
        one.usage
            .get("cpu_time")
            .and_then(|field| field.value())
            .is_some_and(|value| value.method == Method::Exact)
    }) {
        whole * 0.97
    } else {
        0.0
    };
    assert!(
        sum >= low && sum <= whole * 1.03,
        "{sum} of {whole}\n{}",
        done.context()
    );
}

#[test]
fn a_full_disk_is_a_warning_and_the_status_is_the_tasks_own() {
    let command = words!["/bin/sh", "-c", "exit 4"];
    let done = Run::plain(&["--append", "/dev/full"], command).finish();
    done.expect_status(4);
    assert!(
        done.stderr.contains("/dev/full"),
        "no warning: {}",
        done.stderr
    );
    // What was measured cannot be had again.
    assert!(
        done.stderr.contains("exit 4 after "),
        "no report: {}",
        done.stderr
    );
    let command = words!["/bin/sh", "-c", "exit 4"];
    let done = Run::plain(&["--quiet", "--append", "/dev/full"], command).finish();
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
}

/// Metadata operations kill shared file systems: one create and one rename a task.
#[test]
fn one_create_and_one_rename_a_task() {
    if !Path::new("/usr/bin/strace").exists() {
        skip!("strace is not installed");
    }
    let run = Run::watched(Mechanism::Default, words!["sleep", "0.1"]);
    let log = run.path("trace");
    let calls = "trace=open,openat,creat,mkdir,mkdirat,link,linkat,symlink,symlinkat,rename,\
                 renameat,renameat2,unlink,unlinkat,rmdir,mknod,mknodat,truncate";
    let done = run
        .wrapped(words!["strace", "-f", "-qq", "-e", calls, "-o", log])
        .finish();
    if done.status != 0 && done.stderr.contains("strace") {
        skip!("{}", done.stderr);
    }
    done.expect_status(0);
    let folder = done
        .path("")
        .to_string_lossy()
        .trim_end_matches('/')
        .to_owned();
    let text = fs::read_to_string(done.path("trace")).unwrap();
    let changes: Vec<_> = text
        .lines()
        .filter(|line| !line.contains(" = -1 "))
        .filter(|line| {
            !line.contains("open") || line.contains("O_CREAT") || line.contains("O_TMPFILE")
        })
        // Names relative to a folder's descriptor show the last part alone.
        .filter(|line| line.contains(&folder) || line.contains("\"r.") || line.contains("\".r"))
        .collect();
    let renames = changes
        .iter()
        .filter(|line| line.contains("rename"))
        .count();
    let creates = changes
        .iter()
        .filter(|line| line.contains("O_CREAT"))
        .count();
    assert_eq!((creates, renames, changes.len()), (1, 1, 2), "{changes:#?}");
}

#[test]
fn help_goes_to_stdout_and_is_no_error() {
    let done = Run::bare(words![plimsoll(), "run", "--help"]).finish();
    done.expect_status(0);
    for word in ["--limit", "--output", "--mechanism", "152", "setuid"] {
        assert!(done.stdout.contains(word), "{word}\n{}", done.stdout);
    }
    assert_eq!(done.stderr, "");
}

/// Nobody reads 50 processes that live a millisecond each: taskstats tells what they had used.
#[test]
fn root_ends_that_nobody_read_have_values_by_taskstats() {
    if !process::is_root() || Mechanism::Connector.missing().is_some() {
        return println!("skipped: taskstats needs root, and a process connector");
    }
    let script = format!(
        "i=0; while [ $i -lt 50 ]; do {} 1 exit; i=$((i+1)); done; {} 64 exit",
        program("fill").display(),
        program("fill.static").display()
    );
    let done = Run::watched(Mechanism::Connector, words!["/bin/sh", "-c", script])
        .options(["--with", "processes"])
        .finish();
    done.expect_status(0);
    let mechanism = &done.report().monitor.mechanism;
    if mechanism != "taskstats" {
        return println!("skipped: this kernel tells no ends by taskstats: {mechanism}");
    }
    assert_eq!(done.report().monitor.events_lost, 0);
    let all = processes(&fs::read_to_string(done.path("r.processes.jsonl")).unwrap());
    assert_eq!(all.iter().map(|one| one.folded).sum::<u64>(), 52);
    let sum = |name: &str| -> u64 {
        all.iter()
            .map(|one| one.usage.get(name).unwrap().whole().unwrap())
            .sum()
    };
    // The last moments of an end come after its record.
    let faults = number(&done, "faults_minor") as u64;
    assert!(
        (faults - faults / 20..=faults).contains(&sum("faults_minor")),
        "{faults}"
    );
    assert_eq!(sum("disk_written"), number(&done, "disk_written") as u64);
    assert!(sum("cpu_time") <= number(&done, "cpu_time") as u64);
    let largest = all
        .iter()
        .filter_map(|one| one.usage.get("rss_peak")?.whole())
        .max()
        .unwrap();
    assert!((63 << 20..68 << 20).contains(&largest), "{largest}");
}

/// The files beside a report that all these options make.
const BESIDE: &[&str] = &[
    "processes.jsonl",
    "files.jsonl",
    "sockets.jsonl",
    "series.csv",
];

fn with_files_beside(command: Vec<std::ffi::OsString>) -> Run {
    let options = ["-q", "--output", "r", "--level", "io"];
    Run::plain(&options, command).options(["--with", "processes,series"])
}

/// A folder is in nobody's way but a file's, root's too; nothing is made but where it must be.
#[test]
fn a_file_beside_the_report_that_cannot_be_written_is_told_before_the_task_starts() {
    for name in BESIDE {
        let run = with_files_beside(words!["/bin/echo", "ran"]);
        let folder = run.path(&format!("cwd/r.{name}"));
        fs::create_dir(&folder).unwrap();
        let done = run.finish();
        done.expect_status(125);
        assert_eq!(done.stdout, "", "{name}: the task ran");
        assert!(
            done.stderr.contains(&format!("r.{name}")),
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains("another PREFIX"), "{}", done.stderr);
        assert_eq!(fs::read_dir(done.path("cwd")).unwrap().count(), 1, "{name}");
    }
}

/// What fails at the end alone is told by its name, and the others are written.
#[test]
fn a_file_beside_the_report_that_fails_at_the_end_does_not_cost_the_others() {
    for name in BESIDE {
        let beside = format!("r.{name}");
        let done = with_files_beside(words!["mkdir", &beside]).finish();
        done.expect_status(0);
        let warnings = done.stderr.matches("warning: ").count();
        assert_eq!(warnings, 1, "{name}: {}", done.stderr);
        assert!(done.stderr.contains(&beside), "{name}: {}", done.stderr);
        for other in BESIDE.iter().chain(&["json"]) {
            let file = done.path(&format!("cwd/r.{other}"));
            assert_eq!(file.is_file(), other != name, "{name}: {}", file.display());
        }
    }
}
