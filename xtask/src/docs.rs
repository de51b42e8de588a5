//! Documents that the program makes of its own tables: METRICS.md, manual page, completions.

use crate::step;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the program prints, and where it belongs below the prefix of an installation.
const SHARED: &[(&[&str], &str)] = &[
    (&["__man"], "share/man/man1/plimsoll.1"),
    (
        &["completions", "bash"],
        "share/bash-completion/completions/plimsoll",
    ),
    (
        &["completions", "zsh"],
        "share/zsh/site-functions/_plimsoll",
    ),
    (
        &["completions", "fish"],
        "share/fish/vendor_completions.d/plimsoll.fish",
    ),
];

/// Writes METRICS.md, and below `into` the rest.
///
/// # Errors
/// When the program cannot be built or fails, or a file cannot be written.
pub(crate) fn write(workspace: &Workspace, into: Option<&Path>) -> Result<()> {
    let program = workspace.build_debug()?;
    let path = workspace.root.join("METRICS.md");
    let text = metrics(&program)?;
    if fs::read_to_string(&path).is_ok_and(|old| old == text) {
        println!("METRICS.md is up to date");
    } else {
        fs::write(&path, text)?;
        println!("METRICS.md written");
    }
    match into {
        Some(prefix) => share(&program, prefix),
        None => Ok(()),
    }
}

/// METRICS.md as this program says it should be.
///
/// # Errors
/// When the program fails.
pub(crate) fn metrics(program: &Path) -> Result<String> {
    step::read(Command::new(program).arg("__metrics"))
}

/// Writes the manual page and the completions below `prefix`.
///
/// # Errors
/// When the program fails or a file cannot be written.
pub(crate) fn share(program: &Path, prefix: &Path) -> Result<()> {
    for (words, place) in SHARED {
        let text = step::read(Command::new(program).args(*words))?;
        let path = prefix.join(place);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(())
}
