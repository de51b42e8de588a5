//! Running another program: shown before it starts, its failure in words.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

/// Shows a command as one would type it.
pub(crate) fn announce(command: &Command) {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    eprintln!("$ {}", words.join(" "));
}

/// Shows and runs a command.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| name.clone())?;
    anyhow::ensure!(status.success(), "{name}: {status}");
    Ok(())
}

/// Runs a command and gives back what it wrote to its standard output.
///
/// # Errors
/// When it cannot be started, does not succeed or writes no text.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| name.clone())?;
    anyhow::ensure!(output.status.success(), "{name}: {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("{name}: output is no text"))
}

/// Where PATH has a program; the folders of root are looked into as well.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Whether we are root: our own entry in `/proc` belongs to the effective user.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_named_and_output_is_read() {
        let error = run(&mut Command::new("false")).unwrap_err();
        assert!(error.to_string().starts_with("false: "), "{error}");
        assert_eq!(read(Command::new("echo").arg("a")).unwrap(), "a\n");
        assert!(find_program("sh").is_some());
        assert!(find_program("no such program").is_none());
    }
}
