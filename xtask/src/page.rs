//! The page of an archive: built into one file (`web/dist/index.html`) and tested in a browser.

use crate::outcome::Outcome;
use crate::workspace::Workspace;
use crate::{ci, step};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The first node that the build works with.
const NODE: (u32, u32) = (20, 19);

/// As in the tests of the page.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Builds the page.
///
/// # Errors
/// When node is missing or too old, what the build needs cannot be had, or it fails.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    if let Some(reason) = missing() {
        anyhow::bail!("the page cannot be built: {reason}");
    }
    let folder = workspace.root.join("web");
    prepare(&folder)?;
    build(&folder)?;
    let page = folder.join("dist/index.html");
    let size = fs::metadata(&page)
        .with_context(|| page.display().to_string())?
        .len();
    println!("{} ({size} bytes)", page.display());
    Ok(())
}

/// Builds and tests the page, and prints the sum.
pub(crate) fn test(workspace: &Workspace) -> ExitCode {
    let mut outcome = Outcome::default();
    check(workspace, &mut outcome);
    ci::close(&outcome)
}

/// Builds the page for a program that is built next; says so where there will be none.
pub(crate) fn before(workspace: &Workspace) {
    if let Err(error) = run(workspace) {
        let is_there = workspace.root.join("web/dist/index.html").is_file();
        let what = match is_there {
            true => "the program has the page that was built before",
            false => "the program has no page",
        };
        eprintln!("{error:#}\n{what}");
    }
}

/// Builds and tests the page as steps of their own.
pub(crate) fn check(workspace: &Workspace, outcome: &mut Outcome) {
    if let Some(reason) = missing() {
        outcome.skip(&format!("the page: {reason}"));
        return;
    }
    let folder = workspace.root.join("web");
    if let Err(error) = prepare(&folder) {
        match is_reachable(&folder) {
            true => outcome.step("page: packages", Err(error)),
            false => outcome.skip("the page: npm reaches no registry"),
        }
        return;
    }
    let built = build(&folder);
    let is_built = built.is_ok();
    outcome.step("page", built);
    outcome.step("page: types", script(&folder, "check"));
    outcome.step("page: tests", script(&folder, "test"));
    if !is_built {
        return;
    }
    match browser() {
        true => outcome.step("page: browser", script(&folder, "test:browser")),
        false => outcome.skip("the page in a browser: chromium is not installed"),
    }
}

/// Why the page cannot be built here; none if it can.
fn missing() -> Option<String> {
    for name in ["node", "npm"] {
        if step::find_program(name).is_none() {
            return Some(format!("{name} is not installed"));
        }
    }
    let told = match step::read(Command::new("node").arg("--version")) {
        Ok(told) => told,
        Err(error) => return Some(format!("{error:#}")),
    };
    let (major, minor) = NODE;
    (version(&told).is_none_or(|found| found < NODE))
        .then(|| format!("node {} is there, {major}.{minor} is needed", told.trim()))
}

/// Major and minor of `v20.19.1`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The packages of the lock, installed unless they are already.
fn prepare(folder: &Path) -> Result<()> {
    if is_installed(folder) {
        return Ok(());
    }
    step::run(npm(folder).args(["ci", "--no-audit", "--no-fund"]))
}

/// Whether npm has installed this lock: it leaves a copy of what it did, later than the lock.
fn is_installed(folder: &Path) -> bool {
    let changed = |file: &str| {
        let entry = fs::metadata(folder.join(file)).ok()?;
        entry.modified().ok()
    };
    let done = changed("node_modules/.package-lock.json");
    let lock = changed("package-lock.json");
    matches!((done, lock), (Some(done), Some(lock)) if done > lock)
}

fn build(folder: &Path) -> Result<()> {
    script(folder, "build")
}

fn script(folder: &Path, name: &str) -> Result<()> {
    step::run(npm(folder).args(["run", "--silent", name]))
}

/// What it says goes to stderr: stdout is for the outcome.
fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder).stdin(Stdio::null());
    command.env("NO_UPDATE_NOTIFIER", "1").stdout(stderr());
    command
}

fn stderr() -> Stdio {
    use std::os::fd::AsFd;
    match std::io::stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Stdio::from(descriptor),
        Err(_) => Stdio::inherit(),
    }
}

fn is_reachable(folder: &Path) -> bool {
    let mut ping = npm(folder);
    ping.args(["ping", "--silent", "--fetch-retries=0"]);
    ping.stderr(Stdio::null());
    ping.status().is_ok_and(|status| status.success())
}

fn browser() -> bool {
    match std::env::var_os("CHROMIUM") {
        Some(named) => PathBuf::from(named).is_file(),
        None => BROWSERS
            .iter()
            .any(|name| step::find_program(name).is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_number() {
        assert_eq!(version("v20.19.1\n"), Some((20, 19)));
        assert!(version("v100.2.0") > Some(NODE) && version("v20.9.0") < Some(NODE));
        assert_eq!(version("what"), None);
    }

    #[test]
    fn packages_are_installed_anew_when_the_lock_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, done) = (
            folder.path().join("package-lock.json"),
            folder.path().join("node_modules/.package-lock.json"),
        );
        fs::write(&lock, "{}").unwrap();
        assert!(!is_installed(folder.path()));
        fs::create_dir(folder.path().join("node_modules")).unwrap();
        fs::write(&done, "{}").unwrap();
        let later = |file: &Path, seconds| {
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(time).unwrap();
        };
        later(&lock, 10);
        later(&done, 20);
        assert!(is_installed(folder.path()));
        later(&lock, 30);
        assert!(!is_installed(folder.path()));
    }
}
