//! The truth tests once more where cargo does not run: as an unprivileged user, and on other
//! kernels.
//!
//! They are the integration tests of the package `plimsoll`. They, the binary that they test (named
//! to them in `PLIMSOLL_BIN`) and the programs that they watch (`PLIMSOLL_WORKLOADS`) are put into
//! a folder that everybody can read.

use crate::ci;
use crate::outcome::Outcome;
use crate::step;
use crate::vm::{CPUS, Kernel, Machine};
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// User and group of the unprivileged run: nobody's.
const NOBODY: u32 = 65534;
/// Where the truth tests are.
const TESTS: &str = "crates/cli/tests";
/// The test that compiles the programs to be watched.
const COMPILES: &str = "harness::workload::tests::every_program_is_compiled";
/// How often, and after which pause, it is looked whether an agent listens.
const AGENT_TRIES: u32 = 200;
const AGENT_PAUSE: Duration = Duration::from_millis(50);
/// Emulation is some twenty times slower than the machine.
const VM_SLOWNESS: &str = "20";
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
    let agent = Lender::start(&stage)?;
    for (name, program) in &stage.tests {
        let label = format!("uid {NOBODY}: {name}: ");
        let mut command = stage.as_nobody(program, &home);
        command.envs(agent.socket().map(|path| ("PLIMSOLL_TEST_AGENT", path)));
        outcome.add(ci::tests(&mut command, &label)?);
    }
    drop(agent);
    if stage.tests.is_empty() {
        outcome.skip("tests as uid 65534: plimsoll has no integration tests");
    }
    Ok(outcome)
}

/// The modules whose programs are attached to every system call. The kernel rewrites its own code
/// for that, and a second processor of the emulator meets the breakpoint in between after the
/// kernel has forgotten it ("Oops: int3"): on one processor that cannot be.
const AT_EVERY_CALL: [&str; 7] = [
    "again", "cache", "files", "names", "renamed", "sockets", "syscalls",
];

/// The modules whose machine has swap. What is swapped out takes its memory, which the others need,
/// and a task at the limit of a group above would be swapped where it is to be ended.
const NEED_SWAP: [&str; 1] = ["swap"];

/// Runs the truth tests on these kernels (all if none is named), or those of them whose name has
/// one of the `filters`, and prints the sum.
///
/// # Errors
/// When the tests cannot be built, or a machine cannot be started.
pub(crate) fn run_on(
    workspace: &Workspace,
    kernels: &[Kernel],
    filters: &[String],
) -> Result<ExitCode> {
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
        for (name, program) in &stage.tests {
            for (module, tests) in by_module(&stage.names(program, filters)?) {
                println!("{kernel}: {name}: {module}: {} tests", tests.len());
                let label = format!("{kernel}: {name}: ");
                let attaches = AT_EVERY_CALL.contains(&module);
                let machine = Machine::prepare(*kernel)?
                    .seconds(VM_SECONDS)
                    .with_cpus(if attaches { 1 } else { CPUS })
                    .with_swap(NEED_SWAP.contains(&module));
                match stage.on(&machine, program, &tests, &label) {
                    Ok(ran) => outcome.add(ran),
                    // The other modules are worth their time all the same.
                    Err(error) => outcome.step(&format!("{label}{module}"), Err(error)),
                }
            }
        }
    }
    if outcome.seen() == 0 {
        outcome.fail("no test was found to run");
    }
    Ok(ci::close(&outcome))
}

/// An agent of root's that lends its programs to the unprivileged tests; ended when dropped.
struct Lender {
    agent: Child,
    socket: PathBuf,
}

impl Lender {
    /// Starts it; where its programs cannot be had it ends at once, and the tests say so.
    fn start(stage: &Stage) -> Result<Self> {
        let socket = stage.folder.path().join("agent.sock");
        let agent = Command::new(&stage.plimsoll)
            .args(["agent", "--interval", "1h", "--dataset"])
            .arg(stage.folder.path().join("dataset"))
            .arg("--socket")
            .arg(&socket)
            .stdin(Stdio::null())
            .spawn()
            .context("plimsoll agent")?;
        let mut lender = Self { agent, socket };
        for _ in 0..AGENT_TRIES {
            if lender.socket.exists() || lender.agent.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(AGENT_PAUSE);
        }
        Ok(lender)
    }

