//! Everything a change must pass, and one closing line for all of it.

use crate::outcome::{Outcome, Reader};
use crate::tidy::{EXCEPTIONS, Tree, examine};
use crate::workspace::Workspace;
use crate::{docs, page, python, step, truth};
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// A step of cargo: its name and words.
type Step = (&'static str, &'static [&'static str]);

const STEPS: &[Step] = &[
    ("fmt", &["fmt", "--all", "--check"]),
    (
        "clippy",
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ),
    (
        "clippy without BPF",
        &[
            "clippy",
            "--package",
            "plimsoll",
            "--no-default-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("doc", &["doc", "--workspace", "--no-deps"]),
];

const TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--no-fail-fast",
    "--",
    "--show-output",
];

/// Runs every step and test, whatever fails on the way, and prints the sum.
///
/// # Errors
/// When a step cannot be started at all.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode> {
    let mut outcome = Outcome::default();
    // First, for the program takes it in.
    page::check(workspace, &mut outcome);
    for (name, words) in STEPS {
        let mut cargo = workspace.cargo(words);
        cargo.env("RUSTDOCFLAGS", "-D warnings");
        outcome.step(name, step::run(&mut cargo));
    }
    outcome.step("tidy", fresh_tidy(workspace));
    licences(workspace, &mut outcome);
    outcome.add(tests(&mut workspace.cargo(TESTS), "")?);
    outcome.add(python::run(workspace, None)?);
    outcome.add(truth::run_unprivileged(workspace)?);
    Ok(close(&outcome))
}

/// Prints the sum as the last line.
pub(crate) fn close(outcome: &Outcome) -> ExitCode {
    println!("{outcome}");
    if outcome.is_good() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a command that runs tests with `--show-output`, shows what a person wants to see, counts
/// the rest.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn tests(command: &mut Command, label: &str) -> Result<Outcome> {
    count(command, label, &mut std::io::stdout())
}

fn count(command: &mut Command, label: &str, shown: &mut impl Write) -> Result<Outcome> {
    step::announce(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| command.get_program().to_string_lossy().into_owned())?;
    let mut reader = Reader::new(label);
    let output = child.stdout.take().context("no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if reader.line(&line) {
            writeln!(shown, "{line}")?;
        }
    }
    Ok(reader.end(child.wait()?.success()))
}

/// `cargo xtask tidy`: METRICS.md is compared with the given file, else with what the built program
/// says.
///
/// # Errors
/// When the tree or the file cannot be read, or the program fails.
pub(crate) fn tidy(workspace: &Workspace, metrics: Option<&Path>) -> Result<ExitCode> {
    let fresh = match (metrics, workspace.debug_program()) {
        (Some(file), _) => Some(std::fs::read_to_string(file)?),
        (None, Some(program)) => Some(docs::metrics(&program)?),
        (None, None) => {
            eprintln!("METRICS.md is not compared: plimsoll is not built");
            None
        }
    };
    let faults = faults(workspace, fresh)?;
    Ok(if faults == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn fresh_tidy(workspace: &Workspace) -> Result<()> {
    let program = workspace.build_debug()?;
    let faults = faults(workspace, Some(docs::metrics(&program)?))?;
    anyhow::ensure!(faults == 0, "{faults} faults");
    Ok(())
}

fn faults(workspace: &Workspace, metrics: Option<String>) -> Result<usize> {
    let mut tree = Tree::read(&workspace.root)?;
    tree.fresh_metrics = metrics;
    let faults = examine(&tree, EXCEPTIONS);
    for fault in &faults {
        println!("{fault}");
    }
    Ok(faults.len())
}

/// Licences and bans of `deny.toml`, where the tool for it is installed.
fn licences(workspace: &Workspace, outcome: &mut Outcome) {
    if step::find_program("cargo-deny").is_none() {
        outcome.skip("licences of dependencies: cargo-deny is not installed");
        return;
    }
    let words = ["deny", "--all-features", "check", "licenses", "bans"];
    outcome.step("deny", step::run(&mut workspace.cargo(&words)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_command_is_counted() {
        let text = "test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n";
        // Not to our own output: who counts our tests would count these lines too.
        let mut shown = Vec::new();
        let outcome = count(Command::new("printf").arg(text), "", &mut shown).unwrap();
        assert_eq!(outcome.to_string(), "1 passed, 0 failed, 0 skipped");
        assert!(shown.starts_with(b"test result: "));
        let outcome = count(&mut Command::new("false"), "x: ", &mut shown).unwrap();
        assert!(!outcome.is_good());
    }
}
