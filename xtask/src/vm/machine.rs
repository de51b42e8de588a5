//! A machine that boots for one command.

use super::guest::{self, Work};
use super::kernel::{Kernel, Unpacked};
use crate::setup::{self, Purpose};
use crate::step;
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Processors of a machine.
pub(crate) const CPUS: u32 = 2;

/// A machine that can be booted.
#[derive(Debug)]
pub(crate) struct Machine {
    kernel: Unpacked,
    vng: PathBuf,
    seconds: u64,
    cpus: u32,
    swap: bool,
}

/// What a command did there.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its output and error output.
    pub(crate) output: String,
    /// Its exit status, 128 + signal if one ended it.
    pub(crate) status: u8,
}

/// One thread of the emulator for all processors of the machine. By a thread each, QEMU 7.2 may
/// have one run what another is writing anew: as a tracepoint in `__schedule` was switched, Linux
/// met a breakpoint that nobody had set (6.12), or stood still (6.1).
const ONE_THREAD: &str = "--qemu-opts=-accel tcg,thread=single";

/// What is shown of the console of a machine that did not end its work.
const CONSOLE_LINES: usize = 30;

impl Machine {
    /// Sees to it that all is there to boot this kernel. The first time it fetches packages.
    ///
    /// # Errors
    /// When packages are missing and cannot be installed; the text names them.
    pub(crate) fn prepare(kernel: Kernel) -> Result<Self> {
        anyhow::ensure!(
            cfg!(target_arch = "x86_64"),
            "the test kernels are those of x86-64"
        );
        setup::ensure(Purpose::Vm)?;
        let cache = cache()?;
        let vng = boot_tool(&cache)?;
        let kernel = Unpacked::fetch(kernel, &cache)?;
        link_modules(&kernel)?;
        Ok(Self {
            kernel,
            vng,
            seconds: 300,
            cpus: CPUS,
            swap: false,
        })
    }

    /// The same machine with so many processors; it has [`CPUS`] otherwise.
    pub(crate) const fn with_cpus(mut self, cpus: u32) -> Self {
        self.cpus = cpus;
        self
    }

    /// The same machine with swap, or without, as it is otherwise.
    pub(crate) const fn with_swap(mut self, swap: bool) -> Self {
        self.swap = swap;
        self
    }

    /// The same machine, stopped after so many seconds.
    pub(crate) fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    /// Boots, runs a command as root with its folder and environment changes, and stops. These
    /// folders are writable there.
    ///
    /// # Errors
    /// When the machine does not start or does not end in time.
    pub(crate) fn run(&self, command: &Command, writable: &[PathBuf]) -> Result<Run> {
        let shared = tempfile::Builder::new()
            .prefix("plimsoll-vm-")
            .tempdir_in("/tmp")?;
        let shared = shared.path();
        let entry = shared.join("xtask");
        fs::copy(std::env::current_exe()?, &entry)?;
        Work::of(command)?.with_swap(self.swap).write(shared)?;
        let began = Instant::now();
        let output = self.boot(&entry, shared, writable)?;
        let status = guest::status(shared)?;
        match status {
            Some(status) => Ok(Run {
                output: String::from_utf8_lossy(&guest::output(shared)?).into_owned(),
                status,
            }),
            None => anyhow::bail!(
                "the machine with {} stopped after {} s of {} before its work ended:\n{}{}",
                self.kernel.version,
                began.elapsed().as_secs(),
                self.seconds,
                String::from_utf8_lossy(&guest::output(shared)?),
                last_lines(&output, CONSOLE_LINES)
            ),
        }
    }

    /// What the machine's console said.
    fn boot(&self, entry: &Path, shared: &Path, writable: &[PathBuf]) -> Result<String> {
        let mut boot = Command::new("timeout");
        boot.arg(self.seconds.to_string())
            .arg(&self.vng)
            .args(["--verbose", "--run"])
            .arg(&self.kernel.image)
            .args(["--disable-kvm", "--force-9p", "--user", "root"])
            .arg(ONE_THREAD)
            .args(["--cpus", &self.cpus.to_string(), "--memory", "2G"])
            .arg(format!("--rwdir={}", shared.display()))
            .args(
                writable
                    .iter()
                    .map(|dir| format!("--rwdir={}", dir.display())),
            )
            .arg("--exec")
            .arg(format!("{} in-vm {}", entry.display(), shared.display()))
            .env("PATH", path_with(self.vng.parent()))
            .stdin(Stdio::null());
        step::announce(&boot);
        let output = boot.output().context("timeout")?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(text)
    }
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    let first = lines.len().saturating_sub(count);
    lines.get(first..).unwrap_or_default().join("\n")
}

/// PATH with a folder before it.
fn path_with(folder: Option<&Path>) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = folder
        .map(Path::to_owned)
        .into_iter()
        .chain(std::env::split_paths(&path));
    std::env::join_paths(all).unwrap_or(path.clone())
}

/// Where kernels and tools are kept.
fn cache() -> Result<PathBuf> {
    let base = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => anyhow::bail!("neither XDG_CACHE_HOME nor HOME is set"),
    };
    let cache = base.join("plimsoll-vm");
    fs::create_dir_all(&cache).with_context(|| cache.display().to_string())?;
    Ok(cache)
}

/// The program `vng`, installed into an environment of its own the first time.
fn boot_tool(cache: &Path) -> Result<PathBuf> {
    let venv = cache.join("venv");
    let vng = venv.join("bin/vng");
    if !vng.is_file() {
        step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            .context("python3-venv (package) is needed")?;
        let mut pip = Command::new(venv.join("bin/pip"));
        step::run(pip.args(["--quiet", "install", "virtme-ng"]))?;
    }
    Ok(vng)
}

/// The modules must be where the kernel looks for them, in this machine's own tree.
fn link_modules(kernel: &Unpacked) -> Result<()> {
    let link = Path::new("/lib/modules").join(&kernel.version);
    if fs::read_link(&link).is_ok_and(|target| target == kernel.modules) {
        return Ok(());
    }
    if link.exists() && !link.is_symlink() {
        // The machine's own kernel is the same one: its modules will do.
        return Ok(());
    }
    let advice = || {
        format!(
            "once as root: ln -sfn {} {} && depmod -a {}",
            kernel.modules.display(),
            link.display(),
            kernel.version
        )
    };
    if link.is_symlink() {
        fs::remove_file(&link).with_context(advice)?;
    }
    fs::create_dir_all("/lib/modules").with_context(advice)?;
    symlink(&kernel.modules, &link).with_context(advice)?;
    let depmod = step::find_program("depmod").context("depmod (package kmod) is needed")?;
    step::run(Command::new(depmod).arg("-a").arg(&kernel.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_console_are_kept() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn a_folder_comes_first_on_path() {
        let path = path_with(Some(Path::new("/first")));
        assert!(path.to_string_lossy().starts_with("/first:"));
    }
}
