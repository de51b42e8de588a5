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
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn folders() -> Vec<OsString> {
    let home = here().join("fixtures/formats");
    let entries = std::fs::read_dir(home).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path().into()).collect();
    folders.sort();
    folders
}

fn read_by(name: &str) {
    let python = match environment(&here().join("readers")) {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let folders = folders();
    let script = here().join("readers/read.py");
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(python)
        .arg(script)
        .arg(name)
        .args(&folders)
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
