//! The truth tests once more where cargo does not run: as an unprivileged user, and on other
//! kernels.
//!
//! They are the integration tests of the package `plimsoll`. Their compiled programs, and the
//! binary that they test
//! (named to them in `PLIMSOLL_BIN`), are copied to a folder that everybody can read.

use crate::ci;
use crate::outcome::Outcome;
use crate::step;
use crate::vm::{Kernel, Machine};
use crate::workspace::{Built, Workspace};
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tempfile::TempDir;

/// User and group of the unprivileged run: nobody's.
const NOBODY: u32 = 65534;
/// Emulation is some twenty times slower than the machine.
const VM_SECONDS: u64 = 3600;

/// Copies of the test programs and of the binary, in a folder of their own.
#[derive(Debug)]
struct Stage {
    folder: TempDir,
    tests: Vec<(String, PathBuf)>,
    plimsoll: PathBuf,
}

/// Runs the truth tests as an unprivileged user; as anybody but root that has been done already.
///
/// # Errors
/// When files cannot be copied or a program cannot be started.
pub(crate) fn run_unprivileged(workspace: &Workspace) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    if !step::is_root() {
        outcome.skip("tests as root: started by another user");
        return Ok(outcome);
    }
    if step::find_program("setpriv").is_none() {
        outcome.skip("tests as uid 65534: setpriv (package util-linux) is not installed");
        return Ok(outcome);
    }
    let stage = match Stage::new(workspace) {
        Ok(stage) => stage,
        Err(error) => {
            outcome.step("building the truth tests", Err(error));
            return Ok(outcome);
        }
    };
    let home = stage.home(NOBODY)?;
    for (name, program) in &stage.tests {
        let label = format!("uid {NOBODY}: {name}: ");
        outcome.add(ci::tests(&mut stage.as_nobody(program, &home), &label)?);
    }
    if stage.tests.is_empty() {
        outcome.skip("tests as uid 65534: plimsoll has no integration tests");
    }
    Ok(outcome)
}

/// Runs the truth tests on these kernels (all if none is named) and prints the sum.
///
/// # Errors
/// When the tests cannot be built, or a machine cannot be started.
pub(crate) fn run_on(workspace: &Workspace, kernels: &[Kernel]) -> Result<ExitCode> {
    let all: Vec<Kernel>;
    let kernels = if kernels.is_empty() {
        all = Kernel::value_variants().to_vec();
        &all
    } else {
        kernels
    };
    let stage = Stage::new(workspace)?;
    let mut outcome = Outcome::default();
    for kernel in kernels {
        let machine = Machine::prepare(*kernel)?.seconds(VM_SECONDS);
        for (name, program) in &stage.tests {
            let label = format!("{kernel}: {name}: ");
            outcome.add(stage.on(&machine, program, &label)?);
        }
    }
    if outcome.seen() == 0 {
        outcome.fail("no test was found to run");
    }
    Ok(ci::close(&outcome))
}

impl Stage {
    fn new(workspace: &Workspace) -> Result<Self> {
        let words = ["test", "--package", "plimsoll", "--test", "*", "--no-run"];
        let built = if has_tests(workspace) {
            workspace.build(&words)?
        } else {
            Vec::new()
        };
        let plimsoll = workspace.build_plimsoll(&[])?;
        let folder = tempfile::Builder::new()
            .prefix("plimsoll-truth-")
            .tempdir_in("/tmp")?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let plimsoll = copy(&plimsoll, folder.path(), "plimsoll")?;
        let tests = built
            .iter()
            .filter(|built| is_truth(built))
            .map(|built| {
                let name = format!("test-{}", built.name);
                Ok((built.name.clone(), copy(&built.file, folder.path(), &name)?))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            folder,
            tests,
            plimsoll,
        })
    }

    /// A home with a folder for temporary files, owned by this user.
    fn home(&self, user: u32) -> Result<PathBuf> {
        let home = self.folder.path().join(format!("home-{user}"));
        for folder in [home.clone(), home.join("tmp")] {
            fs::create_dir_all(&folder)?;
            chown(&folder, Some(user), Some(user))?;
        }
        Ok(home)
    }

    fn as_nobody(&self, program: &Path, home: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command
            .args([
                format!("--reuid={NOBODY}"),
                format!("--regid={NOBODY}"),
                "--clear-groups".to_owned(),
            ])
            .arg(program)
            .arg("--show-output")
            .envs([("USER", "nobody"), ("LOGNAME", "nobody")])
            .env("HOME", home)
            .env("TMPDIR", home.join("tmp"))
            .env("PLIMSOLL_BIN", &self.plimsoll)
            .current_dir(home);
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("XDG_") || name_text.starts_with("CARGO") {
                command.env_remove(&name);
            }
        }
        command
    }

    fn on(&self, machine: &Machine, program: &Path, label: &str) -> Result<Outcome> {
        let mut command = Command::new(program);
        command
            .arg("--show-output")
            .env("PLIMSOLL_BIN", &self.plimsoll)
            .current_dir(self.folder.path());
        let run = machine.run(&command, &[self.folder.path().to_owned()])?;
        let mut reader = crate::outcome::Reader::new(label);
        for line in run.output.lines() {
            if reader.line(line) {
                println!("{line}");
            }
        }
        Ok(reader.end(run.status == 0))
    }
}

fn is_truth(built: &Built) -> bool {
    built.test && built.kind == "test"
}

/// Whether the package `plimsoll` has integration tests: cargo refuses `--test '*'` where it has
/// none.
fn has_tests(workspace: &Workspace) -> bool {
    fs::read_dir(workspace.root.join("crates/cli/tests")).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let path = entry.path();
            path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").is_file()
        })
    })
}

fn copy(from: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    let to = folder.join(name);
    fs::copy(from, &to).with_context(|| from.display().to_string())?;
    fs::set_permissions(&to, Permissions::from_mode(0o755))?;
    Ok(to)
}