    fn socket(&self) -> Option<&Path> {
        self.socket.exists().then_some(&self.socket)
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        // It is ended without a word where it does not listen to one: nothing of it is kept.
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

impl Stage {
    fn new(workspace: &Workspace) -> Result<Self> {
        let built = workspace.build(&["test", "--workspace", "--test", "*", "--no-run"])?;
        let tests = workspace.root.join(TESTS);
        let plimsoll = workspace.build_debug()?;
        let folder = tempfile::Builder::new()
            .prefix("plimsoll-truth-")
            .tempdir_in("/tmp")?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let plimsoll = copy(&plimsoll, folder.path(), "plimsoll")?;
        let tests = built
            .iter()
            .filter(|built| built.test && built.source.starts_with(&tests))
            .map(|built| {
                let name = format!("test-{}", built.name);
                Ok((built.name.clone(), copy(&built.file, folder.path(), &name)?))
            })
            .collect::<Result<_>>()?;
        let stage = Self {
            folder,
            tests,
            plimsoll,
        };
        stage.compile()?;
        Ok(stage)
    }

    /// Compiles the programs to be watched while there is a compiler, and the right to make one of
    /// them setuid.
    fn compile(&self) -> Result<()> {
        for (_, program) in &self.tests {
            let mut command = self.command(program);
            step::run(command.args(["--quiet", "--exact", COMPILES]))?;
        }
        Ok(())
    }

    /// The tests of a program with one of `filters` in their name; all of them without a filter.
    fn names(&self, program: &Path, filters: &[String]) -> Result<Vec<String>> {
        let list = step::read(self.command(program).arg("--list").args(filters))?;
        let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// A test program that knows where the others are.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.tell(&mut command);
        command.current_dir(self.folder.path());
        command
    }

    fn tell(&self, command: &mut Command) {
        command
            .env("PLIMSOLL_BIN", &self.plimsoll)
            .env("PLIMSOLL_WORKLOADS", self.folder.path());
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
            .current_dir(home);
        self.tell(&mut command);
        for (name, _) in std::env::vars_os() {
            let name_text = name.to_string_lossy();
            if name_text.starts_with("XDG_") || name_text.starts_with("CARGO") {
                command.env_remove(&name);
            }
        }
        command
    }

    fn on(
        &self,
        machine: &Machine,
        program: &Path,
        tests: &[&str],
        label: &str,
    ) -> Result<Outcome> {
        let mut command = self.command(program);
        command
            .args(["--show-output", "--exact"])
            .args(tests)
            .env("PLIMSOLL_TEST_SLOWNESS", VM_SLOWNESS);
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

/// The tests by their outermost module. Each gets a machine of its own: the files of an emulated
/// one are in its memory, and what all tests leave there does not fit.
fn by_module(names: &[String]) -> BTreeMap<&str, Vec<&str>> {
    let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in names {
        let module = name.split("::").next().unwrap_or(name);
        modules.entry(module).or_default().push(name);
    }
    modules
}

fn copy(from: &Path, folder: &Path, name: &str) -> Result<PathBuf> {
    let to = folder.join(name);
    fs::copy(from, &to).with_context(|| from.display().to_string())?;
    fs::set_permissions(&to, Permissions::from_mode(0o755))?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_grouped_by_their_outermost_module() {
        let names = [
            "io::read::bpf",
            "cpu::threads",
            "io::write::procfs",
            "alone",
        ];
        let names = names.map(str::to_owned);
        let modules: Vec<_> = by_module(&names).into_iter().collect();
        let golden = [
            ("alone", vec!["alone"]),
            ("cpu", vec!["cpu::threads"]),
            ("io", vec!["io::read::bpf", "io::write::procfs"]),
        ];
        assert_eq!(modules, golden);
    }
}
