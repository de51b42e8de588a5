//! Finding the program of a command as `execvp(3)` does, before anything is started.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a command's program is, or why it cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// This file; whether it really executes, the kernel will say.
    At(PathBuf),
    /// No such program: exit status 127.
    Missing,
    /// A file that is not executable, or a directory: exit status 126.
    NotExecutable(PathBuf),
}

/// The search path where none is set, as in `confstr(_CS_PATH)`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Looks for `word`: as it is if it holds a slash, else in the folders of `search` (`PATH`).
pub(crate) fn find(word: &OsStr, search: Option<&OsStr>) -> Found {
    if word.is_empty() {
        return Found::Missing;
    }
    if word.as_bytes().contains(&b'/') {
        return look_at(Path::new(word));
    }
    let search = search.map_or_else(|| OsString::from(DEFAULT_PATH), OsStr::to_owned);
    let mut refused = Found::Missing;
    for folder in std::env::split_paths(&search) {
        let folder = if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder
        };
        match look_at(&folder.join(word)) {
            // A folder that may not be searched holds nothing for us.
            Found::NotExecutable(_) if !is_searchable(&folder) => {}
            Found::Missing => {}
            Found::NotExecutable(path) => refused = Found::NotExecutable(path),
            found @ Found::At(_) => return found,
        }
    }
    refused
}

fn is_searchable(folder: &Path) -> bool {
    !matches!(std::fs::metadata(folder.join(".")),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied)
}

fn look_at(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_dir() || facts.permissions().mode() & 0o111 == 0 => {
            Found::NotExecutable(path.to_owned())
        }
        Ok(_) => Found::At(path.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Found::NotExecutable(path.to_owned())
        }
        Err(_) => Found::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_the_shell_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "").unwrap();
        std::fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        let path = folder.path().as_os_str();
        assert_eq!(
            find(OsStr::new("tool"), Some(path)),
            Found::At(tool.clone())
        );
        assert_eq!(find(tool.as_os_str(), None), Found::At(tool));
        assert_eq!(
            find(OsStr::new("plain"), Some(path)),
            Found::NotExecutable(plain)
        );
        assert_eq!(find(OsStr::new("none"), Some(path)), Found::Missing);
        assert_eq!(
            find(path, None),
            Found::NotExecutable(folder.path().to_owned())
        );
        assert!(matches!(find(OsStr::new("sh"), None), Found::At(_)));
    }
}
