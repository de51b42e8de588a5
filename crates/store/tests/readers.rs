//! The programs that our formats are for read the recorded files: snakemake, PyYAML, the parsers of
//! Prometheus, Pegasus, BenchExec, HTCondor, WfCommons and OpenTelemetry.
//!
//! They are installed once by pip into a Python environment of their own below `target/`. Where
//! that cannot be, the tests say why and are skipped.
#![allow(
    missing_docs,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

#[path = "readers/environment.rs"]
mod environment;

use environment::environment;
use record::report::Report;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use store::export::{Details, Record};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A folder like those of the recorded reports, with every character in its command and in a label.
fn every_character() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let report = here().join("fixtures/formats/hostile/report.json");
    let report = std::fs::read_to_string(report).unwrap();
    let mut report: Report = serde_json::from_str(&report).unwrap();
    let wide = (0x10000..0x11_0000).step_by(97);
    let all: Vec<char> = (0..0x10000)
        .chain(wide)
        .filter_map(char::from_u32)
        .collect();
    let words = all
        .chunks(1000)
        .map(|chunk| chunk.iter().collect::<String>());
    report.task.command.extend(words);
    let label = report.task.command.iter().skip(1).take(12).cloned();
    report.task.labels = [("x".to_owned(), label.collect())].into();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("report.json"), serde_json::to_vec(&report).unwrap()).unwrap();
    for name in ["kickstart", "openmetrics"] {
        let format = store::export::format(name).unwrap();
        let text = (format.encode)(&Record {
            report: &report,
            processes: &[],
            series: None,
            details: &Details::default(),
        });
        std::fs::write(
            path(&format!("expected.{}", format.extension)),
            text.unwrap(),
        )
        .unwrap();
    }
    folder
}

fn folders() -> Vec<OsString> {
    let home = here().join("fixtures/formats");
    let entries = std::fs::read_dir(home).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path().into()).collect();
    folders.sort();
    folders
}

fn read_by(name: &str) {
    read(name, &folders());
}

fn read(name: &str, folders: &[OsString]) {
    let python = match environment(&here().join("readers")) {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let script = here().join("readers/read.py");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(python)
        .arg(script)
        .arg(name)
        .args(folders)
        .output()
        .unwrap();
    assert!(status.success(), "{name}: {}", text(&stderr));
    let count = format!("{name} read {}", folders.len());
    assert_eq!(text(&stdout).lines().last(), Some(count.as_str()));
}

#[test]
fn snakemake_writes_the_same_table() {
    read_by("snakemake");
}

#[test]
fn pyyaml_reads_the_record_of_kickstart() {
    read_by("kickstart");
}

#[test]
fn no_character_breaks_yaml_or_a_label() {
    let folder = every_character();
    for name in ["kickstart", "openmetrics"] {
        read(name, &[folder.path().into()]);
    }
}

#[test]
fn pegasus_reads_the_record_of_kickstart() {
    read_by("pegasus");
}

#[test]
fn prometheus_reads_the_textfile() {
    read_by("openmetrics");
}

#[test]
fn benchexec_prints_the_same_lines() {
    read_by("runexec");
}

#[test]
fn htcondor_reads_the_attributes() {
    read_by("classad");
}

#[test]
fn wfcommons_takes_the_workflow() {
    read_by("wfformat");
}

#[test]
fn opentelemetry_reads_the_metrics() {
    read_by("otlp");
}
