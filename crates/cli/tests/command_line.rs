//! What a user sees of the command line: exit statuses, where texts go, what a closed pipe does.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use std::ffi::OsString;
use std::process::{Command, Output, Stdio};

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
fn binary() -> OsString {
    std::env::var_os("PLIMSOLL_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into())
}

fn plimsoll(words: &[&str]) -> Output {
    Command::new(binary()).args(words).output().unwrap()
}

fn status(words: &[&str]) -> i32 {
    plimsoll(words).status.code().unwrap()
}

#[test]
fn a_bad_word_for_run_is_125_and_for_others_2() {
    for words in [
        &["run"][..],
        &["run", "--nonsense", "true"],
        &["run", "--limit", "memory=4X", "true"],
        &["run", "--limit", "speed=4", "true"],
        &["run", "--limit", "wall=0", "true"],
        &["run", "--limit", "wall=1s,wall=2s", "true"],
        &["run", "--limits", "/no/such/file", "true"],
        &["run", "--interval", "0", "true"],
        &["run", "--times", "true"],
        &["run", ""],
    ] {
        let got = plimsoll(words);
        assert_eq!(got.status.code(), Some(125), "{words:?}");
        assert!(got.stdout.is_empty() && !got.stderr.is_empty(), "{words:?}");
    }
    assert_eq!(status(&["walk"]), 2);
    assert_eq!(status(&["doctor", "--format", "xml"]), 2);
    assert_eq!(status(&["completions"]), 2);
}

#[test]
fn help_and_version_go_to_stdout() {
    for words in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["doctor", "-h"],
    ] {
        let got = plimsoll(words);
        assert_eq!(got.status.code(), Some(0), "{words:?}");
        assert!(!got.stdout.is_empty() && got.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = Command::new(binary())
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let got = child.wait_with_output().unwrap();
    assert_eq!(got.status.code(), Some(0));
    assert!(got.stderr.is_empty(), "{:?}", got.stderr);
}

#[test]
fn a_full_disk_is_a_failure() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = Command::new(binary())
        .arg("doctor")
        .stdout(full)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn the_doctor_tells_programs_what_it_tells_people() {
    let got = plimsoll(&["doctor", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_slice(&got.stdout).unwrap();
    assert_eq!(answer["schema"], "plimsoll.doctor/1");
    let screen = String::from_utf8(plimsoll(&["doctor"]).stdout).unwrap();
    for one in answer["mechanisms"].as_array().unwrap() {
        assert!(screen.contains(one["name"].as_str().unwrap()), "{one}");
    }
    assert!(!screen.contains('\u{1b}'));
}
