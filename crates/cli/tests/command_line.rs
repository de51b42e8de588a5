//! What a user sees of the command line: exit statuses, where texts go, what a closed pipe does.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_macros,
    reason = "a test that meets what it did not expect fails by panicking, or says what it skips"
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

/// What `shell` prints for this script, `{}` being the completions; none where it is missing.
fn asked(shell: &str, script: &str) -> Option<String> {
    let completions = plimsoll(&["completions", shell]).stdout;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("completions");
    std::fs::write(&file, completions).unwrap();
    let script = script.replace("{}", file.to_str().unwrap());
    // No settings of whoever runs the tests.
    let home = ("HOME", folder.path());
    let got = Command::new(shell)
        .args(["-c", &script])
        .envs([home])
        .output();
    let Ok(got) = got else {
        println!("skipped: {shell} is not installed");
        return None;
    };
    assert!(got.status.success(), "{got:?}");
    Some(String::from_utf8(got.stdout).unwrap())
}

/// A line, and words that must and that must not be offered for its end.
const COMPLETED: &[(&str, &[&str], &[&str])] = &[
    (
        "plimsoll run --limit ",
        &["wall=", "memory="],
        &["Cargo.toml"],
    ),
    ("plimsoll run --limit mem", &["memory="], &["wall="]),
    ("plimsoll run --limit = w", &["wall="], &["memory="]),
    ("plimsoll run --limit wall = ", &[], &["Cargo.toml", "cpu="]),
    ("plimsoll run --with ", &["series:process"], &[]),
    ("plimsoll run mkdi", &["mkdir"], &[]),
    ("plimsoll run -q --output = x -- mkdi", &["mkdir"], &[]),
    ("plimsoll run --limit wall = 2h mkdi", &["mkdir"], &[]),
    ("plimsoll run --me", &["--measure-only"], &[]),
    ("plimsoll compat time --", &["--portability"], &["--me"]),
    ("plimsoll compat time -v mkdi", &["mkdir"], &[]),
    ("plimsoll compat ", &["kickstart"], &["mkdir"]),
];

#[test]
fn shells_complete_limits_tools_and_the_command() {
    let bash = "LINE='<line>'; source {}; eval \"COMP_WORDS=($LINE)\"; \
                [[ $LINE == *' ' ]] && COMP_WORDS+=(''); \
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                _plimsoll plimsoll \"${COMP_WORDS[COMP_CWORD]}\" \
                \"${COMP_WORDS[COMP_CWORD - 1]}\"; \
                printf '%s\\n' \"${COMPREPLY[@]}\"";
    for (line, offered, not) in COMPLETED {
        // readline parts words at an equals sign.
        let whole = line.replace(" = ", "=");
        let shells = [
            ("bash", bash.replace("<line>", line)),
            ("fish", format!("source {{}}; complete -C '{whole}'")),
        ];
        for (shell, script) in shells {
            let Some(got) = asked(shell, &script) else {
                continue;
            };
            let words: Vec<_> = got
                .lines()
                .filter_map(|line| line.split('\t').next())
                .collect();
            let has = |word: &&&str| words.iter().any(|got| got.ends_with(**word));
            assert!(
                offered.iter().all(|word| has(&word)),
                "{shell}: {line}: {got}"
            );
            assert!(!not.iter().any(|word| has(&word)), "{shell}: {line}: {got}");
        }
    }
    let zsh = String::from_utf8(plimsoll(&["completions", "zsh"]).stdout).unwrap();
    assert!(zsh.contains(r"series\\\:process\:"), "a value with a colon");
    assert!(zsh.contains(":NAME=VALUE:_plimsoll_limits'"));
    asked("zsh", "zsh -n {}");
}
