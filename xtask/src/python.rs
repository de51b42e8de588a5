//! The tests of the Python package, which ask the real program; with the environments that they
//! want: one with what builds and types the package and with pandas, one with Snakemake.

use crate::ci;
use crate::outcome::Outcome;
use crate::setup::PYTHONS;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Makes an environment; it says why where it cannot.
const SCRIPT: &str = "crates/store/tests/readers/environment.py";
/// Its exit status then.
const UNAVAILABLE: i32 = 3;
const REQUIREMENTS: &str = "python/tests/requirements.txt";

/// `cargo xtask python`.
///
/// # Errors
/// When a program cannot be started.
pub(crate) fn test(workspace: &Workspace, program: Option<PathBuf>) -> Result<ExitCode> {
    Ok(ci::close(&run(workspace, program)?))
}

/// Runs the tests with the given program, else with the one that cargo builds. Without an
/// environment they run with the interpreter that is there, and say what they skip.
///
/// # Errors
/// When a program cannot be started.
pub(crate) fn run(workspace: &Workspace, program: Option<PathBuf>) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let Some(python) = python() else {
        outcome.skip("tests of the Python package: no python3");
        return Ok(outcome);
    };
    let program = match program.map_or_else(|| workspace.build_debug(), Ok) {
        Ok(program) => program.canonicalize()?,
        Err(error) => {
            outcome.step("building plimsoll for the Python package", Err(error));
            return Ok(outcome);
        }
    };
    let environments = workspace.target().join("tmp");
    let made = |name: &str, words: &[&str]| {
        let mut command = Command::new(python);
        command.arg(SCRIPT).arg(environments.join(name)).args(words);
        environment(
            command.current_dir(&workspace.root),
            &environments.join(name),
        )
    };
    let own = made("python", &[REQUIREMENTS])?.unwrap_or_else(|why| {
        eprintln!("the Python package is tested without data frames: {why}");
        python.into()
    });
    let mut command = Command::new(own);
    command
        .args(["-B", "python/tests"])
        .current_dir(&workspace.root);
    command.env("PYTHONPATH", workspace.root.join("python/src"));
    command.env("PLIMSOLL", program);
    match made("readers", &[])? {
        Ok(snakemake) => drop(command.env("PLIMSOLL_TEST_SNAKEMAKE", snakemake)),
        Err(why) => eprintln!("the Python package is tested without Snakemake: {why}"),
    }
    outcome.add(ci::tests(&mut command, "python: ")?);
    Ok(outcome)
}

/// The first interpreter that starts.
fn python() -> Option<&'static str> {
    PYTHONS.iter().copied().find(|python| {
        let mut version = Command::new(python);
        version
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    })
}

/// The interpreter of an environment that the command makes in the folder, or why there is none.
fn environment(command: &mut Command, folder: &Path) -> Result<Result<PathBuf, String>> {
    let done = command.output().context(SCRIPT)?;
    let said = String::from_utf8_lossy(&done.stdout);
    match done.status.code() {
        Some(0) => Ok(Ok(folder.join("bin/python"))),
        Some(UNAVAILABLE) => Ok(Err(said.lines().last().unwrap_or_default().to_owned())),
        _ => bail!("{SCRIPT}: {}", String::from_utf8_lossy(&done.stderr)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_there_or_it_is_told_why_not() {
        let made = |script: &str| {
            let mut command = Command::new("sh");
            environment(command.args(["-c", script]), Path::new("/e"))
        };
        assert_eq!(made("exit 0").unwrap(), Ok(PathBuf::from("/e/bin/python")));
        assert_eq!(
            made("echo first; echo no network; exit 3").unwrap(),
            Err("no network".to_owned())
        );
        let error = made("echo wrong >&2; exit 1").unwrap_err();
        assert!(error.to_string().contains("wrong"), "{error}");
    }
}
