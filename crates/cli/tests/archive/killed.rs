//! Writers that are killed: what was said to be added is there.

use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const WRITERS: u64 = 32;

/// Attempts of one call: enough to die between two of them.
const EACH: u64 = 20;

/// Calls of a writer; the second of three is killed.
const CALLS: u64 = 3;

fn lines(numbers: std::ops::Range<u64>) -> String {
    let lines = numbers.map(|number| format!("t{number},{number},1\n"));
    format!("name,mb,sec\n{}", lines.collect::<String>())
}

/// The numbers that were added for certain: those of calls that ended with 0.
fn writer(home: &Home, writer: u64) -> Vec<u64> {
    let mut certain = Vec::new();
    for call in 0..CALLS {
        let first = (writer * CALLS + call) * EACH + 1;
        let path = home.path().join(format!("{first}.csv"));
        std::fs::write(&path, lines(first..first + EACH)).unwrap();
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", home.path());
        let map = "category=name,memory=mb:MiB,wall=sec:s";
        command.args([
            "archive", "import", "--quiet", "--from", "csv", "--map", map,
        ]);
        command
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        if call == 1 {
            // At another moment of its life each: a count of turns, not a clock.
            for _ in 0..writer * 40 {
                thread::yield_now();
            }
            child.kill().unwrap();
        }
        let done = child.wait_with_output().unwrap();
        match done.status.success() {
            true => certain.extend(first..first + EACH),
            // None but those that were killed failed.
            false => assert_eq!(
                (call, done.status.signal()),
                (1, Some(9)),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            ),
        }
    }
    certain
}

#[test]
fn what_was_said_to_be_added_is_there_when_others_are_killed() {
    let home = Home::new();
    home.folder();
    let is_over = AtomicBool::new(false);
    let mut certain = Vec::new();
    thread::scope(|scope| {
        let home = &home;
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| scope.spawn(move || writer(home, number)))
            .collect();
        let packer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let packed = home.ask(&["pack"]);
                let said = String::from_utf8_lossy(&packed.stderr);
                assert_eq!(packed.status.code(), Some(0), "{said}");
            }
        });
        for writer in writers {
            certain.extend(writer.join().unwrap());
        }
        is_over.store(true, Ordering::Relaxed);
        packer.join().unwrap();
    });
    let told = home.told(&["export", "--format", "jsonl", "--quiet"]);
    let mut there: Vec<u64> = told
        .lines()
        .map(|line| {
            let one: Attempt = serde_json::from_str(line).unwrap();
            one.category[1..].parse().unwrap()
        })
        .collect();
    there.sort_unstable();
    assert!(
        there.windows(2).all(|pair| pair[0] < pair[1]),
        "some are there twice"
    );
    let lost: Vec<_> = certain
        .iter()
        .filter(|one| there.binary_search(one).is_err())
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
    let damaged = home.ask(&["list"]).stderr;
    assert!(damaged.is_empty(), "{}", String::from_utf8_lossy(&damaged));
}

#[test]
fn names_are_no_paths() {
    let home = filled();
    let outside = home.path().join(".local/share/plimsoll");
    let before: Vec<_> = std::fs::read_dir(&outside)
        .unwrap()
        .map(|one| one.unwrap().path())
        .collect();
    for set in [
        "../../escaped",
        "/tmp/escaped",
        "..",
        ".",
        "a/b",
        "\u{0}".trim_matches('\u{0}'),
    ] {
        // Refused or taken as a name: never a place.
        home.ask(&["set", set, "--description", "x"]);
    }
    let after: Vec<_> = std::fs::read_dir(&outside)
        .unwrap()
        .map(|one| one.unwrap().path())
        .collect();
    assert_eq!(before, after);
    let sets = std::fs::read_dir(home.archive().join("sets")).unwrap();
    for one in sets {
        assert!(one.unwrap().file_type().unwrap().is_file());
    }
    let mut one = attempt(9);
    one.set = Some("../../escaped".to_owned());
    home.folder()
        .add(&Stored::new(one, Texts::default()))
        .unwrap();
    home.told(&["pack"]);
    assert!(
        home.told(&["query", "--set", "../../escaped"])
            .contains("odd")
    );
    // A file that says it is another is not followed, and is named.
    let odd = home.archive().join("tasks/abc");
    std::fs::create_dir_all(&odd).unwrap();
    let text = r#"{"schema":"plimsoll.attempt/1","attempt":{"id":"../../../../escaped"}}"#;
    std::fs::write(odd.join(format!("abc{:029}.json", 0)), text).unwrap();
    let said = String::from_utf8(home.ask(&["pack"]).stderr).unwrap();
    assert!(said.contains("is no id of an attempt"), "{said}");
    assert!(!home.path().join("escaped").exists() && !home.path().join(".local/escaped").exists());
}
