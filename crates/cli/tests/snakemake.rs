//! The workflow of `examples/snakemake`, run by Snakemake itself.
#![allow(
    missing_docs,
    clippy::disallowed_macros,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

#[path = "../../store/tests/readers/environment.rs"]
mod environment;

use environment::environment;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
fn plimsoll() -> OsString {
    std::env::var_os("PLIMSOLL_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The example in a folder of its own, and the interpreter that has Snakemake.
struct Workflow {
    folder: tempfile::TempDir,
    python: PathBuf,
}

impl Workflow {
    fn new() -> Result<Self, String> {
        let python = environment(&root().join("crates/store/tests/readers"))?;
        let folder = tempfile::tempdir().unwrap();
        copy(&root().join("examples/snakemake"), folder.path());
        Ok(Self { folder, python })
    }

    fn run(&self, program: &Path, targets: &[&str]) -> Output {
        let config = format!("plimsoll={}", program.display());
        Command::new(&self.python)
            .args(["-m", "snakemake", "--cores", "2", "--nocolor"])
            .args(targets)
            .args(["--config", &config])
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .output()
            .unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// One test: Snakemake takes seconds.
#[test]
fn the_rules_run_through_plimsoll() {
    let workflow = match Workflow::new() {
        Ok(workflow) => workflow,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let done = workflow.run(Path::new(&plimsoll()), &[]);
    assert!(done.status.success(), "{done:?}");
    let words = workflow.read("words.tsv");
    assert_eq!(words.lines().next(), Some("the\t15"));
    let table = workflow.read("benchmarks.tsv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let columns = [
        "step", "s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss",
    ];
    assert_eq!(rows[0][..7], columns);
    assert_eq!(rows.len(), 5, "{table}");
    for row in &rows[1..] {
        let number = |column: usize| row[column].parse::<f64>();
        assert_eq!(row[2], "0:00:00", "{table}");
        assert!(
            number(3).unwrap() > 0.5 && number(4).unwrap() > 0.5,
            "{table}"
        );
        assert!(number(10).unwrap() >= 0.0, "{table}");
    }
    // What a rule's command returns is what Snakemake sees.
    let failing = workflow.folder.path().join("failing");
    let script = "#!/bin/sh\nexec \"$REAL\" run --quiet --limit-exit-code 9 -- false\n";
    let script = script.replace("$REAL", &plimsoll().to_string_lossy());
    fs::write(&failing, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&failing, mode).unwrap();
    let done = workflow.run(&failing, &["--forceall", "merge"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
}
