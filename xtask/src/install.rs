//! Installing the program with its manual page and completions.

use crate::demo;
use crate::docs;
use crate::step;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Builds and installs below `prefix`: `/usr/local` for root, `~/.local` for others if none is
/// given.
///
/// # Errors
/// When the build fails or a file cannot be written.
pub(crate) fn run(workspace: &Workspace, prefix: Option<PathBuf>) -> Result<()> {
    let prefix = prefix.map_or_else(default_prefix, Ok)?;
    let program = demo::build(workspace, &[])?;
    place(&program, &prefix.join("bin"))?;
    docs::share(&program, &prefix)
}

fn default_prefix() -> Result<PathBuf> {
    if step::is_root() {
        return Ok(PathBuf::from("/usr/local"));
    }
    let home = std::env::var_os("HOME").context("HOME is not set: use --prefix")?;
    Ok(PathBuf::from(home).join(".local"))
}

/// Puts a copy beside the old program and renames it, so that a running one is not disturbed.
fn place(program: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let aside = folder.join(".plimsoll.new");
    let target = folder.join("plimsoll");
    fs::copy(program, &aside).with_context(|| aside.display().to_string())?;
    fs::set_permissions(&aside, Permissions::from_mode(0o755))?;
    fs::rename(&aside, &target)?;
    println!("{}", target.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("new");
        for text in ["one", "two"] {
            fs::write(&program, text).unwrap();
            place(&program, &folder.path().join("bin")).unwrap();
            let target = folder.path().join("bin/plimsoll");
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
            assert_eq!(
                fs::metadata(target).unwrap().permissions().mode() & 0o777,
                0o755
            );
        }
    }
}
