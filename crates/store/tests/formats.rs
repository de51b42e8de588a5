//! Every format of every recorded report against the file that its readers have; `BLESS=1`
//! rewrites them.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use record::report::{Process, Report};
use record::unit::Nanos;
use reduce::series::{Row, Series, TASK_COLUMNS};
use std::fs;
use std::path::{Path, PathBuf};
use store::export::{Details, FORMATS, Format, Record, TaskOutput, Wants, format};

/// A folder of `fixtures/formats`: a report, its processes if it has some, and what is expected.
struct Case {
    folder: PathBuf,
    report: Report,
    processes: Vec<Process>,
}

fn cases() -> Vec<Case> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats");
    let mut folders: Vec<_> = fs::read_dir(home)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    folders.into_iter().map(Case::read).collect()
}

impl Case {
    fn read(folder: PathBuf) -> Self {
        let report = fs::read_to_string(folder.join("report.json")).unwrap();
        let processes = fs::read_to_string(folder.join("processes.jsonl")).unwrap_or_default();
        Self {
            report: serde_json::from_str(&report).unwrap(),
            processes: processes
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect(),
            folder,
        }
    }

    fn called(name: &str) -> Self {
        let found = cases().into_iter().find(|case| case.name() == name);
        found.expect("a case of that name")
    }

    fn name(&self) -> &str {
        self.folder.file_name().unwrap().to_str().unwrap()
    }

    fn text(&self, format: &Format, details: &Details) -> String {
        let series = series();
        let record = Record {
            report: &self.report,
            processes: &self.processes,
            series: (format.wants == Wants::Series && !self.processes.is_empty())
                .then_some(&series),
            details,
        };
        String::from_utf8((format.encode)(&record).unwrap()).unwrap()
    }

    fn plain(&self, name: &str) -> String {
        self.text(format(name).unwrap(), &details())
    }
}

fn details() -> Details {
    Details {
        page_bytes: Some(4096),
        executable: Some("dynamic"),
        ..Details::default()
    }
}

fn series() -> Series {
    let mut series = Series::new(TASK_COLUMNS);
    for step in 1..4_u64 {
        let mut values: Vec<_> = (0..TASK_COLUMNS.len())
            .map(|column| Some((step * 1_000_000 * (column as u64 + 1)) as f64))
            .collect();
        values[1] = Some(0.5 * step as f64);
        values[3] = None;
        values[6] = Some(step as f64);
        values[12] = (step > 1).then_some(5e6);
        series.push(
            Nanos::from_millis(250 * step),
            vec![Row {
                process: None,
                values,
            }],
        );
    }
    series
}

fn compare(path: &Path, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path, text).unwrap();
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == text,
        "{} changed:\n{text}\nrecorded:\n{golden}",
        path.display()
    );
}

#[test]
fn every_format_reads_as_it_always_has() {
    let cases = cases();
    assert!(cases.len() >= 6);
    for case in &cases {
        for format in FORMATS {
            if matches!(format.name, "json" | "jsonl") {
                continue;
            }
            let path = case.folder.join(format!("expected.{}", format.extension));
            compare(&path, &case.text(format, &details()));
        }
    }
}

/// Every line of a line format is one, and no text of the user's makes another.
#[test]
fn no_command_breaks_a_line() {
    let case = Case::called("hostile");
    for (name, lines) in [
        ("nextflow-trace", 17),
        ("snakemake-benchmark", 2),
        ("runexec", 7),
        ("classad", 11),
        ("otlp-json", 1),
        ("jsonl", 1),
    ] {
        assert_eq!(case.plain(name).lines().count(), lines, "{name}");
        assert!(case.plain(name).ends_with('\n'), "{name}");
    }
}

/// A label is a member of its own or none: each name is there once and means what it always does.
#[test]
fn no_label_pretends_to_be_a_member_of_a_summary() {
    let members: Vec<String> = cases()
        .into_iter()
        .flat_map(|mut case| {
            case.report.task.labels.clear();
            let of_top = |line: &str| {
                let (name, _) = line.strip_prefix("  \"")?.split_once('"')?;
                Some(name.to_owned())
            };
            let text = case.plain("cctools");
            text.lines().filter_map(of_top).collect::<Vec<_>>()
        })
        .collect();
    let known = [
        "limits_exceeded",
        "peak_times",
        "signal",
        "memory",
        "executable_type",
    ];
    for name in known {
        assert!(members.iter().any(|member| member == name), "{name}");
    }
    for mut case in cases() {
        let taken = members
            .iter()
            .map(|name| (name.clone(), "pretended".to_owned()));
        case.report.task.labels.extend(taken);
        assert!(
            !case.plain("cctools").contains("pretended"),
            "{}",
            case.name()
        );
    }
}

