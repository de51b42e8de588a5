//! What our own formats wrote of a report comes back with the same numbers.

use crate::{named, read};
use record::attempt::Attempt;
use record::report::{ExitType, Process, Report};
use std::fs;
use std::path::{Path, PathBuf};
use store::attempt::of_report;
use store::export::{Details, Record};
use store::import::Options;

/// A folder of `fixtures/formats`.
struct Case {
    folder: PathBuf,
    report: Report,
    processes: Vec<Process>,
}

fn cases() -> Vec<Case> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats");
    let folders = fs::read_dir(home).unwrap();
    let case = |folder: PathBuf| {
        let report = fs::read_to_string(folder.join("report.json")).unwrap();
        let processes = fs::read_to_string(folder.join("processes.jsonl")).unwrap_or_default();
        let processes = processes
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        Case {
            report: serde_json::from_str(&report).unwrap(),
            processes: processes.collect(),
            folder,
        }
    };
    folders.map(|entry| case(entry.unwrap().path())).collect()
}

impl Case {
    /// The attempt that another format tells, of the one task.
    fn told(&self, exported: &str, imported: &str) -> Option<Attempt> {
        let format = store::export::format(exported).unwrap();
        let details = Details::default();
        let text = (format.encode)(&Record {
            report: &self.report,
            processes: &self.processes,
            series: None,
            details: &details,
        });
        let options = Options {
            file: Some("benchmarks/a.tsv".to_owned()),
            ..Options::default()
        };
        let told = read(named(imported), text.unwrap().as_slice(), &options).unwrap();
        assert!(told.attempts.len() <= 1, "{exported}: {told:?}");
        if let Some(rejected) = told.rejected.first() {
            panic!("{exported} of {}: {rejected:?}", self.folder.display());
        }
        told.attempts.into_iter().next()
    }

    fn number(&self, metric: &str) -> Option<f64> {
        Some(self.report.usage.get(metric)?.value()?.value.as_f64())
    }
}

fn used(attempt: &Attempt, name: &str) -> Option<f64> {
    attempt.used.get(name).map(|amount| amount.value.as_f64())
}

/// The same, but for what a format rounds to.
fn alike(case: &Case, what: &str, told: Option<f64>, known: Option<f64>, step: f64) {
    let at = format!("{} {what}: {told:?} {known:?}", case.folder.display());
    match (told, known) {
        (Some(told), Some(known)) => assert!((told - known).abs() <= step, "{at}"),
        (told, known) => assert_eq!(told.is_some(), known.is_some(), "{at}"),
    }
}

const MIB: f64 = 1_048_576.0;

#[test]
fn numbers_come_back_as_far_as_a_format_has_them() {
    let was_started = |case: &Case| case.report.exit.kind != ExitType::NotStarted;
    for case in cases().into_iter().filter(was_started) {
        let memory = case.number("memory_peak").or(case.number("rss_peak"));
        // The format, the metric that its memory is, and what it rounds memory and times to.
        for (exported, imported, memory, size, wall, cpu) in [
            (
                "snakemake-benchmark",
                "snakemake",
                memory,
                0.01 * MIB,
                1e7,
                1e7,
            ),
            (
                "time",
                "time",
                case.number("rss_peak_process"),
                1024.0,
                1e9,
                2e7,
            ),
            ("cctools", "cctools", memory, MIB, 1e3, 1e3),
            (
                "kickstart",
                "kickstart",
                case.number("rss_peak_process"),
                1024.0,
                1e6,
                2e6,
            ),
            (
                "wfformat",
                "wfformat",
                case.number("rss_peak"),
                1.0,
                1.0,
                1e3,
            ),
        ] {
            let told = case.told(exported, imported).unwrap();
            alike(&case, exported, used(&told, "memory"), memory, size);
            alike(
                &case,
                exported,
                used(&told, "wall"),
                case.number("wall_time"),
                wall,
            );
            if case.number("cpu_time").is_some() {
                alike(
                    &case,
                    exported,
                    used(&told, "cpu"),
                    case.number("cpu_time"),
                    cpu,
                );
            }
        }
    }
}

#[test]
fn a_report_comes_back_as_the_attempt_that_it_is() {
    for case in cases() {
        for format in ["json", "jsonl"] {
            let told = case.told(format, "plimsoll").unwrap();
            let known = of_report(&case.report);
            assert_eq!(told.source.as_deref(), Some("benchmarks/a.tsv"));
            assert_eq!(
                Attempt {
                    source: None,
                    ..told
                },
                known
            );
        }
    }
}
