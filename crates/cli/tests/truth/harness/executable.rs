//! Programs that a test makes and starts at once. A helper process writes them: a descriptor for
//! writing that this process had would be copied into whatever another test forks just then, and
//! the kernel starts nothing that somebody has open for writing (`ETXTBSY`).

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Copies a program, with the permissions that `mode` says in octal digits.
pub(crate) fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>, mode: &str) {
    let status = Command::new("install")
        .args(["-m", mode, "--"])
        .args([from.as_ref(), to.as_ref()])
        .status()
        .unwrap();
    assert!(status.success(), "{}", to.as_ref().display());
}

/// Writes a script that everyone may start.
pub(crate) fn script(path: impl AsRef<Path>, text: &str) {
    let mut shell = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path.as_ref())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    assert!(shell.wait().unwrap().success());
}