/// YAML takes no longer keys, and each once.
#[test]
fn a_long_name_of_an_environment_is_a_short_key() {
    let case = Case::called("normal");
    let name = "n".repeat(1024);
    let value = |text: &str| (name.clone(), text.to_owned());
    let details = Details {
        environment: Some(vec![value("one"), value("two")]),
        ..details()
    };
    let text = case.text(format("kickstart").unwrap(), &details);
    let keys: Vec<_> = text
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_suffix(": \"one\"")
                .or(line.trim().strip_suffix(": \"two\""))
        })
        .collect();
    assert_eq!(keys.len(), 2, "{text}");
    assert!(keys[0].len() <= 1024 && keys[0] != keys[1], "{keys:?}");
}

/// What was not measured is nowhere a number.
#[test]
fn what_is_absent_stays_absent() {
    let case = Case::called("absent");
    assert_eq!(
        case.plain("nextflow-trace"),
        format!(
            "nextflow.trace/v2\nrealtime={}\n",
            case.report.usage.get("wall_time").unwrap().whole().unwrap() / 1_000_000
        )
    );
    let row = case.plain("snakemake-benchmark");
    assert!(row.ends_with("\tNA\tNA\t-\tNA\tNA\tNA\tNA\tNA\n"), "{row}");
    assert!(!case.plain("classad").contains("MemoryUsage"));
    assert!(!case.plain("runexec").contains("memory"));
    assert!(!case.plain("openmetrics").contains("memory_peak"));
    assert!(!case.plain("cctools").contains("\"memory\""));
    assert!(!case.plain("kickstart").contains("maxrss"));
    assert!(!case.plain("wfformat").contains("memoryInBytes"));
    assert!(!case.plain("otlp-json").contains("process.memory"));
    assert!(case.plain("time").contains("(kbytes): ?\n"));
}

/// The record with everything that can be asked for beside the report.
#[test]
fn a_full_record_of_kickstart_reads_as_it_always_has() {
    let case = Case::called("hostile");
    let output = |name, data: Option<&str>| TaskOutput {
        name,
        file_name: data.is_none().then(|| "/home/ada/a: \"b\"".to_owned()),
        size_bytes: data.map(|data| data.len() as u64 + 9),
        data: data.map(str::to_owned),
        truncated: true,
    };
    let odd = ("A=\"b\"".to_owned(), "- c: #\n\u{1b}[0m".to_owned());
    let details = Details {
        environment: Some(vec![("HOME".to_owned(), "/home/ada".to_owned()), odd]),
        outputs: vec![
            output("stdout", Some("...\n---\n- a: 'b\n\ttab\u{0}\r\n")),
            output("stderr", None),
        ],
        ..details()
    };
    let format = format("kickstart").unwrap();
    compare(
        &case.folder.join("full.kickstart.yml"),
        &case.text(format, &details),
    );
}

#[test]
fn a_format_string_is_that_of_time() {
    let case = Case::called("normal");
    let expand = |format: &str| {
        let details = Details {
            time_format: Some(format.to_owned()),
            time_quiet: true,
            ..details()
        };
        case.text(store::export::format("time").unwrap(), &details)
    };
    let exit = expand("%x|%Z|%W|%%|\\t|\\n|\\\\|\\q|%q|%");
    assert_eq!(exit, "0|4096|0|%|\t|\n|\\|?\\q|?q|?");
    assert_eq!(
        expand("%C"),
        format!("{}\n", case.report.task.command.join(" "))
    );
    let default = expand(store::export::time::DEFAULT_FORMAT);
    let parts: Vec<_> = default.split_whitespace().collect();
    assert!(parts[0].ends_with("user") && parts[1].ends_with("system"));
    assert!(default.contains("%CPU (0avgtext+0avgdata "), "{default}");
    assert!(default.ends_with("pagefaults 0swaps\n"));
    assert_eq!(default.lines().count(), 2);
}
