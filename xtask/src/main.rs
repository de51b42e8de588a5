//! The tasks of the workspace: checks, generated documents, packages, test machines.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task of the workspace talks to the person who started it"
)]

mod bench;
mod ci;
mod demo;
mod dist;
mod docs;
mod install;
mod outcome;
mod page;
mod python;
mod rust_text;
mod setup;
mod step;
mod tidy;
mod truth;
mod vm;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use workspace::Workspace;

/// The tasks of the workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Words {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// What watching costs, in ratios of interleaved pairs, and how true its numbers are.
    #[command(disable_help_flag = true)]
    Bench {
        /// See `cargo xtask bench --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Everything a change must pass; ends with `N passed, N failed, N skipped`.
    Ci,
    /// Watch a real task once: build packages, a release build, a report.
    Demo,
    /// One static file for this architecture, in dist/.
    Dist,
    /// Write METRICS.md, and the manual page and completions where asked.
    Docs {
        /// Write the manual page and the completions below this folder.
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// Install the program, its manual page and completions.
    Install {
        /// Below this folder; /usr/local for root, else ~/.local.
        #[arg(long, value_name = "DIR")]
        prefix: Option<PathBuf>,
    },
    /// The tests of the Python package.
    Python {
        /// The program that they ask [default: the one that cargo builds].
        program: Option<PathBuf>,
    },
    /// Build the page of an archive, web/dist/index.html.
    Page {
        /// Its tests too, those in a browser where there is one.
        #[arg(long)]
        test: bool,
    },
    /// Install the Debian packages that are missing, or name them.
    Setup {
        /// What they are for.
        #[arg(value_enum, default_value_t = setup::Purpose::Build)]
        purpose: setup::Purpose,
    },
    /// The truth tests on other kernels.
    TestVm {
        /// The kernels; all that are known if none is named.
        kernels: Vec<vm::Kernel>,
        /// Only tests whose name has this in it (repeatable).
        #[arg(long = "filter", value_name = "TEXT")]
        filters: Vec<String>,
    },
    /// The rules of the house that no other tool checks.
    Tidy {
        /// What METRICS.md should be; else the built program is asked.
        #[arg(long, value_name = "FILE")]
        metrics: Option<PathBuf>,
        /// Print the rules instead.
        #[arg(long)]
        rules: bool,
    },
    /// Run a command on another kernel, under emulation, with this machine's files.
    Vm(vm::Words),
    /// Work within the test machine (started by `vm`).
    #[command(hide = true)]
    InVm {
        /// The folder that is shared with the host.
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Words::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode> {
    if let Task::InVm { folder } = &task {
        return vm::inside(folder).map(|()| ExitCode::SUCCESS);
    }
    let workspace = Workspace::find()?;
    match task {
        Task::Ci => return ci::run(&workspace),
        Task::Python { program } => return python::test(&workspace, program),
        Task::TestVm { kernels, filters } => return truth::run_on(&workspace, &kernels, &filters),
        Task::Tidy { rules: true, .. } => tidy_rules(),
        Task::Tidy { metrics, .. } => return ci::tidy(&workspace, metrics.as_deref()),
        Task::Vm(words) => return vm::run(&words),
        Task::Bench { words } => bench::run(&words)?,
        Task::Demo => demo::run(&workspace)?,
        Task::Dist => dist::run(&workspace)?,
        Task::Docs { into } => docs::write(&workspace, into.as_deref())?,
        Task::Install { prefix } => install::run(&workspace, prefix)?,
        Task::Page { test: false } => page::run(&workspace)?,
        Task::Page { test: true } => return Ok(page::test(&workspace)),
        Task::Setup { purpose } => setup::prepare(purpose)?,
        // Done above, before a workspace is looked for.
        Task::InVm { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn tidy_rules() {
    for check in tidy::CHECKS {
        println!("{}: {}", check.name, check.rule);
    }
}
