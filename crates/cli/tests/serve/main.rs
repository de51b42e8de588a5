//! `plimsoll serve` as its clients meet it, friendly or not.
#![cfg(feature = "serve")]
#![allow(
    missing_docs,
    clippy::disallowed_macros,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect fails by panicking, and says what it skips"
)]

mod sockets;
mod submit;

use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const TOKEN: &str = "correct-horse-battery";

/// The binary under test: `PLIMSOLL_BIN`, or the one that cargo built.
fn binary() -> OsString {
    std::env::var_os("PLIMSOLL_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_plimsoll").into())
}

/// A home, with an archive and tokens.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        home.write("tokens", &format!("ann {TOKEN}\n"), 0o600);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn plimsoll(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", self.0.path());
        command.args(words);
        command
    }

    /// A server that takes submissions.
    fn serve(&self, words: &[&str]) -> Running {
        let mut command = self.plimsoll(&["serve", "--archive", "a", "--tokens", "tokens"]);
        command.current_dir(self.0.path()).args(words);
        if !words.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let mut running = Running {
            address: String::new(),
            child,
            lines,
        };
        let (url, _) = line
            .split_once(" shows ")
            .unwrap_or_else(|| panic!("{line}"));
        if let Some((_, address)) = url.split_once("://") {
            running.address = address.trim_end_matches('/').to_owned();
        }
        running
    }

    /// The ids in the archive.
    fn ids(&self) -> Vec<String> {
        let words = ["archive", "query", "--archive", "a", "--format", "jsonl"];
        let mut command = self.plimsoll(&words);
        let done = command.current_dir(self.0.path()).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        let id = |line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        text.lines().map(id).collect()
    }
}

/// A server; it ends with this.
struct Running {
    address: String,
    child: Child,
    lines: BufReader<std::process::ChildStderr>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Running {
    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(done.unwrap().success());
    }

    /// All that is answered to these bytes until the server ends the connection.
    fn say(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // Whoever is refused early may be cut off while it speaks.
        drop(stream.write_all(bytes));
        let mut text = Vec::new();
        drop(stream.read_to_end(&mut text));
        String::from_utf8(text).unwrap()
    }

    fn get(&self, target: &str) -> String {
        self.say(
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                .as_bytes(),
        )
    }

    fn post(&self, query: &str, token: &str, body: &[u8]) -> String {
        let mut bytes = format!(
            "POST /api/attempts{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.say(&bytes)
    }
}

#[track_caller]
fn status(answer: &str) -> u16 {
    let word = answer.split(' ').nth(1);
    word.and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("{answer:?}"))
}

#[track_caller]
fn json(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

/// A report of its own for each number.
fn report(number: u32) -> String {
    let text = include_str!("../../../store/tests/fixtures/import/plimsoll/report.jsonl");
    let mut report: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    report["task"]["id"] = format!("t-{number}").into();
    report.to_string()
}
