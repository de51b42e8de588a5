//! `plimsoll archive` as its user meets it.
#![cfg(feature = "archive")]
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking"
)]

use record::attempt::{Amount, Attempt, End};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use store::archive::folder::{Folder, Stored};

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
fn binary() -> OsString {
    std::env::var_os("PLIMSOLL_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into())
}

/// A home, in which the archive is.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn archive(&self) -> PathBuf {
        self.path().join(".local/share/plimsoll/archive")
    }

    fn folder(&self) -> Folder {
        Folder::create(&self.archive()).unwrap()
    }

    fn ask(&self, words: &[&str]) -> Output {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.path());
        command.arg("archive").args(words).output().unwrap()
    }

    /// What is told, of a question that has an answer.
    #[track_caller]
    fn told(&self, words: &[&str]) -> String {
        let done = self.ask(words);
        let errors = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{words:?}: {errors}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// Why there is no answer.
    #[track_caller]
    fn refused(&self, words: &[&str], status: i32) -> String {
        let done = self.ask(words);
        assert_eq!(done.status.code(), Some(status), "{words:?}");
        assert!(done.stdout.is_empty(), "{words:?}");
        String::from_utf8(done.stderr).unwrap()
    }
}

fn attempt(number: u64) -> Attempt {
    let mut one = Attempt {
        id: format!("{number:032x}"),
        format: "csv".to_owned(),
        category: if number.is_multiple_of(2) { "even" } else { "odd" }.to_owned(),
        set: Some("run, 1".to_owned()),
        tool: Some("/opt/secret/align".to_owned()),
        description: Some(format!("sample \"{number}\"\u{1b}[31m")),
        command: vec!["align".to_owned(), "secret.fa".to_owned()],
        user: Some("secret".to_owned()),
        ended: Some(1_795_179_540_000_000_000 + number as i64 * 60_000_000_000),
        end: if number == 3 { End::Limit } else { End::Done },
        exceeded: (number == 3).then(|| "memory".to_owned()),
        ..Attempt::default()
    };
    one.used.set("memory", Amount::claimed(number << 30));
    one.used.set("wall", Amount::claimed(3_600_000_000_000));
    one
}

fn filled() -> Home {
    let home = Home::new();
    for number in 1..=6 {
        let report = Some(format!("{{\"n\":{number}}}"));
        home.folder()
            .add(&Stored::new(attempt(number), report))
            .unwrap();
    }
    home
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn what_is_in_it_is_listed() {
    let home = filled();
    for _ in 0..2 {
        let all = json(&home.told(&["list", "--format", "json"]));
        assert_eq!(all["attempts"], 6);
        let odd = &all["categories"]["odd"];
        assert_eq!((&odd["attempts"], &odd["limit"]), (&3.into(), &1.into()));
        assert_eq!(odd["memory_max"], 5u64 << 30);
        assert_eq!(odd["gib_hours"], 9.0);
        assert_eq!(all["sets"]["run, 1"]["last"], "2026-11-20T13:05:00.000000Z");
        home.told(&["pack", "--quiet"]);
    }
    home.told(&[
        "set",
        "run, 1",
        "--description",
        "the first",
        "--label",
        "a=b",
    ]);
    home.told(&["set", "run, 1", "--label", "a=", "--label", "c=d"]);
    let text = home.told(&["list"]);
    assert!(
        text.contains("run, 1: the first") && text.contains("even"),
        "{text}"
    );
    let all = json(&home.told(&["list", "--format", "json", "--category", "odd"]));
    assert_eq!(
        all["sets"]["run, 1"]["labels"],
        serde_json::json!({"c": "d"})
    );
    assert!(all["categories"].get("even").is_none());
}

#[test]
fn attempts_are_found_and_shown() {
    let home = filled();
    home.told(&["pack"]);
    let text = home.told(&["query", "--where", "memory>=3GiB", "--category", "odd"]);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.contains("limit memory") && !text.contains('\u{1b}'),
        "{text}"
    );
    let lines = home.told(&["query", "--format", "jsonl", "--end", "limit"]);
    assert_eq!(serde_json::from_str::<Attempt>(&lines).unwrap(), attempt(3));
    let all = json(&home.told(&["query", "--format", "json", "--limit", "2"]));
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(home.told(&["query", "--category", "none"]), "no attempts\n");
    let id = &attempt(3).id;
    assert!(home.told(&["show", id]).contains("limit memory"));
    assert_eq!(
        json(&home.told(&["show", id, "--report"])),
        json("{\"n\":3}")
    );
    let one = json(&home.told(&["show", id, "--format", "json"]));
    assert_eq!(one["used"]["memory"]["value"], 3u64 << 30);
    assert!(
        home.refused(&["show", "0000"], 1)
            .contains("several attempts")
    );
    assert!(home.refused(&["show", "../x"], 1).contains("no attempt"));
}

#[test]
fn others_can_read_it() {
    let home = filled();
    let csv = home.told(&["export", "--format", "csv", "--quiet"]);
    let mut lines = csv.split("\r\n");
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("id,format,source,set,category")
    );
    assert!(
        csv.contains("\"run, 1\"") && csv.contains("\"sample \"\"1\"\""),
        "{csv}"
    );
    assert_eq!(csv.split("\r\n").filter(|line| !line.is_empty()).count(), 7);
    let private = home.told(&["export", "--private"]);
    assert_eq!(private.lines().count(), 6);
    assert!(!private.contains("secret") && private.contains("\"tool\":\"align\""));
    let file = home.path().join("tasks.parquet");
    let path = file.display().to_string();
    home.told(&["export", "--format", "parquet", "--output", &path]);
    assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"));
    let full = home.refused(&["export", "--output", "/dev/full"], 1);
    assert!(full.contains("No space left"), "{full}");
}

#[test]
fn what_is_wrong_is_said() {
    let home = Home::new();
    assert!(home.refused(&["list"], 1).contains("No such file"));
    std::fs::create_dir_all(home.archive()).unwrap();
    assert!(home.refused(&["list"], 1).contains("is no archive"));
    let home = filled();
    for words in [
        &["list", "--nonsense"][..],
        &["query", "--where", "memory"],
        &["query", "--where", "warmth>1"],
        &["query", "--from", "yesterday"],
        &["set", "x", "--label", "none"],
        &["show"],
        &[],
    ] {
        let said = home.refused(words, 2);
        assert!(!said.is_empty(), "{words:?}");
    }
    let damaged = home.folder().path_of(&attempt(2).id);
    std::fs::write(&damaged, "{").unwrap();
    let done = home.ask(&["list"]);
    assert_eq!(done.status.code(), Some(0));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("cannot be understood"), "{said}");
    let mut command = Command::new(binary());
    let nowhere = command
        .env_clear()
        .args(["archive", "list"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(said.contains("--archive DIR"), "{said}");
}
