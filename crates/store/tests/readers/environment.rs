//! The Python environment with the programs that read our formats, made once below `target/`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's python3, else the first on PATH: others are built without venv now and then.
fn python() -> &'static Path {
    let debian = Path::new("/usr/bin/python3");
    if debian.exists() {
        debian
    } else {
        Path::new("python3")
    }
}

/// The interpreter of the environment, or why there is none. `scripts` is the folder of this file,
/// which a test that was carried elsewhere does not have.
pub(crate) fn environment(scripts: &Path) -> Result<PathBuf, String> {
    let script = scripts.join("environment.py");
    std::fs::File::open(&script).map_err(|error| format!("no environment.py here: {error}"))?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers");
    let done = Command::new(python()).arg(script).arg(&folder).output();
    let done = done.map_err(|error| format!("no python3: {error}"))?;
    let said = String::from_utf8_lossy(&done.stdout);
    match done.status.code() {
        Some(0) => Ok(folder.join("bin/python")),
        Some(3) => Err(said.lines().last().unwrap_or_default().to_owned()),
        _ => panic!("environment.py: {}", String::from_utf8_lossy(&done.stderr)),
    }
}
