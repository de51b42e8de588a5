//! Which programs load the library: the judgement beside what the dynamic linker does.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

use preload::judge::{Verdict, judge};
use std::ffi::CString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn of(path: &Path) -> Verdict {
    judge(&CString::new(path.as_os_str().as_bytes()).unwrap())
}

/// A program that gcc makes with these options; none where it cannot.
fn built(folder: &TempDir, name: &str, options: &[&str]) -> Option<PathBuf> {
    let source = folder.path().join("main.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let target = folder.path().join(name);
    let output = Command::new("gcc")
        .arg(&source)
        .args(options)
        .arg("-o")
        .arg(&target)
        .output()
        .unwrap();
    if !output.status.success() {
        println!(
            "skipped: gcc {options:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return None;
    }
    Some(target)
}

#[test]
fn programs_of_gcc_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    let cases: [(&str, &[&str], Verdict); 7] = [
        ("plain", &[], Verdict::Loads),
        ("fixed", &["-no-pie"], Verdict::Loads),
        ("static", &["-static"], Verdict::Static),
        ("static-pie", &["-static-pie"], Verdict::Static),
        ("musl", &[musl], Verdict::OtherLoader),
        ("asan", &["-fsanitize=address"], Verdict::Sanitizer),
        ("tsan", &["-fsanitize=thread"], Verdict::Sanitizer),
    ];
    let mut seen = 0;
    for (name, options, verdict) in cases {
        if let Some(program) = built(&folder, name, options) {
            assert_eq!(of(&program), verdict, "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "gcc makes nothing here");
}

#[test]
fn other_machines_are_seen_by_the_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder, "plain", &[]) else {
        return;
    };
    let bytes = fs::read(&program).unwrap();
    for (at, value) in [(4, 1), (5, 3), (18, 40)] {
        let mut other = bytes.clone();
        other[at] = value;
        let path = folder.path().join("other");
        fs::write(&path, other).unwrap();
        assert_eq!(of(&path), Verdict::OtherMachine, "byte {at}");
    }
}

#[test]
fn a_script_is_what_its_interpreter_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    assert_eq!(
        of(&script("sh", "#!/bin/sh\nexit 0\n".to_owned())),
        Verdict::Loads
    );
    if let Some(program) = built(&folder, "static", &["-static"]) {
        let first = script("one", format!("#! {} -x\n", program.display()));
        assert_eq!(of(&first), Verdict::Static);
        let second = script("two", format!("#!{}\n", first.display()));
        assert_eq!(of(&second), Verdict::Static);
    }
    let own = folder.path().join("own");
    assert_eq!(
        of(&script("own", format!("#!{}\n", own.display()))),
        Verdict::Unknown
    );
}

#[test]
fn a_setuid_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = built(&folder, "setuid", &[]) else {
        return;
    };
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
    assert_eq!(of(&program), Verdict::Setuid);
}

#[test]
fn what_is_no_program_is_unknown_and_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(of(Path::new("/does/not/exist")), Verdict::Unknown);
    assert_eq!(of(folder.path()), Verdict::Unknown);
    assert_eq!(of(Path::new("/dev/null")), Verdict::Unknown);
    let Some(program) = built(&folder, "plain", &[]) else {
        return;
    };
    let bytes = fs::read(&program).unwrap();
    let path = folder.path().join("bad");
    for cut in (0..bytes.len().min(4096)).step_by(13) {
        fs::write(&path, &bytes[..cut]).unwrap();
        of(&path);
    }
    for at in (0..1024).step_by(3) {
        let mut bad = bytes.clone();
        bad[at] ^= 0xff;
        fs::write(&path, bad).unwrap();
        of(&path);
    }
}
