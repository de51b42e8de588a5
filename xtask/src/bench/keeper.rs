//! Removes what a benchmark leaves, however the benchmark ends: a shell that outlives it.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Waits for the end of its input, which comes with our end. What is still being written to is
/// tried again for ten seconds. $1 is a control group or empty, $2 a folder.
const SCRIPT: &str = r#"
trap '' INT TERM HUP QUIT
cat >/dev/null
for turn in 1 2 3 4 5 6 7 8 9 10; do
    [ -z "$1" ] || rmdir -- "$1" 2>/dev/null
    rm -rf -- "$2"
    [ -d "$1" ] || [ -d "$2" ] || exit 0
    sleep 1
done
exit 1
"#;

/// The shell. To drop it is to have it remove everything now.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
    input: Option<ChildStdin>,
}

impl Keeper {
    /// Starts one for `folder` and perhaps a control group.
    ///
    /// # Errors
    /// When there is no shell.
    pub(super) fn start(folder: &Path, group: Option<&PathBuf>) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "keeper"])
            .arg(group.map_or(Path::new(""), |group| group))
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .context("/bin/sh")?;
        let input = shell.stdin.take();
        Ok(Self { shell, input })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.input = None;
        match self.shell.wait() {
            Ok(status) if status.success() => {}
            other => eprintln!("something could not be removed: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_end_of_the_input_removes_both() {
        let place = tempfile::tempdir().unwrap();
        let (folder, group) = (place.path().join("folder"), place.path().join("group"));
        fs::create_dir_all(folder.join("deep")).unwrap();
        fs::create_dir(&group).unwrap();
        let keeper = Keeper::start(&folder, Some(&group)).unwrap();
        assert!(folder.exists() && group.exists());
        drop(keeper);
        assert!(!folder.exists() && !group.exists());
    }
}
