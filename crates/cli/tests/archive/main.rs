//! `plimsoll archive` as its user meets it.
#![cfg(feature = "archive")]
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_macros,
    clippy::print_stdout,
    reason = "a test that meets what it did not expect panics, and says when it is skipped"
)]

mod add;
mod advise;
mod ask;
mod auto;
mod check;
mod graph;
mod import;
mod killed;
mod page;
mod statistics;

use record::attempt::{Amount, Attempt, End};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use store::archive::Texts;
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
        category: if number.is_multiple_of(2) {
            "even"
        } else {
            "odd"
        }
        .to_owned(),
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
        let report = Texts::report(format!("{{\"n\":{number}}}"));
        home.folder()
            .add(&Stored::new(attempt(number), report))
            .unwrap();
    }
    home
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

/// `plimsoll run` in this home.
fn run(home: &Home, words: &[&str]) -> Output {
    let mut command = Command::new(binary());
    let path = std::env::var_os("PATH").unwrap();
    command
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", path);
    command.arg("run").args(words).output().unwrap()
}
