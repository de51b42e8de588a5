//! The Debian packages that building and testing need: found, installed, or named.

use crate::step;
use anyhow::Result;
use clap::ValueEnum;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What packages are for; each includes those of the purposes before it, but for [`Purpose::Vm`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// The program without in-kernel programs.
    Plain,
    /// The whole program.
    Build,
    /// The tests.
    Test,
    /// Test machines.
    Vm,
}

/// How one sees that a package is there.
#[derive(Debug, Clone, Copy)]
enum Sign {
    /// A program on PATH.
    Program(&'static str),
    /// A file.
    File(&'static str),
    /// A python3 that can make an environment of its own.
    Venv,
    /// The compiler that `CLANG` names, else one of those that the build looks for.
    Clang,
}

/// A package, its sign, and what it is for first.
const PACKAGES: &[(&str, Sign, Purpose)] = &[
    ("gcc", Sign::Program("gcc"), Purpose::Plain),
    (
        "libc6-dev",
        Sign::File("/usr/include/stdlib.h"),
        Purpose::Plain,
    ),
    ("make", Sign::Program("make"), Purpose::Plain),
    ("pkg-config", Sign::Program("pkg-config"), Purpose::Build),
    ("clang", Sign::Clang, Purpose::Build),
    (
        "libelf-dev",
        Sign::File("/usr/include/libelf.h"),
        Purpose::Build,
    ),
    (
        "zlib1g-dev",
        Sign::File("/usr/include/zlib.h"),
        Purpose::Build,
    ),
    ("gdb", Sign::Program("gdb"), Purpose::Test),
    ("strace", Sign::Program("strace"), Purpose::Test),
    ("tmux", Sign::Program("tmux"), Purpose::Test),
    ("util-linux", Sign::Program("setpriv"), Purpose::Test),
    ("time", Sign::File("/usr/bin/time"), Purpose::Test),
    ("python3-venv", Sign::Venv, Purpose::Test),
    (
        "liburing-dev",
        Sign::File("/usr/include/liburing.h"),
        Purpose::Test,
    ),
    ("nodejs", Sign::Program("node"), Purpose::Test),
    ("npm", Sign::Program("npm"), Purpose::Test),
    ("chromium", Sign::Program("chromium"), Purpose::Test),
    (
        "qemu-system-x86",
        Sign::Program("qemu-system-x86_64"),
        Purpose::Vm,
    ),
    ("busybox-static", Sign::Program("busybox"), Purpose::Vm),
    ("kmod", Sign::Program("depmod"), Purpose::Vm),
    ("cpio", Sign::Program("cpio"), Purpose::Vm),
    ("xz-utils", Sign::Program("xz"), Purpose::Vm),
    ("python3-venv", Sign::Program("python3"), Purpose::Vm),
];

/// Interpreters, the first that is there: as in the tests with Python programs.
pub(crate) const PYTHONS: &[&str] = &["/usr/bin/python3", "python3"];

/// As in the build script of `sys`.
const CLANGS: &[&str] = &["clang", "clang-19", "clang-18", "clang-16", "clang-14"];

impl Purpose {
    fn includes(self, other: Purpose) -> bool {
        match self {
            Purpose::Plain => other == Purpose::Plain,
            Purpose::Build => matches!(other, Purpose::Plain | Purpose::Build),
            Purpose::Test => other != Purpose::Vm,
            Purpose::Vm => other == Purpose::Vm,
        }
    }
}

impl Sign {
    fn is_there(self) -> bool {
        match self {
            Sign::Program(name) => step::find_program(name).is_some(),
            Sign::File(path) => Path::new(path).exists(),
            Sign::Venv => PYTHONS.iter().any(|python| {
                let mut words = Command::new(python);
                words.args(["-c", "import ensurepip, venv"]);
                let made = words.stderr(Stdio::null()).status();
                made.is_ok_and(|status| status.success())
            }),
            Sign::Clang => match std::env::var("CLANG") {
                Ok(named) if named.contains('/') => Path::new(&named).exists(),
                Ok(named) => step::find_program(&named).is_some(),
                Err(_) => CLANGS.iter().any(|name| step::find_program(name).is_some()),
            },
        }
    }
}

/// The packages for this purpose that are not there.
pub(crate) fn missing(purpose: Purpose) -> Vec<&'static str> {
    wanted(purpose)
        .filter(|(_, sign)| !sign.is_there())
        .map(|(name, _)| name)
        .collect()
}

fn wanted(purpose: Purpose) -> impl Iterator<Item = (&'static str, Sign)> {
    PACKAGES
        .iter()
        .filter(move |(_, _, of)| purpose.includes(*of))
        .map(|(name, sign, _)| (*name, *sign))
}

/// The command that installs these packages.
pub(crate) fn apt_command(packages: &[&str]) -> String {
    format!(
        "apt-get install --no-install-recommends {}",
        packages.join(" ")
    )
}

/// Sees to it that the packages for this purpose are there: root installs them (asked first on a
/// terminal, unless `CI=true`), others are told.
///
/// # Errors
/// When some stay missing; the text names them and the command.
pub(crate) fn ensure(purpose: Purpose) -> Result<()> {
    let packages = missing(purpose);
    if packages.is_empty() {
        return Ok(());
    }
    let command = apt_command(&packages);
    anyhow::ensure!(
        step::is_root() && step::find_program("apt-get").is_some(),
        "missing packages: {}; as root: {command}",
        packages.join(", ")
    );
    let ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    if !ci && std::io::stdin().is_terminal() {
        anyhow::ensure!(
            agrees(&command)?,
            "missing packages: {}",
            packages.join(", ")
        );
    }
    install(&packages)?;
    let packages = missing(purpose);
    anyhow::ensure!(
        packages.is_empty(),
        "still missing: {}",
        packages.join(", ")
    );
    Ok(())
}

/// As [`ensure`]; but what the tests alone want, and skip without, is only told.
///
/// # Errors
/// When packages stay missing that nothing can be built without.
pub(crate) fn prepare(purpose: Purpose) -> Result<()> {
    match ensure(purpose) {
        Err(error) if purpose == Purpose::Test && missing(Purpose::Build).is_empty() => {
            eprintln!("{error:#}\ntests that need them are skipped");
            Ok(())
        }
        other => other,
    }
}

fn agrees(command: &str) -> Result<bool> {
    eprint!("{command}\nInstall these packages now? [Y/n] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Enter alone agrees; the end of input does not.
fn is_yes(answer: &str) -> bool {
    answer.ends_with('\n') && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes")
}

fn install(packages: &[&str]) -> Result<()> {
    step::run(Command::new("apt-get").args(["update", "-qq"]))?;
    step::run(
        Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends"])
            .args(packages)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purposes_build_on_one_another() {
        let count = |purpose| wanted(purpose).count();
        assert!(count(Purpose::Plain) < count(Purpose::Build));
        assert!(count(Purpose::Build) < count(Purpose::Test));
        assert!(wanted(Purpose::Vm).all(|(name, _)| name != "gdb"));
        assert!(wanted(Purpose::Build).all(|(name, _)| name != "gdb"));
    }

    #[test]
    fn only_a_clear_yes_installs() {
        assert!(is_yes("\n") && is_yes("Y\n") && is_yes("yes\n"));
        assert!(!is_yes("") && !is_yes("n\n") && !is_yes("what\n"));
    }

    #[test]
    fn a_sign_is_looked_for() {
        assert!(Sign::Program("sh").is_there() && Sign::File("/proc/self").is_there());
        assert!(!Sign::Program("no-such").is_there() && !Sign::File("/no/such").is_there());
    }
}
