//! Running a command on another kernel: a Debian kernel under emulation, this machine's files as
//! its root.
//!
//! The machine has a pure cgroup v2 with every controller, BTF, kprobes and fentry. Kernels and the
//! tool that boots them (virtme-ng) are kept below the user's cache folder.

mod guest;
mod kernel;
mod machine;
mod swap;

pub(crate) use guest::inside;
pub(crate) use kernel::Kernel;
pub(crate) use machine::{CPUS, Machine};

use anyhow::Result;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The words of `cargo xtask vm`.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    /// The kernel.
    kernel: Kernel,
    /// Time after which the machine is stopped.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Its processors.
    #[arg(long, value_name = "N", default_value_t = CPUS)]
    cpus: u32,
    /// With 512 MiB of swap (zram).
    #[arg(long)]
    swap: bool,
    /// A further folder that is writable there (the current one always is).
    #[arg(long, value_name = "DIR")]
    writable: Vec<PathBuf>,
    /// The command, run as root.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs the command there, prints its output and passes its status on.
///
/// # Errors
/// When the machine cannot be prepared or does not start.
pub(crate) fn run(words: &Words) -> Result<ExitCode> {
    let machine = Machine::prepare(words.kernel)?
        .seconds(words.timeout)
        .with_cpus(words.cpus)
        .with_swap(words.swap);
    let mut all = words.command.iter();
    let mut command = Command::new(all.next().map_or("true", String::as_str));
    command.args(all).current_dir(std::env::current_dir()?);
    let mut writable = words.writable.clone();
    writable.push(std::env::current_dir()?);
    let run = machine.run(&command, &writable)?;
    print!("{}", run.output);
    Ok(ExitCode::from(run.status))
}
