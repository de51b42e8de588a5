//! DuckDB and Spark give the same answers to the reports' text on the same folders, row for row.

use crate::dataset::{make, to_parquet, told};
use crate::environment::environment;
use query::{Dialect, Params, REPORTS, elsewhere};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn params(needs_job: bool) -> Params {
    Params {
        job: needs_job.then(|| "7".to_owned()),
        ..Params::default()
    }
}

/// Runs the example that asks another engine: the text of each report beside our answer to it.
fn compare(dialect: Dialect, script: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = match environment(&here.join("../store/tests/readers")) {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("data");
    make(&dataset);
    to_parquet(&dataset);
    let asked = folder.path().join("asked");
    fs::create_dir(&asked).unwrap();
    let tables = elsewhere::tables(&dataset, dialect).unwrap();
    for report in REPORTS {
        let params = params(report.needs_job);
        let text = format!("{tables}{};\n", report.sql(&params, dialect));
        let path = |end: &str| asked.join(format!("{}.{end}", report.name));
        fs::write(path("sql"), text).unwrap();
        let ours = told(&dataset, report, &params, "jsonl").unwrap();
        fs::write(path("jsonl"), ours).unwrap();
    }
    let script: PathBuf = here.join("../../examples/analysis").join(script);
    let output = Command::new(python)
        .arg(script)
        .arg(&asked)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        println!("skipped: {}", said.trim());
        return;
    }
    assert!(output.status.success(), "{said}{errors}");
    let same = said
        .lines()
        .filter(|line| line.ends_with(": the same"))
        .count();
    assert_eq!(same, REPORTS.len(), "{said}");
}

#[test]
fn duckdb_gives_the_same_answers() {
    compare(Dialect::DuckDb, "duckdb_compare.py");
}

#[test]
fn spark_gives_the_same_answers() {
    compare(Dialect::Spark, "spark_compare.py");
}
